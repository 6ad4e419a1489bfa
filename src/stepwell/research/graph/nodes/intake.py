"""Accepts a question with its notes and addresses, and clears everything that belongs to an earlier question."""

from __future__ import annotations

from typing import Any, Literal

from langchain_core.messages import HumanMessage

from stepwell.errors import InvalidRequestError, WebError
from stepwell.research.audit.exchanges.redaction import without_password
from stepwell.research.evidence.equipment import Equipment
from stepwell.research.evidence.inquiry import Inquiry, begin_inquiry
from stepwell.research.evidence.origin import take_over
from stepwell.research.evidence.own_documents import check_only_documents
from stepwell.research.graph.schemas import MAX_PLAN_REVISIONS, MAX_QUERY_CHARS, MOST_PLAN_REVISIONS
from stepwell.research.graph.snippets import read_snippets
from stepwell.research.graph.state import Done, ResearchState, read_sources
from stepwell.secrets.text import hide_secrets
from stepwell.tools.web.addresses import AddressRules, check_url, read_url


async def intake(earlier: Inquiry, state: ResearchState) -> Done:
    """Opens the next inquiry of the trail; `earlier` is the thread's current one."""
    query, asked_in = _query(state)
    if earlier.equipment.origin and not state.get("question_number"):
        await take_over(earlier.vault, earlier.equipment.origin)
    # No question needs a key (a secret) to be answered, so anything that looks like one is removed before a model or the trail gets it.
    query, notes = hide_secrets(query), hide_secrets(state.get("knowledge_context") or "")
    snippets = [each.model_dump() for each in read_snippets(state.get("snippets"))]
    only_documents = _only_documents(earlier.equipment, state, has_material=bool(notes.strip() or snippets))
    asked = {
        "query": query,
        "knowledge_context": notes,
        "snippets": snippets,
        "context_urls": [hide_secrets(without_password(url)) for url in state.get("context_urls") or ()],
        "only_documents": only_documents,
        "mode": "written" if earlier.equipment.writes else "extractive",
        # A replay must compare texts the same way.
        "embedder": earlier.equipment.embedder.id,
        **({"outline": True} if state.get("outline") else {}),
        "turn": earlier.turn,
    }
    inquiry, number = await begin_inquiry(earlier.equipment, earlier.config, asked, earlier.newest)
    urls, refused = await _admit(inquiry, state.get("context_urls") or [])
    if refused:
        await inquiry.note("limit", "context_urls", {"step": "context_urls", "skipped": refused})
    return {
        "user_query": query,
        "knowledge_context": notes,
        "question_number": number,
        "newest_entry": inquiry.newest,
        "asked_in": asked_in,
        "snippets": snippets,
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
        "from_documents": False,
        "follow_ups_left": 0,
        "followed": [],
        "skipped": refused,
        "final_report": None,
        "trail_head": "",
        "error_message": None,
    }, ""


def _only_documents(equipment: Equipment, state: ResearchState, *, has_material: bool) -> Literal["no", "asked", "offline"]:
    """Whether to search nothing but the user's documents, and why. By default that is so if there is no network; but a user who names
    pages to read is then asked what to do."""
    asked, urls = state.get("only_documents"), state.get("context_urls")
    if asked:
        check_only_documents(has_material, None, urls)
        return "asked"
    return "offline" if asked is None and has_material and not urls and not equipment.has_route() else "no"


def _query(state: ResearchState) -> tuple[str, str]:
    """The user's latest question, and the id of its message: a new message of the chat, or the query of this request.

    If a research ended without a report, its message stays the last of the thread; it is not taken for a new question.
    """
    messages = state.get("messages") or []
    said = messages[-1] if messages and isinstance(messages[-1], HumanMessage) else None
    new = said if said is not None and said.id != state.get("asked_in") else None
    query = ((new.text if new is not None else "") or state.get("user_query") or "").strip()
    if not query:
        raise InvalidRequestError("There is no question. Send it as user_query, or as a message.")
    if len(query) > MAX_QUERY_CHARS:
        raise InvalidRequestError(
            f"The question has {len(query):,} characters; the limit is {MAX_QUERY_CHARS:,}. Ask in fewer words; "
            "material to work with goes into knowledge_context."
        )
    return query, state.get("asked_in", "") if new is None else str(new.id)


def _revisions(state: ResearchState) -> int:
    most: Any = state.get("max_plan_revisions", MAX_PLAN_REVISIONS)
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MOST_PLAN_REVISIONS:
        raise InvalidRequestError(f"max_plan_revisions must be a whole number from 1 to {MOST_PLAN_REVISIONS}.")
    return most


async def _admit(inquiry: Inquiry, urls: list[str]) -> tuple[list[str], list[str]]:
    """The addresses that may be fetched, and a sentence about each that may not."""
    kept, refused = [], []
    for url in dict.fromkeys(urls):
        if why := await _refuse(inquiry, url):
            refused.append(_describe_refusal(url, why))
        else:
            kept.append(url)
    return kept, refused


async def _refuse(inquiry: Inquiry, url: str) -> str | None:
    """Why an address may not be fetched: it points inside the network, or the policy forbids it. `None` if it may be fetched.

    A host name that points inside the network is caught when the transport resolves it.
    """
    try:
        check_url(read_url(url.strip()), AddressRules())
    except WebError as error:
        await inquiry.note_refusal("question", url, rule=error.reason, reason=str(error), url=url)
        return str(error)
    broken = await inquiry.check_address("question", url)
    return str(broken) if broken else None


def _describe_refusal(url: str, why: str) -> str:
    """Names only the host: a report shows no address except those of sources."""
    try:
        host = read_url(url.strip()).host
    except WebError:
        return f"An address that was given was not fetched: {why}"
    return f"A page of '{host}' was given and not fetched: {why}"
