"""Carries out the approved plan, and nothing else: independent steps side by side, their pages into the vault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig

from stepwell.apps.research.desk import Inquiry, open_desk
from stepwell.apps.research.gathering import Gathered, gather
from stepwell.apps.research.kit import STEPS_AT_ONCE, Equipment
from stepwell.apps.research.routing import ready_steps
from stepwell.apps.research.schemas import plan_sha256
from stepwell.apps.research.side_by_side import side_by_side
from stepwell.apps.research.sources import SourceBook, read_sources
from stepwell.apps.research.state import ResearchState
from stepwell.errors import AccessError


async def tool_executor(kit: Equipment, state: ResearchState, config: RunnableConfig) -> dict[str, Any]:
    plan = state["plan"]
    if plan is None or not state.get("human_approved") or plan_sha256(plan) != state.get("approved_plan_sha256"):
        raise AccessError("The plan is not the one that was approved. Nothing was carried out.")
    desk = await open_desk(kit, state, config)
    evidence = await desk.evidence()
    before = read_sources(state, evidence)
    known = frozenset(url for each in before for url in (evidence.sources[each].url, evidence.sources[each].final_url) if url)
    steps = ready_steps(state)[:STEPS_AT_ONCE]
    gathered = await side_by_side(gather(desk, step, known) for step in steps)
    new = await _keep(desk, gathered, known)
    outputs = {one.step.id: one.output for one in gathered}
    skipped = [sentence for one in gathered for sentence in one.skipped]
    await _note_limits(desk, gathered)
    return {
        "plan": plan.model_copy(
            update={
                "steps": tuple(step.model_copy(update={"output": outputs.get(step.id, step.output)}) for step in plan.steps)
            }
        ),
        "done_steps": [*state.get("done_steps", ()), *outputs],
        "read_sources": list(dict.fromkeys([*before, *new])),
        "pages_read": state.get("pages_read", 0) + sum(len(one.pages) for one in gathered),
        "unreached": (state.get("unreached") or {}) | {one.step.id: one.unreached for one in gathered if one.unreached},
        "skipped": [*state.get("skipped", ()), *skipped],
        "status": "executing",
        "reasoning": desk.reasoning(
            "tool_executor",
            f"{len(outputs)} steps done, {len(new)} new sources. {' '.join(outputs.values())}",
        ),
    }


async def _keep(desk: Inquiry, gathered: Sequence[Gathered], known: frozenset[str]) -> list[str]:
    """Pages become sources, numbered in the order of the plan; their ids. An address that the branch has read is not read twice."""
    book, seen, kept = SourceBook(desk.vault), set(known), []
    for one in gathered:
        for page in one.pages:
            if not seen & {page.url, page.final_url}:
                seen |= {page.url, page.final_url}
                kept.append(await book.keep(page, one.engine))
    return kept


async def _note_limits(desk: Inquiry, gathered: Sequence[Gathered]) -> None:
    for one in gathered:
        if one.skipped:
            await desk.note("limit", f"limit:{one.step.id}", {"step": one.step.id, "skipped": list(one.skipped)})
