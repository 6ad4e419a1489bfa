"""How the checks do on claims that they were not tuned on (`held_out.txt`), each beside its passage. The judge agrees with everything.

The figures are for a writer with the shares of the benchmark's: 60 % true, 30 % unsupported, 10 % contradicted claims.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from benchmarks.research_runs.claims import SHARES
from benchmarks.research_runs.held_out import cases
from stepwell.research.audit.evidence import HELD, Claim, Quote, Verdict
from stepwell.research.audit.judge import Judgement
from stepwell.research.audit.verdicts import verdict


class Agrees:
    """A judge that supports every sentence: what it lets through, the checks have let through."""

    async def judge(self, claim_text: str, quotes: Sequence[Quote]) -> Judgement:
        return Judgement("supported")


def measure_held_out() -> dict[str, Any]:
    return asyncio.run(_measure())


async def _measure() -> dict[str, Any]:
    count: Counter[tuple[str, str, Verdict]] = Counter()
    for case in cases():
        for claim in case.claims:
            count[claim.label, claim.kind, await judged(case.passage, claim.text)] += 1
    plain = {label: _share(count, label, *HELD) for label in SHARES}
    false = SHARES["unsupported"] * plain["unsupported"] + SHARES["contradicted"] * plain["contradicted"]
    right = SHARES["true"] * plain["true"]
    return {
        "claims": sum(count.values()),
        "citation_precision": 100 * right / (right + false) if right + false else 0.0,
        "left_unmarked": 100 * false / (SHARES["unsupported"] + SHARES["contradicted"]),
        "true_plain": 100 * plain["true"],
        "true_marked": 100 * _share(count, "true", "partial"),
        "unsupported_plain": 100 * plain["unsupported"],
        "contradicted_plain": 100 * plain["contradicted"],
        "left_by_kind": _left_by_kind(count),
    }


async def judged(passage: str, text: str) -> Verdict:
    quote = Quote("e1", "s1", 0, len(passage), passage)
    return (await verdict(Claim("c1", text, ("e1",)), {"e1": quote}, Agrees())).verdict


def _share(count: Counter[tuple[str, str, Verdict]], label: str, *wanted: Verdict) -> float:
    own = {key: number for key, number in count.items() if key[0] == label}
    return sum(number for key, number in own.items() if key[2] in wanted) / sum(own.values())


def _left_by_kind(count: Counter[tuple[str, str, Verdict]]) -> dict[str, str]:
    """`2 of 12` for each kind of false claim of which some stay unmarked."""
    written = Counter[str]()
    left = Counter[str]()
    for (label, kind, given), number in count.items():
        if label != "true":
            written[f"{label}, {kind}"] += number
            left[f"{label}, {kind}"] += number if given in HELD else 0
    return {kind: f"{number} of {written[kind]}" for kind, number in left.most_common() if number}
