"""Makes a plan, with a model, or by rules if no model can write. If a plan is rejected, makes another that takes the reason into
account."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from typing import Literal

from langchain_core.language_models import BaseChatModel

from stepwell.errors import ToolUseError
from stepwell.research.audit.asked_form import read_sections, read_words
from stepwell.research.evidence.asking import ask_for
from stepwell.research.evidence.equipment import Equipment
from stepwell.research.evidence.inquiry import Inquiry
from stepwell.research.evidence.policy.rules import DOCUMENTS, ResearchPolicy, StepTool
from stepwell.research.evidence.prompting import fence_material, prompt
from stepwell.research.evidence.queries import (
    choose_addresses,
    make_queries,
    make_queries_beside,
    remove_private,
    sub_questions,
)
from stepwell.research.graph.schemas import (
    FOLLOW_UPS,
    MAX_FOLLOW_UPS,
    MAX_INPUT_CHARS,
    MAX_STEPS,
    ProposedPlan,
    ResearchPlan,
    ResearchStep,
    keep_plan,
    plan_sha256,
)
from stepwell.research.graph.snippets import read_snippets, show_snippets
from stepwell.research.graph.state import Done, ResearchState
from stepwell.secrets.text import hide_secrets

_READ_CHARACTERS = 4_000
_NAMESPACE = uuid.UUID("6f1c6a53-4f0e-5d0f-9b57-2f0a8a3f5c11")


async def thinker(inquiry: Inquiry, state: ResearchState) -> Done:
    number = state.get("plan_number", 0) + 1
    model = inquiry.model_before_approval("plan")
    plan = await _ask(inquiry, state, number, model) if model else _by_rules(inquiry, state)
    plan = _settle_form(inquiry, state, plan)
    plan = with_ids(plan, f"{inquiry.scope}:{number}").model_copy(update={"revision": state.get("plan_revision_count", 0)})
    made = {"plan": keep_plan(plan), "sha256": plan_sha256(plan), "by": "model" if model else "rules"}
    await inquiry.tell("plan", f"plan:{number}", made)
    return {
        "plan": plan,
        "plan_number": number,
        "status": "thinking",
        "human_approved": False,
        "rejection_reason": "",
    }, f"Planned {_count_steps(plan)}.{_say_where(inquiry)}{_held_back(inquiry.equipment, model)}"


def _count_steps(plan: ResearchPlan) -> str:
    return "1 step" if len(plan.steps) == 1 else f"{len(plan.steps)} steps"


def _say_where(inquiry: Inquiry) -> str:
    """Why nothing but the user's documents is searched; empty if the web is searched too."""
    if not inquiry.only_documents:
        return ""
    why = "as you asked" if inquiry.asked_for_documents else "because this machine has no network connection"
    return f" Only your documents are searched, {why}."


def _held_back(equipment: Equipment, model: BaseChatModel | None) -> str:
    """Why the configured model was not asked; empty if it was."""
    if not equipment.writes or equipment.policy.sends_before_approval:
        return ""
    maker = "a model on this machine" if model else "rules"
    return f" Made by {maker}: the policy sends nothing before you approve (rule sending.before_approval)."


async def _ask(inquiry: Inquiry, state: ResearchState, number: int, model: BaseChatModel) -> ResearchPlan:
    await inquiry.require_room()
    proposed = await ask_for(
        ProposedPlan,
        model=model,
        calls=inquiry.calls,
        key=f"thinker:{number}",
        role="thinker",
        system=_instruct(inquiry, with_outline=bool(state.get("outline"))),
        user=_material(state),
    )
    return ResearchPlan.model_validate(proposed.model_dump())


def _settle_form(inquiry: Inquiry, state: ResearchState, plan: ResearchPlan) -> ResearchPlan:
    """The plan with the length and the sections of the report. The user's own titles go before a model's, which are used only if the user
    wants sections; where no model writes, there are none."""
    question = state["user_query"]
    titles = read_sections(question) or (plan.outline if state.get("outline") else ())
    form = {"words": plan.words or read_words(question), "outline": titles if inquiry.equipment.writes else ()}
    return plan.model_copy(update=form)


_ON_THE_WEB = """- `web_search`: `input` is a query of a few words, as typed into a search engine.
- `fetch_page`: `input` is the full address of one page. Use it only for addresses that the user gave."""
_IN_DOCUMENTS = "- `search_documents`: `input` is what to look for in the user's notes and excerpts below. It sends nothing."


_OUTLINE = (
    "- `outline` is the report's sections: two to six titles of a few words, without figures, in the order to read them in.\n"
)


