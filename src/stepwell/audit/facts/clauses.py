"""Look for clauses that were added to what the quotes say: "... because the owners wanted to impress their neighbours".

Such a clause has no number, name or date to look up, and a judge in a hurry agrees with it. It is noticed only where the rest of the
sentence is in the quotes' own words: a translation or a free paraphrase shares few words anywhere, and is left to the judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from stepwell.audit.facts.finding import Finding
from stepwell.audit.facts.statement import Statement
from stepwell.audit.facts.words import content_stems

_OPENERS = (
    "because since so although though whereas while when where which who whose after before until unless despite thanks due owing "
    "and but or as making allowing leading causing weil da damit obwohl während nachdem bevor und aber parce car afin bien et mais "
    "porque aunque mientras y pero"
)
_CUT = re.compile(rf"[,;:()–—]\s*|\s+(?=(?:{'|'.join(_OPENERS.split())})\s)", re.IGNORECASE)
_FEWEST_WORDS = 2
_IN_THEIR_WORDS = 0.5


def match_clauses(claim: Statement, quotes: Sequence[Statement]) -> Iterator[Finding]:
    """A finding for each clause none of whose words of meaning stands in the quotes, though those of the others do."""
    spoken = {stem for quote in quotes for stem in quote.stems}
    clauses = [(text.strip(), set(content_stems(text))) for text in _CUT.split(claim.text)]
    for place, (text, stems) in enumerate(clauses):
        rest = set().union(*(other for number, (_, other) in enumerate(clauses) if number != place)) - stems
        if len(stems) < _FEWEST_WORDS or stems & spoken or not rest:
            continue
        if len(rest & spoken) / len(rest) >= _IN_THEIR_WORDS:
            yield Finding("missing", f"the quotes do not say '{text[:80]}'")
