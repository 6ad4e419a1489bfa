"""Where a user decides about a plan. The interrupt says what has been sent so far to models that planned or audited; after the interrupt,
only the approved plan is carried out.

| field of the interrupt | |
|---|---|
| `plan`, `audit`, `estimate`, `rules` | what the user decides about |
| `sent` | what was sent so far: `nothing` (yes or no), `summary` (sentences), `to` (each `host` and `model`, `what`, `requests`, `bytes`) |
| `problem` | what was wrong with an earlier answer |
"""

from __future__ import annotations

from typing import Any

from stepwell.models.pricing import ASSUMED, TokenUse, describe_assumed
from stepwell.models.usage import label_of, price_call
from stepwell.research.audit.writing.composed import LEAST_SECTIONS
from stepwell.research.evidence.equipment import Equipment
from stepwell.research.evidence.inquiry import Inquiry
from stepwell.research.evidence.recorded.models import is_on_this_machine
from stepwell.research.graph.answers import PLAN_APPROVAL, approval_fault, ask, read_approval
from stepwell.research.graph.egress import sent_so_far
from stepwell.research.graph.nodes.thinker import with_ids
from stepwell.research.graph.schemas import MAX_PLAN_REVISIONS, Approval, Estimate, ResearchPlan, keep_plan, plan_sha256
from stepwell.research.graph.state import Done, ResearchState
from stepwell.secrets.text import hide_secrets

_TOKENS_PER_PAGE = 1500
_TOKENS_TO_WRITE = 3000
_TOKENS_TO_REVISE = 2000
"""For the sentences that may go back to the writer once."""
_TOKENS_FOR_A_SECTION = 3000
_TOKENS_FOR_THE_CRITIC = 4000
_CHARACTERS_PER_TOKEN = 4


async def hitl_gate(inquiry: Inquiry, state: ResearchState) -> Done:
    plan = state["plan"]
    assert plan is not None  # noqa: S101 - the router leads here only with a plan
    sent = await sent_so_far(inquiry)
    approval = _ask(inquiry, state, plan, sent)
    approval = approval.model_copy(update={"reason": hide_secrets(approval.reason)})
    if approval.plan:
        edited = with_ids(approval.plan, f"{inquiry.scope}:{plan_sha256(plan)}:edited")
        approval = approval.model_copy(update={"plan": edited.model_copy(update={"revision": plan.revision + 1})})
    await _write_down(inquiry, state.get("plan_number", 0), plan, approval)
    return _apply_decision(state, plan, approval, sent["summary"])


async def _write_down(inquiry: Inquiry, number: int, plan: ResearchPlan, approval: Approval) -> None:
    """Stores the decision and its plan. An edited plan counts as a new plan, which is audited and then shown to the user for another
    decision."""
    said = {"decision": approval.decision, "reason": approval.reason, "stop": approval.stop, "plan_sha256": plan_sha256(plan)}
    edited = keep_plan(approval.plan) if approval.plan else None
    key = f"approval:{number}:{plan_sha256(plan)[:12]}"
    await inquiry.tell("approval", key, {**said, "edited_plan": edited})
    if approval.plan:
        made = {"plan": edited, "sha256": plan_sha256(approval.plan), "by": "person"}
        await inquiry.tell("plan", f"plan:{number}:edited", made)


def _ask(inquiry: Inquiry, state: ResearchState, plan: ResearchPlan, sent: dict[str, Any]) -> Approval:
    equipment, audit = inquiry.equipment, state.get("audit_result")
    own = sum(len(each.text) for each in inquiry.own)
    asked = {
        "type": PLAN_APPROVAL,
        "plan": plan.model_dump(mode="json", by_alias=True),
        "audit": audit.model_dump(mode="json", by_alias=True) if audit else None,
        "estimate": estimate(equipment, plan, own_characters=own).model_dump(mode="json", by_alias=True),
        "rules": dict(equipment.policy.judged),
        "sent": sent,
    }
    return ask(asked, read_approval, lambda error: f"The answer could not be understood: {approval_fault(error)}")


