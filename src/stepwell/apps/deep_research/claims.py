"""Which passages of the pages that a deep research cites come nearest to a sentence of its report.

```
finished report ─> sentences with their ids ─> the passages of those pages that come nearest ─> verdict ─> mark behind the sentence
```

The agent names pages, not quotes, so code looks for the quotes: of each cited page the few passages that share most with the sentence.
What they do not say, another passage of the page may; but whoever reads the verdict sees which ones were looked at. Nothing is taken
out: the report is the agent's file. The sentences and their marks are `audit/writing/marked.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stepwell.audit.evidence import Quote, Source
from stepwell.audit.facts.words import content_stems, words
from stepwell.audit.sentences import Passage, passages
from stepwell.audit.writing.marked import Sentence
from stepwell.evidence.selecting import QuoteBook

QUOTES_PER_SOURCE = 3


def find_nearest(text: str, page: Sequence[Passage]) -> list[Passage]:
    """The passages of a page that share most with a sentence, in the page's order."""
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
    """Words of meaning, and figures as they are written."""
    return frozenset([*content_stems(text), *(word.text for word in words(text) if word.text[0].isdigit())])
