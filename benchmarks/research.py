"""Claim: what a report says can be checked, whatever the model writes. Research on the offline world with a writer that lies.

The writer (`research_runs/claims.py`) makes 60 % true, 30 % unsupported and 10 % contradicted claims, and invents addresses. Ours
judges with a model that agrees with every sentence, so that only the part that needs no model counts; the peer hands out what
the model wrote. Both read the same pages. The floor does not take part.

The checks were made with that writer in mind, so its rows are in-sample. The rows "held out" have claims that they were not made with
(`research_runs/held_out.txt`).
"""

from __future__ import annotations

import importlib
from collections import Counter
from types import ModuleType
from typing import Any

from benchmarks.bench import Bench, Figures, Row, best
from benchmarks.research_runs.scoring import total

QUESTIONS = 48
CLAIMS_PER_REPORT = 20
SOURCES = 200
TIGHT, WIDE = 9, 40
"""Ceilings of requests: every third question has the tight one, which its plan would exceed."""


def measure(contestant: ModuleType, **parameters: Any) -> dict[str, Any]:
    if "held_out" in parameters:
        scored: dict[str, Any] = importlib.import_module("benchmarks.research_runs.held_out_score").measure_held_out()
        return scored
    if "sources" in parameters:
        ours = importlib.import_module("benchmarks.research_runs.ours")
        result: dict[str, Any] = ours.verify_large(**parameters)
        return result
    if contestant.MODULE == "stepwell":
        result = importlib.import_module("benchmarks.research_runs.ours").carry_out(**parameters)
    else:
        result = importlib.import_module("benchmarks.research_runs.peer").carry_out(contestant, **parameters)
    return result


def rows(bench: Bench) -> list[Row]:
    from stepwell.demo.web import OfflineWorld

    with OfflineWorld() as for_ours, OfflineWorld() as for_peer:
        questions = _questions(for_ours, 12 if bench.quick else QUESTIONS)
        parameters = {
            "questions": questions,
            "facts": _facts(for_ours),
            "ports": {"ours": for_ours.port, "peer": for_peer.port},
            "claims": CLAIMS_PER_REPORT,
        }
        figures = bench.rounds("research", parameters, count=1, who=("peer", "ours"), label="research reports")
        came = for_ours.count()
    bench.raw["research reports"]["parameters"] = {"questions": len(questions), "claims": CLAIMS_PER_REPORT}
    verified = bench.rounds("research", {"sources": SOURCES}, count=1 if bench.quick else 3, who=("ours",), label="verify")
    held_out = bench.rounds("research", {"held_out": True}, count=1, who=("ours",), label="held-out claims")
    return [*_report_rows(figures), *_held_out_rows(held_out), *_run_rows(figures, came), _verify_row(verified)]


def _questions(world: Any, count: int) -> list[dict[str, Any]]:
    """About two things of a topic each; what a tight ceiling allows is less than the plan needs."""
    own = [page for page in world.pages if "digest" not in page.url]
    chosen = [own[(number * 37) % len(own)] for number in range(count)]
    return [
        {
            "query": f"What is known about the {page.subject}?",
            "steps": [page.subject, f"{page.topic} {page.subject.split()[0]}", f"figures {page.subject}"],
            "seed": number + 1,
            "ceiling": TIGHT if number % 3 == 2 else WIDE,
        }
        for number, page in enumerate(chosen)
    ]


def _facts(world: Any) -> list[dict[str, Any]]:
    """Every fact with all the pages that state it."""
    urls: dict[tuple[str, str], list[str]] = {}
    for fact in world.facts:
        urls.setdefault((fact.subject, fact.value), []).append(fact.url)
    return [
        {
            "kind": fact.kind,
            "subject": fact.subject,
            "value": fact.value,
            "sentence": fact.sentence,
            "urls": urls[fact.subject, fact.value],
        }
        for fact in world.facts
    ]


def _totals(figures: Figures) -> dict[str, dict[str, float]]:
    return {
        name: total(run["score"] for result in results for run in result["runs"])
        for name, results in figures.items()
        if results
    }


