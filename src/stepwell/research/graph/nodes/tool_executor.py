"""Carries out the approved plan, and nothing else: independent steps run concurrently, and their pages go into the vault."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.errors import AccessError
from stepwell.research.audit.ledger import Evidence
from stepwell.research.evidence.equipment import STEPS_AT_ONCE
from stepwell.research.evidence.gathering import Gathered, gather
from stepwell.research.evidence.inquiry import Inquiry
from stepwell.research.evidence.policy.rules import DOCUMENTS
from stepwell.research.evidence.side_by_side import side_by_side
from stepwell.research.evidence.sources import SourceBook
from stepwell.research.graph.routing import ready_steps
from stepwell.research.graph.schemas import ResearchPlan, plan_sha256
from stepwell.research.graph.state import Done, ResearchState, read_sources


async def tool_executor(inquiry: Inquiry, state: ResearchState) -> Done:
    plan = require_approved(state)
    evidence = await inquiry.evidence()
    before = read_sources(state, evidence)
    known = list_addresses(before, evidence)
    steps = ready_steps(state)[:STEPS_AT_ONCE]
    gathered = await side_by_side(gather(inquiry, step, known) for step in steps)
    new = await keep_pages(inquiry, gathered, set(known))
    outputs = {one.step.id: one.output for one in gathered}
    skipped = [sentence for one in gathered for sentence in one.skipped]
    await note_limits(inquiry, gathered)
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
    }, say_done(gathered, len(new), len({each.document for each in inquiry.own}))


def say_done(gathered: Sequence[Gathered], new: int, documents: int) -> str:
    """What the steps have done, as sentences: `new` is how many sources were read, `documents` how many of the user's there are to search.
    It begins with `Error:` if a step failed and there is nothing to write from."""
    outputs = " ".join(one.output for one in gathered)
    failed, all_steps = sum(_has_failed(one) for one in gathered), _count(len(gathered), "step")
    on_web = sum(one.step.tool != DOCUMENTS for one in gathered)
    if failed and not new and on_web == len(gathered):
        return f"Error: nothing was read, {failed} of {all_steps} failed. {outputs}"
    said = [f"searched {_count(documents, 'document')}"] if on_web < len(gathered) else []
    said += (
        [f"read {_count(new, 'source') if new else 'nothing new'} for {_count(on_web, 'step')}"]
        if on_web and (new or not failed)
        else []
    )
    said += [f"{failed} of {all_steps} failed"] if failed else []
    told = ", ".join(said)
    return f"{told[0].upper()}{told[1:]}. {outputs}"


def _has_failed(one: Gathered) -> bool:
    """Whether a step reached nobody, or could not read a page it should have read."""
    return one.unreached is not None or (one.step.tool != DOCUMENTS and not one.pages and bool(one.skipped))


def _count(number: int, what: str) -> str:
    return f"{number} {what if number == 1 else what + 's'}"


def require_approved(state: ResearchState) -> ResearchPlan:
    """The plan, if it is the one that was approved; `AccessError` otherwise."""
    plan = state["plan"]
    if plan is None or not state.get("human_approved") or plan_sha256(plan) != state.get("approved_plan_sha256"):
        raise AccessError("The plan is not the one that was approved. Nothing was carried out.")
    return plan


def list_addresses(sources: Sequence[str], evidence: Evidence) -> frozenset[str]:
    """The addresses of these sources."""
    return frozenset(url for each in sources for url in (evidence.sources[each].url, evidence.sources[each].final_url) if url)


async def keep_pages(inquiry: Inquiry, gathered: Sequence[Gathered], read: set[str]) -> list[str]:
    """Turns pages into sources, numbered in the order of the plan, and returns their ids. Skips addresses that the branch has already
    read."""
    book = SourceBook(inquiry.vault, inquiry.equipment.clock)
    return [name for one in gathered for name in await book.keep_pages(one.pages, engine=one.engine, read=read)]


async def note_limits(inquiry: Inquiry, gathered: Sequence[Gathered]) -> None:
    for one in gathered:
        if one.skipped:
            await inquiry.note("limit", f"limit:{one.step.id}", {"step": one.step.id, "skipped": list(one.skipped)})
