"""How well claims were judged: by the rules alone with a judge who agrees, by the model alone, and by both, as in a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from stepwell.errors import ModelAnswerError
from stepwell.research.audit.checks import CHECKS_VERSION, check
from stepwell.research.audit.evidence import Claim, Quote, Verdict
from stepwell.research.audit.judge import Judgement
from stepwell.research.audit.judged import Figures
from stepwell.research.audit.verdicts import RANK, verdict
from stepwell.research.judges.figures import hash_prompt
from stepwell.research.judges.pairs import Pair
from stepwell.research.judges.shares import RIGHT, Share, precision, share


@dataclass(frozen=True)
class Judged:
    """A claim, and who calls it supported."""

    is_true: bool
    by_rules: bool
    by_model: bool
    by_both: bool
    unusable: bool


@dataclass(frozen=True)
class Score:
    """What one of them calls supported."""

    true_shown: Share
    false_shown: Share

    @property
    def precision(self) -> Share:
        return precision(self.true_shown, self.false_shown, RIGHT)

    @property
    def recall(self) -> Share:
        return self.true_shown


async def judge_pairs(pairs: Sequence[Pair], answers: Sequence[Judgement | None]) -> list[Judged]:
    return [await _judge(pair, answer) for pair, answer in zip(pairs, answers, strict=True)]


async def _judge(pair: Pair, answer: Judgement | None) -> Judged:
    quotes = {pair.quote.quote_id: pair.quote}
    claim = Claim("c1", pair.claim, tuple(quotes))
    by_rules = _is_supported(check(claim.text, claim.evidence, quotes).ceiling)
    # A judge never raises a verdict, so only these need the second check, which is slow on long evidence.
    by_both = by_rules and _is_supported((await verdict(claim, quotes, _Said(answer))).verdict)
    return Judged(pair.is_true, by_rules, answer is not None and _is_supported(answer.verdict), by_both, answer is None)


def _is_supported(given: Verdict) -> bool:
    return RANK[given] >= RANK["supported"]


class _Said:
    """A `Judge` that repeats an answer."""

    def __init__(self, answer: Judgement | None) -> None:
        self._answer = answer

    async def judge(self, claim_text: str, quotes: Sequence[Quote]) -> Judgement:
        if self._answer is None:
            raise ModelAnswerError("The judge gave no usable answer.")
        return self._answer


WAYS: dict[str, Callable[[Judged], bool]] = {
    "rules alone": lambda claim: claim.by_rules,
    "model alone": lambda claim: claim.by_model,
    "both together": lambda claim: claim.by_both,
}


def score(claims: Iterable[Judged], shown: Callable[[Judged], bool]) -> Score:
    given = list(claims)
    true, false = [each for each in given if each.is_true], [each for each in given if not each.is_true]
    return Score(share(sum(map(shown, true)), len(true)), share(sum(map(shown, false)), len(false)))


def unusable(claims: Sequence[Judged]) -> Share:
    return share(sum(each.unusable for each in claims), len(claims))


def make_figures(sets: Mapping[str, Sequence[Judged]], day: date) -> Figures | None:
    """The figures of all sets together; None if there are no true or no false claims."""
    claims = [each for judged in sets.values() for each in judged]
    rules, both = (score(claims, WAYS[way]) for way in ("rules alone", "both together"))
    if not both.precision.of:
        return None
    return Figures(
        day.isoformat(),
        CHECKS_VERSION,
        hash_prompt(),
        tuple(sets),
        len(claims),
        *map(_thousandths, (both.precision.value, both.precision.low, both.precision.high, both.recall.value)),
        *map(_thousandths, (rules.precision.value, rules.recall.value, unusable(claims).value)),
    )


def _thousandths(value: float) -> int:
    return round(1000 * value)


def table(sets: Mapping[str, Sequence[Judged]]) -> str:
    """Precision and recall as a Markdown table, in percent with 95 % intervals: a column a set, and one for all of them."""
    columns = {**sets, **({"all": [each for judged in sets.values() for each in judged]} if len(sets) > 1 else {})}
    rows = [["", *columns], ["---"] * (1 + len(columns))]
    for way, shown in WAYS.items():
        scores = [score(judged, shown) for judged in columns.values()]
        rows.append([f"{way}: precision", *(str(each.precision) for each in scores)])
        rows.append([f"{way}: recall", *(str(each.recall) for each in scores)])
    rows.append(["unusable answers", *(str(unusable(judged)) for judged in columns.values())])
    rows.append(["true and false claims", *(_count(judged) for judged in columns.values())])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _count(claims: Sequence[Judged]) -> str:
    true = sum(each.is_true for each in claims)
    return f"{true} and {len(claims) - true}"
