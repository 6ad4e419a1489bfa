"""What becomes of the claims of a set. The judge agrees with everything, so a verdict is what the checks allow.

*Unmarked* is a claim that is shown as it stands (`verbatim`, `supported`), *marked* one that is shown with a mark (`partial`), *left out*
one that a report does not show (`unsupported`, `contradicted`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from stepwell.research.audit.checks import check
from stepwell.research.audit.evidence import HELD, Verdict
from stepwell.research.judges.pairs import FALSE, TRUE, Label, Pair
from stepwell.research.judges.shares import RIGHT, Share, precision, share


@dataclass(frozen=True)
class Score:
    """The counts of a set by label and verdict, and what a check costs."""

    count: Counter[tuple[Label, Verdict]]
    cpu_us: float

    def of(self, labels: Iterable[Label], *verdicts: Verdict) -> Share:
        """The share of claims with these labels that got one of these verdicts."""
        labels = tuple(labels)
        own = [(verdict, number) for (label, verdict), number in self.count.items() if label in labels]
        return share(sum(number for verdict, number in own if verdict in verdicts), sum(number for _, number in own))

    def precision(self, *verdicts: Verdict) -> Share:
        """How many of the sentences with one of these verdicts are true."""
        return precision(self.of(TRUE, *verdicts), self.of(FALSE, *verdicts), RIGHT)

    def claims(self, *verdicts: Verdict) -> int:
        """How many claims there are; with verdicts, only those that got one of them."""
        return sum(number for (_, verdict), number in self.count.items() if not verdicts or verdict in verdicts)

    @property
    def unmarked(self) -> Share:
        return self.precision(*HELD)

    @property
    def differs_right(self) -> Share:
        """How many of the sentences that are said to differ from their source are false."""
        found = self.precision("contradicted")
        return Share(1 - found.value, 1 - found.high, 1 - found.low, found.of)


def score(pairs: Iterable[Pair]) -> Score:
    given = list(pairs)
    started = time.process_time()
    count = Counter((pair.label, judged(pair)) for pair in given)
    taken = time.process_time() - started
    return Score(count, 1e6 * taken / len(given) if given else 0.0)


def judged(pair: Pair) -> Verdict:
    """The verdict on a claim that cites its whole evidence as one quote."""
    quote = pair.quote
    return check(pair.claim, [quote.quote_id], {quote.quote_id: quote}).ceiling
