"""Embeds by words: the fallback where no language model can be had. It says so in `describe()`.

```
text -> words, without case and accents -> each word and its groups of three letters -> hashed into 512 sums -> length 1
```

Two texts are near when they share words or parts of words (`walk`, `walking`); a synonym is as far as any other word. There is
no training and no table of rare words, so the vector depends on the text alone and is the same on every machine: the hash is
CRC-32 over UTF-8. A text without any word is all zeros, which is alike to nothing.
"""

from __future__ import annotations

import asyncio
import math
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence

_DIMENSIONS = 512
_PART_WEIGHT = 0.5
"""A part of a word says less than the word."""
_WORD = re.compile(r"\w+")
_ACCENTS = re.compile("[\u0300-\u036f]")


class LexicalEmbedder:
    """See the module. `reason` says why this one is used."""

    id = "lexical-1"
    dimensions = _DIMENSIONS
    is_semantic = False

    def __init__(self, reason: str = "it was asked for") -> None:
        self.reason = reason

    def describe(self) -> str:
        return (
            "Word matching: finds texts that share words or parts of words, not texts that mean the same. "
            f"It is the fallback, used because {self.reason}."
        )

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if isinstance(texts, str):
            raise TypeError("embed takes a list of texts, not one text. Write embed([text]).")
        return [_vector(text) for text in texts]

    async def aembed(self, texts: Sequence[str]) -> list[list[float]]:
        return await asyncio.to_thread(self.embed, texts)


def _vector(text: str) -> list[float]:
    sums = [0.0] * _DIMENSIONS
    for word, count in Counter(_WORD.findall(_plain(text))).items():
        often = math.sqrt(count)
        for feature, weight in _features(word):
            hashed = zlib.crc32(feature.encode("utf-8", "replace"))
            # A sign from another bit: features that meet in one place cancel out on average instead of adding up.
            sums[hashed % _DIMENSIONS] += weight * often * (1 if hashed & 0x8000_0000 else -1)
    length = math.sqrt(sum(value * value for value in sums))
    return [value / length for value in sums] if length else sums


def _plain(text: str) -> str:
    """Without case, compatibility forms and Latin, Greek or Cyrillic accents; vowel signs of other scripts stay."""
    return _ACCENTS.sub("", unicodedata.normalize("NFKD", text).casefold())


def _features(word: str) -> Iterator[tuple[str, float]]:
    yield word, 1.0
    framed = f"<{word}>"
    for start in range(len(framed) - 2):
        yield framed[start : start + 3], _PART_WEIGHT
