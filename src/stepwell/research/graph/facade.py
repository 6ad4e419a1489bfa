"""Between `/api/research` and the graph: turns requests into input, answers into resume values, and run events into events of this API.

```
metadata (first attempt)      start         {"node": "_start", "state": {"status": "started", "threadId", "runId"}}; after an answer also
                                            plan and reasoning so far
values   (a later attempt)    start         the same, with the whole state so far; what was not in a checkpoint is sent again
updates  {node: update}       research      {"node": node, "state": the update, in camelCase}
updates  {__interrupt__: ..}  research, hitl_waiting    status awaiting_approval, with what is asked and its id
error; a failed state         error         {"node": "_error", "state": {"status": "failed", "errorMessage"}}
end      of a stopped run     error         it will not continue
```

Pure functions. The server knows none of this: the command line connects the two (`cli/compose.py`).

Rule to keep: the same answer always gives exactly the same value, by which the server recognises a repeated answer. So fill in nothing
here that differs between calls (a step's id, a time).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson
from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from stepwell.database.types import PendingInterrupt, RunEvent
from stepwell.errors import InvalidRequestError, ResumeError
from stepwell.research.evidence.policy.rules import Violation
from stepwell.research.graph.answers import PLAN_APPROVAL, SEARCH_RETRY, SOURCE_REVIEW
from stepwell.validation import describe_first_fault

GRAPH: Final = "research"

Json = dict[str, Any]
Message = tuple[str, Json]
"""An event's name and its data, `{node, state}`."""

SHOWN: Final = (
    "status", "user_query", "context_urls", "plan", "audit_result", "reasoning", "plan_revision_count", "max_plan_revisions",
    "human_approved", "rejection_reason", "done_steps", "followed", "skipped", "denied_sources", "final_report", "trail_head",
    "error_message",
)  # fmt: skip
"""The fields of the state that we send. Messages would repeat the report, and the knowledge is the caller's own text."""

STOPPED: Final = "The run was cancelled, or stopped by a newer question on this thread. Its results so far are kept."
_INTERRUPT: Final = "__interrupt__"
_NODES: Final = {PLAN_APPROVAL: "hitl_gate", SOURCE_REVIEW: "source_review", SEARCH_RETRY: "search_retry"}


def make_input(asked: Mapping[str, Any]) -> Json:
    """The graph's input. Every field is set, because a second question on a thread must not inherit the first one's knowledge.
    `InvalidRequestError` if only documents are to be searched and there are none, or pages are to be read as well."""
    # On demand, here and below: this loads what takes questions apart.
    from stepwell.research.graph.schemas import MAX_PLAN_REVISIONS

    if asked.get("only_documents"):
        from stepwell.research.evidence.own_documents import check_only_documents  # loads what searches documents

        check_only_documents(asked.get("retrieved_context"), asked.get("snippets"), asked.get("context_urls"))
    return {
        # The question as a message too, so that a thread reads as a conversation and no older message is mistaken for the question.
        "messages": [{"role": "user", "content": asked["query"]}],
        "user_query": asked["query"],
        "knowledge_context": asked.get("retrieved_context") or "",
        "snippets": list(asked.get("snippets") or ()),
        "context_urls": list(asked.get("context_urls") or ()),
        "only_documents": asked.get("only_documents"),
        "max_plan_revisions": asked.get("max_plan_revisions") or MAX_PLAN_REVISIONS,
        "outline": bool(asked.get("outline")),
        "review_sources": bool(asked.get("review_sources")),
    }


def make_answer(said: Mapping[str, Any], interrupt: PendingInterrupt | None) -> Json:
    """The value that resumes an interrupt. `interrupt` is the open interrupt, if known; an answer meant for another is rejected."""
    given = {name: value for name, value in said.items() if value is not None}
    review = "admit" in given or "deny" in given
    answer = _review(given) if review else _approval(given)
    kind = interrupt.value.get("type") if interrupt and isinstance(interrupt.value, Mapping) else None
    if interrupt and kind in _NODES and (kind == SOURCE_REVIEW) != review:
        wanted = "'admit' and 'deny'" if kind == SOURCE_REVIEW else "'decision'"
        raise ResumeError(
            f"The open question '{interrupt.interrupt_id}' is a {kind}, which takes {wanted}; this answer is for another one. "
            "Send 'interruptId' with an answer to say which question it is for.",
            (interrupt.interrupt_id,),
        )
    return answer


def _review(given: Mapping[str, Any]) -> Json:
    admit, deny = list(given.get("admit", ())), list(given.get("deny", ()))
    if "decision" in given or "approved" in given:
        raise InvalidRequestError("'admit' and 'deny' answer a review of sources, 'decision' a plan. Send one of the two.")
    if both := sorted(set(admit) & set(deny)):
        raise InvalidRequestError(f"The source '{both[0]}' is both admitted and denied. Name it in one of the lists.")
    return {name: given[name] for name in ("admit", "deny") if name in given}  # `admit` alone denies all others


