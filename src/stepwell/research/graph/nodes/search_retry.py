"""Asks whether to retry when a plan found nothing because nobody could be reached: no connection, or engines that refuse to serve us.

An engine that searched and found nothing is another case, and leads to no question. The answer looks like the gate's: `approve` retries
the same steps, `reject` ends the research. If documents of the user's came with the question, `documents` writes from these alone, and
the report says what could not be asked. There is no automatic retry.
"""

from __future__ import annotations

from typing import Any

from stepwell.research.evidence.gathering import Cause, Unreached, host_of
from stepwell.research.evidence.inquiry import Inquiry
from stepwell.research.graph.answers import SEARCH_RETRY, ask, describe_taken, read_retry
from stepwell.research.graph.schemas import ResearchPlan, RetryAnswer
from stepwell.research.graph.state import Done, ResearchState
from stepwell.secrets.text import hide_secrets

_RECORDED = {"approve": "retry", "reject": "reject", "documents": "documents"}
"""The decision as the trail names it, where `approve` is for plans alone."""

_SAID: dict[Cause, str] = {
    "offline": "{what} could be reached.{also} Check the network connection, then retry; your plan is kept. Tried: {tried}",
    "blocked": "{what} serves us at the moment.{also} Retry in a few minutes; your plan is kept. Tried: {tried}",
    "failed": "{what} gave a usable answer.{also} There may still be something to find: retry; your plan is kept. Tried: {tried}",
}
"""What happened and what to do; whoever shows it may fold what follows `Tried:`."""


async def search_retry(inquiry: Inquiry, state: ResearchState) -> Done:
    unreached, plan = state.get("unreached") or {}, state["plan"]
    message, cause = outage(unreached, plan)
    steps = [step.input for step in plan.steps if step.id in unreached] if plan else []
    answer = _ask(message, cause, steps, documents=bool(inquiry.own))
    number = state.get("retries", 0) + 1
    said = {"decision": _RECORDED[answer.decision], "reason": hide_secrets(answer.reason), "stop": True}
    await inquiry.tell("approval", f"retry:{number}", {**said, "cause": cause, "steps": sorted(unreached)})
    if answer.decision == "reject":
        return {"retries": number, "status": "failed", "error_message": message}, "You stopped the search."
    if answer.decision == "documents":
        change = {"retries": number, "unreached": {}, "from_documents": True, "status": "executing"}
        return change, "The report is written from your documents alone."
    failures = {each["told"] for each in unreached.values()}
    return {
        "retries": number,
        "done_steps": [step for step in state.get("done_steps", ()) if step not in unreached],
        "skipped": [sentence for sentence in state.get("skipped", ()) if sentence not in failures],
        "unreached": {},
        "status": "executing",
    }, f"Retrying {len(unreached)} of the steps."


def outage(unreached: dict[str, Unreached], plan: ResearchPlan | None) -> tuple[str, Cause]:
    """What happened, as a sentence, and its cause. If one engine blocks us and others are silent, the cause is the block."""
    causes = {each["cause"] for each in unreached.values()}
    cause: Cause = "blocked" if "blocked" in causes else "offline" if "offline" in causes else "failed"
    searches = plan is None or any(step.tool == "web_search" for step in plan.steps if step.id in unreached)
    also = _name_unread(plan) if searches else ""
    tried = "; ".join(dict.fromkeys(each["tried"] for each in unreached.values()))
    return _SAID[cause].format(what="No search engine" if searches else "None of the pages", also=also, tried=tried), cause


def _name_unread(plan: ResearchPlan | None) -> str:
    """A sentence about the pages that were to be read, none of which was; empty if there were none."""
    hosts = list(dict.fromkeys(host_of(step.input) for step in plan.steps if step.tool == "fetch_page")) if plan else []
    if not hosts:
        return ""
    return f" {'The page' if len(hosts) == 1 else 'The pages'} at {' and '.join(hosts)} could not be read either."


def _ask(message: str, cause: Cause, steps: list[str], *, documents: bool) -> RetryAnswer:
    asked: dict[str, Any] = {"type": SEARCH_RETRY, "message": message, "cause": cause, "steps": steps, "documents": documents}
    return ask(asked, lambda answer: read_retry(answer, documents=documents), lambda _: describe_taken(asked))
