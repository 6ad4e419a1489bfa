"""Embeds by words: the fallback if no language model is available. `describe()` says so.

```
text -> words, without case and accents -> each word and its trigrams -> hashed into 512 sums -> length 1
```

Two texts are close if they share words or parts of words (`walk`, `walking`); a synonym is as far away as any other word. There is no
training and no table of rare words, so the vector depends only on the text and is the same on every machine: the hash is CRC-32 over
UTF-8. The vector of a text without any word is all zeros, which is similar to nothing.
"""

from __future__ import annotations

import asyncio
import math
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence

_DIMENSIONS = 512
_PART_WEIGHT = 0.5
"""A part of a word counts less than the word."""
_ACCENTS = range(0x0300, 0x0370)


class LexicalEmbedder:
    """See the module docstring. `reason` says why this embedder is used."""

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
    for word, count in Counter(_words(text)).items():
        often = math.sqrt(count)
        for feature, weight in _features(word):
            hashed = zlib.crc32(feature.encode())
            # The sign comes from another bit: on average, features with the same index cancel out instead of adding up.
            sums[hashed % _DIMENSIONS] += weight * often * (1 if hashed & 0x8000_0000 else -1)
    length = math.sqrt(sum(value * value for value in sums))
    return [value / length for value in sums] if length else sums


def _words(text: str) -> list[str]:
    return unicodedata.normalize("NFKD", text).casefold().translate(_WordCharacters()).split()


class _WordCharacters(dict[int, int | None]):
    """A table for `str.translate`, filled on demand: letters, digits and marks stay, everything else separates words.

    Accents of Latin, Greek and Cyrillic are removed; vowel signs of other scripts are marks too and stay (`\\w` would drop them).
    """

    def __missing__(self, code: int) -> int | None:
        kept = code if unicodedata.category(chr(code))[0] in "LNM" else ord(" ")
        self[code] = None if code in _ACCENTS else kept
        return self[code]


def _features(word: str) -> Iterator[tuple[str, float]]:
    yield word, 1.0
    framed = f"<{word}>"
    for start in range(len(framed) - 2):
        yield framed[start : start + 3], _PART_WEIGHT
