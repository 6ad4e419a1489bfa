"""Carries out the approved plan, and nothing else: independent steps side by side, their pages into the vault."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.runnables import RunnableConfig

from stepwell.apps.research.desk import Desk, open_desk
from stepwell.apps.research.gathering import Gathered, gather
from stepwell.apps.research.kit import STEPS_AT_ONCE, Kit
from stepwell.apps.research.nodes.hitl_gate import plan_sha256
from stepwell.apps.research.routing import ready_steps
from stepwell.apps.research.state import ResearchState
from stepwell.audit.evidence import Source
from stepwell.audit.ledger import record_source
from stepwell.errors import AccessError
from stepwell.tools.web.fetch import FetchedPage


async def tool_executor(kit: Kit, state: ResearchState, config: RunnableConfig) -> dict[str, Any]:
    plan = state["plan"]
    if plan is None or not state.get("human_approved") or plan_sha256(plan) != state.get("approved_plan_sha256"):
        raise AccessError("The plan is not the one that was approved. Nothing was carried out.")
    desk = await open_desk(kit, state, config)
    before = list((await desk.evidence()).sources.values())[: state.get("source_count", 0)]
    known = frozenset(url for source in before for url in (source.url, source.final_url) if url)
    steps = ready_steps(state)[:STEPS_AT_ONCE]
    gathered = await asyncio.gather(*(gather(desk, step, known) for step in steps))
    count = await _keep(desk, gathered)
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
        "source_count": count,
        "skipped": [*state.get("skipped", ()), *skipped],
        "status": "executing",
        "reasoning": desk.reasoning(
            "tool_executor",
            f"{len(outputs)} steps done, {count - state.get('source_count', 0)} new sources. {' '.join(outputs.values())}",
        ),
    }


async def _keep(desk: Desk, gathered: list[Gathered]) -> int:
    """Pages become sources, numbered in the order of the plan; how many there are then. One that is there keeps its number."""
    sources = (await desk.evidence()).sources
    count = len(sources)
    known = {url for source in sources.values() for url in (source.url, source.final_url) if url}
    for one in gathered:
        for page in one.pages:
            if page.url in known or page.final_url in known:
                continue
            count += 1
            known |= {page.url, page.final_url}
            await record_source(desk.vault, await _source(desk, f"s{count}", page, one.engine))
    return count


async def _source(desk: Desk, source_id: str, page: FetchedPage, engine: str | None) -> Source:
    return Source(
        source_id=source_id,
        kind="web",
        url=page.url,
        final_url=page.final_url,
        title=page.title,
        media_type=page.media_type,
        status=page.status,
        fetched_at=page.fetched_at,
        bytes_sha256=await desk.vault.put(page.content),
        text_sha256=await desk.vault.put(page.text.encode()),
        engine=engine,
        robots=page.robots,
    )


async def _note_limits(desk: Desk, gathered: list[Gathered]) -> None:
    for one in gathered:
        if one.skipped:
            await desk.note("limit", f"limit:{one.step.id}", {"step": one.step.id, "skipped": list(one.skipped)})
