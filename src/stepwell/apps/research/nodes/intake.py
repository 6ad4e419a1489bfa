"""Takes a question in: what was asked, with what at hand, and a clean slate for the rest."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig

from stepwell.apps.research.schemas import MAX_PLAN_REVISIONS, MAX_QUERY_CHARS, MOST_PLAN_REVISIONS
from stepwell.apps.research.state import ResearchState, read_sources
from stepwell.audit.exchanges.redaction import without_password
from stepwell.errors import InvalidRequestError, WebError
from stepwell.evidence.equipment import Equipment
from stepwell.evidence.inquiry import begin_inquiry
from stepwell.tools.web.addresses import AddressRules, check_url, read_url


async def intake(equipment: Equipment, state: ResearchState, config: RunnableConfig) -> dict[str, Any]:
    query, asked_in = _query(state)
    urls, stopped = _addresses(equipment, state.get("context_urls") or [])
    refused = [_describe_refusal(url, why) for url, _, why in stopped]
    asked = {
        "query": query,
        "knowledge_context": state.get("knowledge_context", ""),
        "context_urls": [without_password(url) for url in state.get("context_urls") or ()],
        "mode": "written" if equipment.writes else "extractive",
        # A replay has to compare texts as this run did.
        "embedder": equipment.embedder.id,
        # LangGraph's name for this step: the same when it runs again, another one in another branch.
        "turn": str((config.get("metadata") or {}).get("langgraph_checkpoint_ns", "")),
    }
    inquiry, number = await begin_inquiry(equipment, config, asked, state.get("newest_entry", ""))
    if refused:
        await inquiry.note("limit", "context_urls", {"skipped": refused})
    for url, rule, why in stopped:
        await inquiry.refused("question", url, rule=rule, reason=why, url=None if rule.startswith("outgoing.") else url)
    return {
        "user_query": query,
        "question_number": number,
        "newest_entry": inquiry.newest,
        "asked_in": asked_in,
        "context_urls": urls,
        "status": "thinking",
        "max_plan_revisions": _revisions(state),
        "plan_number": 0,
        "plan": None,
        "audit_result": None,
        "plan_revision_count": 0,
        "human_approved": False,
        "rejection_reason": "",
        "approved_plan_sha256": "",
        "done_steps": [],
        "read_sources": read_sources(state, await inquiry.evidence()),
        "pages_read": 0,
        "unreached": {},
        "retries": 0,
        "skipped": refused,
        "final_report": None,
        "error_message": None,
    }


def _query(state: ResearchState) -> tuple[str, str]:
    """The last thing a person said, and the id of the message it came in: a chat's new message, or the query of this request.

    A message stays the last one of its thread when its research ended without a report. It is not asked a second time.
    """
    messages = state.get("messages") or []
    said = messages[-1] if messages and isinstance(messages[-1], HumanMessage) else None
    new = said if said is not None and said.id != state.get("asked_in") else None
    query = ((new.text if new is not None else "") or state.get("user_query") or "").strip()
    if not query:
        raise InvalidRequestError("There is no question. Send it as user_query, or as a message.")
    if len(query) > MAX_QUERY_CHARS:
        raise InvalidRequestError(
            f"The question has {len(query):,} characters, at most {MAX_QUERY_CHARS:,} are taken. Ask in fewer words; "
            "material to work with goes into knowledge_context."
        )
    return query, state.get("asked_in", "") if new is None else str(new.id)


def _revisions(state: ResearchState) -> int:
    most: Any = state.get("max_plan_revisions", MAX_PLAN_REVISIONS)
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MOST_PLAN_REVISIONS:
        raise InvalidRequestError(f"max_plan_revisions has to be a whole number from 1 to {MOST_PLAN_REVISIONS}.")
    return most


def _addresses(equipment: Equipment, urls: list[str]) -> tuple[list[str], list[tuple[str, str, str]]]:
    """The addresses that may be fetched, and those that may not with the rule and why: inside the network, or against the policy.

    A name that leads inside is seen when it is resolved, by the transport.
    """
    kept, refused = [], []
    for url in dict.fromkeys(urls):
        try:
            check_url(read_url(url.strip()), AddressRules())
            broken = [(violation.rule, str(violation)) for violation in equipment.policy.check_address(url)]
        except WebError as error:
            broken = [(error.reason, str(error))]
        if broken:
            refused.append((url, *broken[0]))
        else:
            kept.append(url)
    return kept, refused


def _describe_refusal(url: str, why: str) -> str:
    """By the host alone: an address does not stand in a report unless it is a source's."""
    try:
        host = read_url(url.strip()).host
    except WebError:
        return f"An address that was given was not fetched: {why}"
    return f"A page of '{host}' was given and not fetched: {why}"
