"""How many sentences of each level are true, as the file that reports take their legend from (`research/audit/levels.json`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from statistics import mean
from typing import Any

from benchmarks.claims.score import RIGHT, Score
from stepwell.research.audit.checks import CHECKS_VERSION
from stepwell.research.audit.evidence import VERDICTS, Verdict

FEWEST = 10
"""A set with fewer claims of a level does not count for that level: one claim more or less would change its share by a tenth."""


def to_json(scores: Mapping[str, Score]) -> str:
    """`scores` has a score per set. Shares are whole numbers of 100, because no set is large enough for more."""
    return (
        json.dumps(
            {
                "checks": CHECKS_VERSION,
                "right": round(100 * RIGHT),
                "sets": {name: found.claims() for name, found in scores.items()},
                "levels": {verdict: _measure(scores, verdict) for verdict in VERDICTS},
            },
            indent=2,
        )
        + "\n"
    )


def _measure(scores: Mapping[str, Score], verdict: Verdict) -> dict[str, Any]:
    counted = {name: found for name, found in scores.items() if found.claims(verdict) >= FEWEST}
    shares = [100 * found.precision(verdict).value for found in counted.values()]
    return {
        "claims": sum(found.claims(verdict) for found in counted.values()),
        "true": round(mean(shares)) if shares else None,
        "lowest": round(min(shares)) if shares else None,
        "highest": round(max(shares)) if shares else None,
        "sets": list(counted),
    }
