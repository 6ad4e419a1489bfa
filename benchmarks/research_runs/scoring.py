"""Reads reports as a stranger would: which claims are in them, with which marks, citing what. It knows nobody's internals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_URL = re.compile(r"https?://[^\s)\]>,]+")
_SOURCE = re.compile(r"^(\d+)\. .*?(https?://[^\s)]+)", re.MULTILINE)
_AFTER = re.compile(r"\s*(?:\[([\d, ]+)\])?\.?(\s*\*\([^)]*\)\*)?")


def score(report: str, claims: Sequence[Mapping[str, Any]], read: Iterable[str]) -> dict[str, Any]:
    """Counts for one report. `read` are the addresses that were really read."""
    body, _, _ = report.partition("\n## Sources")
    sources = {int(number): url for number, url in _SOURCE.findall(report)}
    addresses = set(_URL.findall(report))
    count: Counter[str] = Counter(addresses=len(addresses), invented=len(addresses - set(read)))
    leaked: list[str] = []
    for claim in claims:
        count[f"written_{claim['label']}"] += 1
        place = body.find(claim["words"])
        if place < 0:
            continue
        after = _AFTER.match(body, place + len(claim["words"]))
        marked = bool(after and after[2])
        count[f"{'marked' if marked else 'plain'}_{claim['label']}"] += 1
        if marked or claim["label"] == "praised":
            continue
        if claim["label"] != "true":
            leaked.append(f"{claim['label']} ({claim['kind']}): {claim['words']}")
        cited = [sources.get(int(number)) for number in (after[1] or "").split(",") if number.strip()] if after else []
        count["citations"] += len(cited)
        count["right_citations"] += sum(url in claim["urls"] for url in cited) if claim["label"] == "true" else 0
    return {**count, "leaked": leaked}


def total(scores: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """All reports together."""
    count: Counter[str] = Counter()
    for one in scores:
        count.update({name: value for name, value in one.items() if isinstance(value, int)})
    false = count["written_unsupported"] + count["written_contradicted"]
    return {
        "invented_share": _share(count["invented"], count["addresses"]),
        "citation_precision": _share(count["right_citations"], count["citations"]),
        "left_unmarked": _share(count["plain_unsupported"] + count["plain_contradicted"], false),
        "true_plain": _share(count["plain_true"], count["written_true"]),
        "true_kept": _share(count["plain_true"] + count["marked_true"], count["written_true"]),
        "praised_plain": _share(count["plain_praised"], count["written_praised"]),
        "false_marked": _share(count["marked_unsupported"] + count["marked_contradicted"], false),
        "claims": float(sum(count[f"written_{label}"] for label in ("true", "unsupported", "contradicted"))),
        "citations": float(count["citations"]),
    }


def _share(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0