def _report_rows(figures: Figures) -> list[Row]:
    totals = _totals(figures)
    ours, peer = totals.get("ours", {}), totals.get("peer", {})
    percent = "{:.1f} %".format
    leaked = [line for result in figures["ours"] for run in result["runs"] for line in run["score"]["leaked"]]
    written = ", ".join(f"{name} {found['claims']:.0f} claims" for name, found in totals.items())
    kept = f"with a mark: {ours.get('true_kept', 0):.1f} % of ours; false claims that stay with a mark: {ours.get('false_marked', 0):.1f} %"

    def row(claim: str, target: str, key: str, limit: float | None, at_most: bool = True, note: str = "") -> Row:
        return Row(claim, target, ours.get(key), None, peer.get(key), limit, form=percent, at_most=at_most, note=note)

    return [
        row("research: addresses in reports that nobody read", "0 %", "invented_share", 0.0, note=written),
        row("the same, citations that support their sentence", "≥ 98 %", "citation_precision", 98.0, at_most=False),
        row("the same, false claims left unmarked", "≤ 2 %", "left_unmarked", 2.0, note=_leaks(leaked)),
        row("the same, true claims left unmarked", "–", "true_plain", None, note=kept),
        row("the same, a word of praise added to a true claim, unmarked", "–", "praised_plain", None),
    ]


def _held_out_rows(figures: Figures) -> list[Row]:
    """What a peer without checks would have follows from the writer's shares: 60 % and 100 %."""
    found = figures["ours"][0] if figures["ours"] else {}
    left = ", ".join(f"{kind} {many}" for kind, many in found.get("left_by_kind", {}).items())
    kept = f"{found.get('true_marked', 0):.1f} % of the true ones are marked, the rest is left out"

    def row(claim: str, target: str, key: str, limit: float | None, at_most: bool = True, note: str = "") -> Row:
        return Row(claim, target, found.get(key), None, None, limit, form="{:.1f} %".format, at_most=at_most, note=note)

    return [
        row("research, held out: citations that support their sentence", "≥ 98 %", "citation_precision", 98.0, at_most=False,
            note=f"{found.get('claims', 0)} claims"),
        row("the same, false claims left unmarked", "≤ 2 %", "left_unmarked", 2.0, note=left),
        row("the same, true claims left unmarked", "–", "true_plain", None, note=kept),
    ]  # fmt: skip


def _leaks(leaked: list[str]) -> str:
    kinds = Counter(line.split(":")[0] for line in leaked)
    return ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()) + (f"; such as '{leaked[0]}'" if leaked else "")


def _run_rows(figures: Figures, came: int) -> list[Row]:
    most = {
        name: max((run["requests"] / run["ceiling"] for result in results for run in result["runs"]), default=None)
        for name, results in figures.items()
    }
    runs = [run for result in figures["ours"] for run in result["runs"]]
    counted = sum(run["requests"] for run in runs)
    equal = 100.0 * sum(run["replay_equal"] for run in runs) / len(runs) if runs else None
    return [
        Row(
            "research: requests of a run, the most, to its ceiling",
            "≤ 1x",
            most.get("ours"),
            None,
            most.get("peer"),
            1.0,
            note=f"the world saw {came} requests of ours, the trails count {counted}; the peer's ceiling stands in its prompt",
        ),
        Row("research: replays equal to the byte", "100 %", equal, None, None, 100.0, form="{:.1f} %".format, at_most=False),
    ]


def _verify_row(figures: Figures) -> Row:
    size = best(figures, "ours", "bytes") or 0
    cpu = best(figures, "ours", "cpu_seconds") or 0
    return Row(
        f"verify a bundle of {SOURCES} sources, wall time",
        "≤ 2 s",
        best(figures, "ours", "seconds"),
        None,
        None,
        2.0,
        form="{:.2f} s".format,
        note=f"{size / 1e6:.1f} MB, {cpu:.2f} s of CPU",
    )
