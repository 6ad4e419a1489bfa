"""Makes a plan, with a model, or by rules if no model can write. If a plan is rejected, makes another that takes the reason into
account."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence

from langchain_core.language_models import BaseChatModel

from stepwell.errors import ToolUseError
from stepwell.research.evidence.asking import ask_for
from stepwell.research.evidence.equipment import Equipment
from stepwell.research.evidence.inquiry import Inquiry
from stepwell.research.evidence.policy.rules import ResearchPolicy, StepTool
from stepwell.research.evidence.prompting import fence_material, prompt
from stepwell.research.evidence.queries import choose_addresses, make_queries, remove_private
from stepwell.research.graph.schemas import MAX_STEPS, ResearchPlan, ResearchStep, keep_plan, plan_sha256
from stepwell.research.graph.snippets import read_snippets, show_snippets
from stepwell.research.graph.state import Done, ResearchState
from stepwell.secrets.text import hide_secrets

_READ_CHARACTERS = 4_000
_NAMESPACE = uuid.UUID("6f1c6a53-4f0e-5d0f-9b57-2f0a8a3f5c11")


async def thinker(inquiry: Inquiry, state: ResearchState) -> Done:
    number = state.get("plan_number", 0) + 1
    model = inquiry.model_before_approval("plan")
    plan = await _ask(inquiry, state, number, model) if model else _by_rules(inquiry.equipment, state)
    plan = with_ids(plan, f"{inquiry.scope}:{number}").model_copy(update={"revision": state.get("plan_revision_count", 0)})
    made = {"plan": keep_plan(plan), "sha256": plan_sha256(plan), "by": "model" if model else "rules"}
    await inquiry.tell("plan", f"plan:{number}", made)
    return {
        "plan": plan,
        "plan_number": number,
        "status": "thinking",
        "human_approved": False,
        "rejection_reason": "",
    }, f"Plan {number}: {len(plan.steps)} steps. {plan.objective}{_held_back(inquiry.equipment, model)}"


def _held_back(equipment: Equipment, model: BaseChatModel | None) -> str:
    """Why the configured model was not asked; empty if it was."""
    if not equipment.writes or equipment.policy.sends_before_approval:
        return ""
    maker = "a model on this machine" if model else "rules"
    return f" (made by {maker}: the policy lets nothing be sent before you approve, rule sending.before_approval)"


async def _ask(inquiry: Inquiry, state: ResearchState, number: int, model: BaseChatModel) -> ResearchPlan:
    await inquiry.require_room()
    return await ask_for(
        ResearchPlan,
        model=model,
        calls=inquiry.calls,
        key=f"thinker:{number}",
        role="thinker",
        system=prompt("stepwell.research.graph", "thinker", max_steps=MAX_STEPS),
        user=_material(state),
    )


def _by_rules(equipment: Equipment, state: ResearchState) -> ResearchPlan:
    # Rules cannot weigh a reason, but they can search for what it names.
    asked = f"{state['user_query']} {state.get('rejection_reason', '')}".strip()
    return plan_by_rules(asked, state.get("context_urls", []), max_steps=MAX_STEPS, policy=equipment.policy)


def _material(state: ResearchState) -> str:
    """The question, the user's own material, and why the last plan was rejected; all of it fenced."""
    parts = [f"The question:\n{fence_material(state['user_query'])}"]
    if notes := state.get("knowledge_context"):
        parts.append(f"Notes of the user's:\n{fence_material(notes)}")
    if snippets := read_snippets(state.get("snippets")):
        parts.append(f"Excerpts of the user's documents:\n{fence_material(show_snippets(snippets))}")
    if urls := state.get("context_urls"):
        parts.append(f"Addresses the user gave:\n{fence_material(hide_secrets(chr(10).join(urls)))}")
    audit, plan = state.get("audit_result"), state.get("plan")
    if plan:
        parts.append(f"Your last plan:\n{fence_material(hide_secrets(plan.model_dump_json(by_alias=True)))}")
    if plan and audit and audit.violations:
        broken = "\n".join([*audit.policy_violations, *(f"A suggestion: {each}" for each in audit.suggestions)])
        parts.append(f"The auditor did not accept it:\n{fence_material(broken)}")
    if reason := state.get("rejection_reason"):
        parts.append(f"The person who asked rejected it:\n{fence_material(reason)}")
    return "\n\n".join(parts)


def with_ids(plan: ResearchPlan, scope: str) -> ResearchPlan:
    """Gives steps our own ids. The same plan always gets the same ids; another plan in its place, as in another branch, gets different
    ones. References between steps are updated."""
    kept = keep_plan(plan)  # the form that a replay sees
    content = [[step["tool"], step["input"], step["rationale"]] for step in kept["steps"]]
    mark = f"{scope}:{json.dumps([kept['objective'], content])}"
    ids = [str(uuid.uuid5(uuid.NAMESPACE_OID, f"{mark}:{n}")) for n in range(len(plan.steps))]
    names = {str(n): new for n, new in enumerate(ids, 1)} | {step.id: new for step, new in zip(plan.steps, ids, strict=True)}
    steps = tuple(
        step.model_copy(
            update={"id": new, "output": None, "depends_on": tuple(names[name] for name in step.depends_on if name in names)}
        )
        for step, new in zip(plan.steps, ids, strict=True)
    )
    return plan.model_copy(update={"steps": steps})


def plan_by_rules(
    query: str, urls: Sequence[str] = (), *, max_steps: int = MAX_STEPS, policy: ResearchPolicy | None = None
) -> ResearchPlan:
    """A plan from the question alone, of at most `max_steps` steps; the same question gives the same plan with the same ids.
    Raises `ToolUseError` if the question gives nothing to search for.

    Addresses that the user gave are fetched first; then come the searches of `evidence.queries`, with the one for counter-evidence if
    there is room for two. Steps that the policy forbids are not even proposed; the rest is audited like any other plan.
    """
    question = remove_private(" ".join(query[:_READ_CHARACTERS].split()))
    most = max(1, min(max_steps, MAX_STEPS))
    fetches = [_step(query, "fetch_page", url, "The page was given with the question.") for url in choose_addresses(urls)]
    searches = [_step(query, "web_search", text, why) for text, why in make_queries(question)]
    if policy is not None:
        fetches = [step for step in fetches if not policy.check_step(step)]
        searches = [step for step in searches if not policy.check_step(step)]
    room = most - 1 if searches and most > 1 else most
    steps = [*fetches[:room], *_leave_room_for_last(searches, most - len(fetches[:room]))]
    if not steps:
        raise ToolUseError(
            "The question contains nothing to search for: it is empty, or holds only text that must not leave the machine. "
            "Ask it in a few plain words."
        )
    return ResearchPlan(objective=question[:300] or "Read the pages that were given.", steps=tuple(steps))


def _leave_room_for_last(searches: Sequence[ResearchStep], room: int) -> list[ResearchStep]:
    """The first searches and, if there is room for two, always the last, which searches for counter-evidence."""
    if len(searches) <= room:
        return list(searches)
    return [*searches[: room - 1], searches[-1]] if room > 1 else list(searches[:room])


def _step(query: str, tool: StepTool, text: str, why: str) -> ResearchStep:
    return ResearchStep(id=str(uuid.uuid5(_NAMESPACE, f"{query}\n{tool}\n{text}")), tool=tool, input=text, rationale=why)
