"""Checks a plan against the policy before it is carried out. It fails closed: an answer that we cannot read counts as a rejection. Such
an answer also ends the research, because another plan would not help against an auditor that gives no usable answer.

Code checks what a machine can check. The rest goes to a model that did not write the plan; if no model can judge, it is left to the
user at the gate, rule by rule.
"""

from __future__ import annotations

import uuid
from typing import Any

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, ConfigDict

from stepwell.errors import ModelAnswerError
from stepwell.research.evidence.asking import ask_for
from stepwell.research.evidence.inquiry import Inquiry
from stepwell.research.evidence.policy.rules import Violation
from stepwell.research.evidence.prompting import fence_material, prompt
from stepwell.research.graph.schemas import MAX_PLAN_REVISIONS, AuditResult, PlanVerdict, ResearchPlan
from stepwell.research.graph.state import Done, ResearchState
from stepwell.secrets.text import hide_secrets

UNREADABLE = "audit.unreadable"


class Judged(BaseModel):
    """What the auditing model answers. Nothing in it has a default: an answer that leaves something out is not an answer."""

    model_config = ConfigDict(extra="ignore")

    verdict: PlanVerdict
    violations: list[Violation]
    suggestions: list[str]


async def auditor(inquiry: Inquiry, state: ResearchState) -> Done:
    plan = state.get("plan")
    audit = await audit_plan(inquiry, state["user_query"], plan) if plan else _reject_as_unreadable("There is no plan.")
    count = state.get("plan_revision_count", 0)
    await inquiry.tell("audit", f"audit:{_mark(plan)}:{count}", await _audit_entry(inquiry, audit))
    if audit.verdict == "approved":
        return {"audit_result": audit, "status": "awaiting_approval"}, "The plan follows the policy."
    change, why = _send_back(state, audit, count + 1)
    return {"audit_result": audit, **change}, why


async def audit_plan(inquiry: Inquiry, question: str, plan: ResearchPlan) -> AuditResult:
    policy = inquiry.equipment.policy
    if broken := policy.check_plan(plan, only_documents=inquiry.only_documents):
        return AuditResult(verdict="rejected", violations=tuple(broken))
    if not policy.judged:
        return AuditResult(verdict="approved")
    model = inquiry.model_before_approval("audit")
    if model is None:
        return AuditResult(verdict="approved", left_to_the_human=tuple(policy.judged))
    return await _judge(inquiry, question, plan, model)


async def _judge(inquiry: Inquiry, question: str, plan: ResearchPlan, model: BaseChatModel) -> AuditResult:
    await inquiry.require_room()
    rules = "\n".join(f"- {rule}: {text}" for rule, text in inquiry.equipment.policy.judged.items())
    shown = hide_secrets(plan.model_dump_json(by_alias=True, exclude={"revision": True, "estimated_token_budget": True}))
    try:
        judged = await ask_for(
            Judged,
            model=model,
            calls=inquiry.calls,
            key=f"auditor:{_mark(plan)}",
            role="auditor",
            system=prompt("stepwell.research.graph", "auditor", rules=rules),
            user=f"The question:\n{fence_material(question)}\n\nThe plan:\n{fence_material(shown)}",
        )
    except ModelAnswerError as error:
        return _reject_as_unreadable(str(error))
    return _fail_closed(judged)


def _fail_closed(judged: Judged) -> AuditResult:
    """The audit's result. An approval that names broken rules, or a rejection that names none, is in doubt, and doubt means rejection."""
    violations, suggestions = tuple(judged.violations), tuple(judged.suggestions)
    if judged.verdict == "approved" and not violations:
        return AuditResult(verdict="approved", suggestions=suggestions)
    if judged.verdict == "approved":
        return AuditResult(verdict="rejected", violations=violations, suggestions=suggestions)
    if not violations:
        unnamed = Violation(rule="audit.no_reason", reason="the auditor did not approve the plan and named no rule")
        return AuditResult(verdict="rejected", violations=(unnamed,), suggestions=suggestions)
    return AuditResult(verdict=judged.verdict, violations=violations, suggestions=suggestions)


def _reject_as_unreadable(why: str) -> AuditResult:
    return AuditResult(verdict="rejected", violations=(Violation(rule=UNREADABLE, reason=why[:400]),))


def _send_back(state: ResearchState, audit: AuditResult, count: int) -> Done:
    broken = "; ".join(audit.policy_violations)
    change: dict[str, Any] = {"plan_revision_count": count, "status": "thinking", "human_approved": False}
    if unread := next((violation for violation in audit.violations if violation.rule == UNREADABLE), None):
        message = f"The plan could not be audited, so it is not approved. {unread.reason}"
        return {**change, "status": "failed", "error_message": message}, message
    ceiling = state.get("max_plan_revisions", MAX_PLAN_REVISIONS)
    if count < ceiling:
        return change, f"The plan breaks the policy: {broken}"
    message = (
        f"No plan follows the policy: {count} of {ceiling} plans were not approved. The last one: {broken}. "
        "Rephrase the question, or change the policy."
    )
    return {**change, "status": "failed", "error_message": message}, message


async def _audit_entry(inquiry: Inquiry, audit: AuditResult) -> dict[str, Any]:
    policy = inquiry.equipment.policy
    stored = await inquiry.vault.put(policy.text.encode())
    return {"audit": audit.model_dump(mode="json"), "policy_sha256": stored}


def _mark(plan: ResearchPlan | None) -> str:
    return uuid.uuid5(uuid.NAMESPACE_OID, plan.model_dump_json() if plan else "").hex[:12]
