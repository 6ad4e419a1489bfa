"""Finds the passages of cited pages that come closest to a sentence of the report.

```
finished report ─> sentences with their ids ─> the closest passages of those pages ─> verdict ─> mark after the sentence
```

The agent names pages, not quotes, so code looks for the quotes: the few passages of each cited page that share most with the sentence.
Another passage of the page may say what these do not, but readers of the verdict see which passages were checked. Nothing is removed: the
report is the agent's file. The sentences and their marks are in `audit/writing/marked.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stepwell.research.audit.evidence import Quote, Source
from stepwell.research.audit.sentences import Passage, passages
from stepwell.research.audit.writing.marked import Sentence
from stepwell.research.evidence.selecting import QuoteBook
from stepwell.words import content_stems, words

QUOTES_PER_SOURCE = 3


def find_nearest(text: str, page: Sequence[Passage]) -> list[Passage]:
    """The passages of a page that share most with a sentence, in page order."""
    wanted = _marks(text)
    shares = [(len(wanted & _marks(passage.text)), -number) for number, passage in enumerate(page)]
    best = sorted((share for share in shares if share[0]), reverse=True)[:QUOTES_PER_SOURCE]
    return [page[number] for number in sorted(-place for _, place in best)]


class Quotations:
    """Finds quotes for sentences."""

    def __init__(self, texts: Mapping[str, str], known: Mapping[str, Quote]) -> None:
        self._pages = {source_id: passages(text) for source_id, text in texts.items()}
        self._book = QuoteBook(known)

    def of(self, sentence: Sentence, sources: Mapping[str, Source]) -> list[Quote]:
        return [
            self._book.name(Quote("", source_id, passage.start, passage.end, passage.text))
            for source_id in sentence.cited
            if source_id in sources
            for passage in find_nearest(sentence.words, self._pages[source_id])
        ]


def _marks(text: str) -> frozenset[str]:
    """Content words, and figures as written."""
    return frozenset([*content_stems(text), *(word.text for word in words(text) if word.text[0].isdigit())])