def estimate(equipment: Equipment, plan: ResearchPlan, *, own_characters: int = 0) -> Estimate:
    """An upper limit of what a plan will cost, before anything is known. Each page counts with a request for robots.txt, each follow-up
    as a search with its pages, and ceilings apply. `own_characters` is the length of the user's documents that came along."""
    searches = sum(step.tool == "web_search" for step in plan.steps) + (plan.follow_ups if plan.uses_web else 0)
    pages = sum(step.tool == "fetch_page" for step in plan.steps) + searches * equipment.pages_per_step
    requests = min(searches + 2 * pages, equipment.policy.limits.requests)
    sends = "" if plan.uses_web else _describe_sending(equipment)
    if equipment.models is None:
        return Estimate(requests=requests, tokens=0, cost_usd=0.0, sends=sends)
    read = pages * _TOKENS_PER_PAGE + own_characters // _CHARACTERS_PER_TOKEN
    to_write = _count_writing(plan)
    tokens = min(max(plan.estimated_token_budget, read + to_write), equipment.policy.limits.tokens)
    use, writer = TokenUse(input=tokens, output=to_write), equipment.models["write"]
    if is_on_this_machine(writer):
        return Estimate(requests=requests, tokens=tokens, cost_usd=0.0, sends=sends)
    wanted = price_call(label_of(writer), use)
    note = "" if wanted.cost_usd is not None else f"{describe_assumed([wanted.model])} That would be {ASSUMED.of(use):.2f} USD."
    return Estimate(requests=requests, tokens=tokens, cost_usd=wanted.cost_usd, price_note=note, sends=sends)


def _count_writing(plan: ResearchPlan) -> int:
    """The tokens to write with: one writer, or one for each of several sections, one for the answer at the top and a critic; and the one
    revision."""
    if len(plan.outline) < LEAST_SECTIONS:
        return _TOKENS_TO_WRITE + _TOKENS_TO_REVISE
    return len(plan.outline) * _TOKENS_FOR_A_SECTION + _TOKENS_TO_WRITE + _TOKENS_FOR_THE_CRITIC + _TOKENS_TO_REVISE


def _describe_sending(equipment: Equipment) -> str:
    """What leaves the machine for a plan that searches nothing but the user's documents."""
    writer = equipment.models["write"] if equipment.models else None
    if writer is None or is_on_this_machine(writer):
        return "Nothing will leave the machine."
    return f"Nothing will be searched on the web. The model {label_of(writer)} will be sent passages of your documents, to write from."


def _apply_decision(state: ResearchState, plan: ResearchPlan, approval: Approval, sent: str) -> Done:
    if approval.decision == "approve":
        change = {"human_approved": True, "status": "executing", "approved_plan_sha256": plan_sha256(plan)}
        return {**change, "follow_ups_left": plan.follow_ups}, "You approved the plan."
    if approval.decision == "edit" and approval.plan:
        change = {"plan": approval.plan, "human_approved": False, "status": "thinking", "rejection_reason": ""}
        return change, "You edited the plan. It is checked again."
    if approval.stop:
        message = f"You stopped the research{': ' + approval.reason if approval.reason else ''}. {sent}"
        return {"status": "failed", "error_message": message}, message
    reason = approval.reason or "no reason given"
    count, ceiling = state.get("plan_revision_count", 0) + 1, state.get("max_plan_revisions", MAX_PLAN_REVISIONS)
    if count >= ceiling:
        message = (
            f"{count} of {ceiling} plans were rejected, the last one by you: {reason}. Rephrase the question, or edit a plan."
        )
        return {"status": "failed", "error_message": message}, message
    change = {"plan_revision_count": count, "human_approved": False, "status": "thinking", "rejection_reason": reason}
    return change, f"You rejected the plan: {reason}"