def _instruct(inquiry: Inquiry, *, with_outline: bool) -> str:
    """The prompt. It offers the tools that this question can use."""
    if inquiry.only_documents:
        places, tools = " from the user's own documents alone", f"{_IN_DOCUMENTS} There is no other tool."
    elif inquiry.own:
        first = f"{_IN_DOCUMENTS} Use it in one step, the first."
        places, tools = " from the user's own documents and from the web", f"{first}\n{_ON_THE_WEB}"
    else:
        places, tools = " from the web", _ON_THE_WEB
    return prompt(
        "stepwell.research.graph",
        "thinker",
        places=places,
        tools=tools,
        first_tool="search_documents" if inquiry.own else "web_search",
        max_steps=MAX_STEPS,
        follow_ups=FOLLOW_UPS,
        max_follow_ups=MAX_FOLLOW_UPS,
        outline=_OUTLINE if with_outline else "",
        outline_form=', "outline": ["...", "..."]' if with_outline else "",
    )


def _by_rules(inquiry: Inquiry, state: ResearchState) -> ResearchPlan:
    # Rules cannot weigh a reason, but they can search for what it names.
    asked = f"{state['user_query']} {state.get('rejection_reason', '')}".strip()
    documents: Documents = "only" if inquiry.only_documents else "too" if inquiry.own else "none"
    urls = state.get("context_urls", [])
    return plan_by_rules(asked, urls, max_steps=MAX_STEPS, policy=inquiry.equipment.policy, documents=documents)


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


Documents = Literal["none", "too", "only"]
"""Whether documents of the user's came with the question, and whether only these are to be searched."""


def plan_by_rules(
    query: str,
    urls: Sequence[str] = (),
    *,
    max_steps: int = MAX_STEPS,
    policy: ResearchPolicy | None = None,
    documents: Documents = "none",
) -> ResearchPlan:
    """A plan from the question alone, of at most `max_steps` steps; the same question gives the same plan with the same ids.
    Raises `ToolUseError` if the question gives nothing to search for.

    The user's documents are searched first, in one step if the web is searched too. Addresses that the user gave are fetched next; then
    come the searches of `evidence.queries`, beside pages only those that name a subject, with the one for counter-evidence if there is
    room for two. Steps that the policy forbids are not even proposed; the rest is audited like any other plan.
    """
    whole = " ".join(query[:_READ_CHARACTERS].split())
    question = remove_private(whole)
    most = max(1, min(max_steps, MAX_STEPS))
    local = [_step(query, DOCUMENTS, whole[:MAX_INPUT_CHARS], "What your documents say.")] if documents != "none" else []
    fetches = [_step(query, "fetch_page", url, "The page was given with the question.") for url in choose_addresses(urls)]
    queries = make_queries_beside(question) if fetches else make_queries(question)
    searches = [_step(query, "web_search", text, why) for text, why in queries]
    if documents == "only":
        parts = sub_questions(whole)
        if len(parts) > 1:
            local = [_step(query, DOCUMENTS, part, "Sub-question") for part in parts]
        fetches, searches = [], []
    if policy is not None:
        local, fetches, searches = (
            [step for step in steps if not policy.check_step(step)] for steps in (local, fetches, searches)
        )
    local = local[:most]
    most -= len(local)
    room = most - 1 if searches and most > 1 else most
    steps = [*local, *fetches[:room], *_leave_room_for_last(searches, most - len(fetches[:room]))]
    if not steps:
        raise ToolUseError(_say_nothing_to_do(documents))
    return ResearchPlan(objective=question[:300] or "Read what was given.", steps=tuple(steps))


def _say_nothing_to_do(documents: Documents) -> str:
    if documents == "only":
        return "The policy does not allow your documents to be searched (rule tools.allowed lacks 'search_documents')."
    return (
        "The question contains nothing to search for: it is empty, or holds only text that must not leave the machine. "
        "Ask it in a few plain words."
    )


def _leave_room_for_last(searches: Sequence[ResearchStep], room: int) -> list[ResearchStep]:
    """The first searches and, if there is room for two, always the last, which searches for counter-evidence."""
    if room < 1 or len(searches) <= room:
        return list(searches[: max(room, 0)])
    return [*searches[: room - 1], searches[-1]] if room > 1 else list(searches[:room])


def _step(query: str, tool: StepTool, text: str, why: str) -> ResearchStep:
    return ResearchStep(id=str(uuid.uuid5(_NAMESPACE, f"{query}\n{tool}\n{text}")), tool=tool, input=text, rationale=why)
