"""A plan from the question alone, for when no model can plan. It follows rules, so the same question gives the same plan with the same
ids.

Addresses that the user gave are fetched first; then come the searches of `evidence.queries`, with the one for counter-evidence if there
is room for two. Steps that the policy forbids are not even proposed; the rest is audited like any other plan.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from stepwell.errors import ToolUseError
from stepwell.research.evidence.policy.rules import ResearchPolicy, StepTool
from stepwell.research.evidence.queries import choose_addresses, make_queries, remove_private
from stepwell.research.graph.schemas import MAX_STEPS, ResearchPlan, ResearchStep

_READ_CHARACTERS = 4_000
_NAMESPACE = uuid.UUID("6f1c6a53-4f0e-5d0f-9b57-2f0a8a3f5c11")


def plan_by_rules(
    query: str, urls: Sequence[str] = (), *, max_steps: int = MAX_STEPS, policy: ResearchPolicy | None = None
) -> ResearchPlan:
    """A plan of at most `max_steps` steps; `ToolUseError` if the question gives nothing to search for."""
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
    """The first ones, and always the last, which searches for counter-evidence."""
    if len(searches) <= room:
        return list(searches)
    return [*searches[: room - 1], searches[-1]] if room > 1 else list(searches[:room])


def _step(query: str, tool: StepTool, text: str, why: str) -> ResearchStep:
    return ResearchStep(id=str(uuid.uuid5(_NAMESPACE, f"{query}\n{tool}\n{text}")), tool=tool, input=text, rationale=why)
