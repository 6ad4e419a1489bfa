"""What becomes of the claims of a set. The judge agrees with everything, so a verdict is what the checks allow.

*Unmarked* is a claim that is shown as it stands (`supported`), *marked* one that is shown with a mark (`partial`), *left out* one that
a report does not show (`unsupported`, `contradicted`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from stepwell.research.audit.checks import check
from stepwell.research.audit.evidence import Verdict
from stepwell.research.judges.pairs import FALSE, Label, Pair
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

    @property
    def precision(self) -> Share:
        return precision(self.of(["supported"], "supported"), self.of(FALSE, "supported"), RIGHT)


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