def _approval(given: Mapping[str, Any]) -> Json:
    """A decision on a plan. Older clients send `approved`, which is rejected if it contradicts `decision`."""
    decision, approved = given.get("decision"), given.get("approved")
    if decision is None and approved is None:
        raise InvalidRequestError(
            "The answer is empty. Send 'decision' (approve, edit or reject), or 'admit' and 'deny' for sources."
        )
    if decision is not None and approved is not None and approved != (decision != "reject"):
        raise InvalidRequestError(f"'approved' and 'decision' contradict each other: {decision}. Send 'decision' alone.")
    decision = decision or ("approve" if approved else "reject")
    if ("plan" in given) != (decision == "edit"):
        raise InvalidRequestError("A 'plan' belongs to the decision 'edit', and 'edit' needs one. Send both or neither.")
    if decision == "edit":
        return {"decision": decision, "plan": _check_plan(given["plan"])}
    if decision in ("approve", "documents"):
        return {"decision": decision}
    reason, stop = given.get("reason", "").strip(), bool(given.get("stop"))
    return {"decision": decision, **({"reason": reason} if reason else {}), **({"stop": True} if stop else {})}


def _check_plan(plan: Any) -> Any:
    """The plan exactly as it was sent, once it is known to be valid. The parsed plan would have new ids for steps that were sent without
    one."""
    from stepwell.research.graph.schemas import ResearchPlan

    try:
        ResearchPlan.model_validate(plan)
    except ValidationError as error:
        fault = describe_first_fault(error, under=("plan",))
        raise InvalidRequestError(f"{fault}. Send the plan as it was shown, with your changes.") from error
    return plan


def gather(known: Json, event: RunEvent) -> Json:
    """What we know about a question after one more event of its runs: its plan, and the reasoning that a view shows."""
    if event.event != "updates":
        return known
    from stepwell.research.graph.schemas import MAX_REASONING_ENTRIES

    for update in orjson.loads(event.data).values():
        if isinstance(update, Mapping):
            reasoning = [*known.get("reasoning", ()), *(update.get("reasoning") or ())][-MAX_REASONING_ENTRIES:]
            known = {**known, **({"plan": update["plan"]} if "plan" in update else {}), "reasoning": reasoning}
    return known


def translate(event: RunEvent, known: Mapping[str, Any]) -> list[Message]:
    """Translates one event of a run for `/api/research`; empty for events that only the server's own clients need. `known` is what we
    knew about the question when the run began (`gather`)."""
    match event.event:
        case "metadata":
            return _tell_start(event, _show_state(known)) if orjson.loads(event.data).get("attempt", 1) == 1 else []
        case "values":
            values = orjson.loads(event.data)
            return _tell_start(event, _show_state(values) if isinstance(values, dict) else {})
        case "updates":
            return [
                message for node, update in orjson.loads(event.data).items() for message in _tell_update(event, node, update)
            ]
        case "error":
            return [_tell_failure(orjson.loads(event.data).get("message"))]
        case "end" if orjson.loads(event.data).get("status") == "interrupted":
            return [_tell_failure(STOPPED)]
        case _:
            return []


def _tell_start(event: RunEvent, state: Json) -> list[Message]:
    known = {**state, "status": "started", "threadId": event.thread_id, "runId": event.run_id}
    return [("start", {"node": "_start", "state": known})]


def _tell_update(event: RunEvent, node: str, update: Any) -> Iterator[Message]:
    if node == _INTERRUPT:
        for interrupt in update:
            yield from _tell_interrupt(event, interrupt)
        return
    state = _show_state(update) if isinstance(update, Mapping) else {}
    yield "research", {"node": node, "state": state}
    if state.get("status") == "failed":
        yield _tell_failure(state.get("errorMessage"))


def _tell_interrupt(event: RunEvent, interrupt: Mapping[str, Any]) -> Sequence[Message]:
    """The same message under two names, because older clients look for the status, and ours look for the name."""
    value = interrupt["value"] if isinstance(interrupt["value"], Mapping) else {}
    kind = value.get("type", PLAN_APPROVAL)
    state = {
        "status": "awaiting_approval",
        "interruptType": kind,
        "interruptId": interrupt["id"],
        "threadId": event.thread_id,
        "runId": event.run_id,
        **{name: _camel(value[name]) for name in ("plan", "estimate", "sent", "sources") if name in value},
        **({"auditResult": _audit(value["audit"])} if value.get("audit") else {}),
        # Copied as they are: keys of `rules` are ids, not field names. `problem` says what was wrong with an earlier answer; `message`,
        # `cause` and `steps` say which requests failed, and `documents` whether there are any to write from, when the user decides
        # whether to retry.
        **{name: value[name] for name in ("rules", "problem", "message", "cause", "steps", "documents") if name in value},
    }
    data = {"node": _NODES.get(kind, kind), "state": state}
    return [("research", data), ("hitl_waiting", data)]


def _tell_failure(message: Any) -> Message:
    said = message or "The research failed without an error message."
    return "error", {"node": "_error", "state": {"status": "failed", "errorMessage": said}}


def _show_state(state: Mapping[str, Any]) -> Json:
    told = {to_camel(name): _camel(state[name]) for name in SHOWN if name in state}
    if told.get("auditResult"):
        told["auditResult"] = _audit(state["audit_result"])
    return told


def _audit(audit: Mapping[str, Any]) -> Json:
    """The audit, with violations also as `policyViolations`, one line each, which older clients read."""
    lines = [str(Violation.model_validate(each)) for each in audit.get("violations") or ()]
    return {**_camel(audit), "policyViolations": lines}


def _camel(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {to_camel(name): _camel(inner) for name, inner in value.items()}
    return [_camel(inner) for inner in value] if isinstance(value, list | tuple) else value
