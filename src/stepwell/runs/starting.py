"""Turns a caller's request into a run that can be admitted: pure functions, no database.

Rule to keep: LangGraph's and our own internals (`__*`), and everything that determines the run's user and which thread or checkpoint is
written, are set by us and never taken from the caller's `configurable`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import uuid4

from stepwell.answers import AnswerShapes
from stepwell.database.queue.types import Admission
from stepwell.database.types import (
    STEER,
    Assistant,
    BareAnswer,
    MultitaskStrategy,
    PendingInterrupt,
    Run,
    RunFields,
    RunRequest,
)
from stepwell.errors import AnswerShapeError, InvalidRequestError
from stepwell.runs.run_config import USER_PREFIX
from stepwell.runs.threads.titles import title_of
from stepwell.state.steering import SteeringMessage, check_content, check_message_id
from stepwell.tools.rewind.journal import REWINDS

_OURS = frozenset(
    {"thread_id", "run_id", "assistant_id", "graph_id", "user_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map"}
)
_TAKEN_OVER = ("recursion_limit", "max_concurrency", "run_name")
_INTERRUPT_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class RunOrder(RunFields):
    """A request for a run, field by field as LangGraph's clients send it. `thread_id=None` asks for a stateless run."""

    assistant_id: str
    thread_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    checkpoint_id: str | None = None
    multitask_strategy: MultitaskStrategy = "enqueue"
    if_not_exists: Literal["create", "reject"] = "reject"
    on_completion: Literal["delete", "keep", "keep_if_asked"] = "delete"
    """What becomes of a stateless run's thread. `keep_if_asked` keeps it only if the run ends with a question."""
    on_disconnect: Literal["cancel", "continue"] = "continue"
    after_seconds: float = 0
    counts_for: str | None = None
    """See `RunRequest.counts_for`."""
    rewinds: bool = False
    """Whether the input is an order to take turns back (`rewinding`). Never taken from a caller."""
    cron_id: str | None = None
    """The cron that starts the run. Never taken from a caller."""


@dataclass(frozen=True)
class Place:
    """What gates have fixed in a run's configuration, and whose share of the server the run uses."""

    pinned: Mapping[str, Any] = field(default_factory=dict)
    tenant: str | None = None
    """Whose share the run uses; None for its owner's."""
    max_runs: int | None = None


def make_admission(
    order: RunOrder,
    assistant: Assistant,
    *,
    run_id: str,
    thread_id: str,
    owner: str,
    now: datetime,
    max_active: int | None = None,
    refuse_bare: bool = False,
    place: Place | None = None,
) -> Admission:
    """The run that an order asks for. `refuse_bare`: answers must name their interrupt."""
    place = place or Place()
    if order.rewinds:
        place = replace(place, pinned={**place.pinned, REWINDS: True})
    if order.cron_id is not None:
        place = replace(place, pinned={**place.pinned, "cron_id": order.cron_id})
    stateless = order.thread_id is None
    command = dict(order.command or {})
    answers = _answers(command.pop("resume", None), refuse_bare=refuse_bare)
    names = {"graph_id": assistant.graph_id, "assistant_id": assistant.assistant_id}
    run = Run(
        run_id=run_id,
        thread_id=thread_id,
        owner=owner,
        request=_pinned(_request(order, assistant, command, _checkpoint(order, answers), stateless=stateless), place),
        status="pending",
        created_at=now,
        updated_at=now,
        metadata={**order.metadata, **names},
        multitask_strategy=order.multitask_strategy,
        due_at=now + timedelta(seconds=order.after_seconds) if order.after_seconds else None,
    )
    if stateless and answers is not None:
        raise InvalidRequestError("A stateless run has no question to answer. Resume on the thread that asked.")
    return Admission(
        run,
        answers,
        create_thread=stateless or order.if_not_exists == "create",
        thread_metadata=names,
        title=title_of(order.input),
        max_active=max_active,
        steering=_steering(order, answers) if order.multitask_strategy == STEER else (),
        temporary_thread=stateless and order.on_completion != "keep",
        given=frozenset((*(order.context or order.config.get("configurable") or ()), *place.pinned)),
        tenant=place.tenant or f"owner:{owner}",
        max_of_tenant=place.max_runs,
    )


def _steering(order: RunOrder, answers: object) -> tuple[SteeringMessage, ...]:
    """The messages of an order that may enter the run under way."""
    given = order.input
    messages = given.get("messages") if isinstance(given, Mapping) and len(given) == 1 else None
    entries = [messages] if isinstance(messages, str | Mapping) else messages
    if answers is not None or order.command or not isinstance(entries, list) or not entries:
        raise InvalidRequestError(
            'multitask_strategy "steer" sends messages of the user to the run under way. Send {"messages": [...]} as the input, '
            "without a command, or choose another strategy."
        )
    return tuple(_steering_message(entry) for entry in entries)


def _steering_message(entry: object) -> SteeringMessage:
    fields: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {"content": entry}
    if (fields.get("type") or fields.get("role") or "human") not in ("human", "user"):
        raise InvalidRequestError('Only messages of the user can steer a run: leave "type" and "role" out, or send "human".')
    if more := [name for name in ("name", "additional_kwargs", "response_metadata") if fields.get(name)]:
        raise InvalidRequestError(f"A message that steers a run has an id and content: leave {' and '.join(more)} out.")
    return SteeringMessage(check_message_id(str(fields.get("id") or uuid4())), check_content(fields.get("content")))


def _pinned(request: RunRequest, place: Place) -> RunRequest:
    """The request with the values that gates have fixed, which override the caller's."""
    if not place.pinned:
        return request
    configurable = {**(request.config.get("configurable") or {}), **place.pinned}
    return replace(request, config={**request.config, "configurable": configurable})


def check_answers(
    answers: Mapping[str, Any] | BareAnswer, asked: Sequence[PendingInterrupt], shapes: AnswerShapes
) -> dict[str, AnswerShapeError | None]:
    """Open interrupt -> what is wrong with its answer. A bare answer is checked if only one interrupt is open."""
    if isinstance(answers, BareAnswer):
        answers = {pending.interrupt_id: answers.answer for pending in asked} if len(asked) == 1 else {}
    faults: dict[str, AnswerShapeError | None] = {}
    for pending in asked:
        if (name := pending.interrupt_id) not in answers:
            continue
        faults[name] = None
        try:
            shapes.require(name, pending.value, answers[name], pending.response_schema)
        except AnswerShapeError as error:
            faults[name] = error
    return faults


def _checkpoint(order: RunOrder, answers: object) -> Mapping[str, Any] | None:
    """The checkpoint in an order. A checkpoint in `config` does not determine where the run begins, but if it comes with an answer, it
    shows which interrupt the sender has seen."""
    named = order.checkpoint_id
    if answers is not None and not named:
        named = (order.config.get("configurable") or {}).get("checkpoint_id")
    return order.checkpoint or ({"checkpoint_id": named} if named else None)


def _request(
    order: RunOrder, assistant: Assistant, command: Mapping[str, Any], checkpoint: Mapping[str, Any] | None, *, stateless: bool
) -> RunRequest:
    context = _context(order, assistant)
    changed: dict[str, Any] = {
        # With a checkpoint, an empty input means: run from there again.
        "input": None if checkpoint and not order.input else order.input,
        "command": {key: value for key, value in command.items() if value is not None} or None,
        "config": _merge_config(assistant.config, order.config, context or {}),
        "context": context,
        "checkpoint": checkpoint,
        "stream_modes": tuple(dict.fromkeys(order.stream_modes)),
    }
    return RunRequest(
        assistant.assistant_id,
        assistant.graph_id,
        delete_thread_after=stateless and order.on_completion != "keep",
        keep_if_asked=stateless and order.on_completion == "keep_if_asked",
        cancel_on_disconnect=order.on_disconnect == "cancel",
        counts_for=order.counts_for,
        **{**order.shared(), **changed},
    )


def _answers(resume: Any, *, refuse_bare: bool) -> Mapping[str, Any] | BareAnswer | None:
    """The answers in a resume. A map of interrupt ids is recognised as in LangGraph: it is an object whose keys all look like interrupt
    ids."""
    if resume is None:
        return None
    if isinstance(resume, Mapping) and resume and all(_INTERRUPT_ID.fullmatch(str(key)) for key in resume):
        return resume
    return BareAnswer(resume, refused=refuse_bare)


def _context(order: RunOrder, assistant: Assistant) -> dict[str, Any] | None:
    """`context` and `config.configurable` are two names for one thing (the second is older): a graph finds it under both."""
    configurable = order.config.get("configurable")
    if order.context and configurable:
        raise InvalidRequestError("Both context and config.configurable are given, and they mean the same. Send one of them.")
    given = {**assistant.context, **(order.context or configurable or {})}
    return {key: value for key, value in given.items() if not key.startswith(("__", USER_PREFIX))} or None


def _merge_config(ours: Mapping[str, Any], theirs: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    configurable = {
        key: value
        for key, value in {**ours.get("configurable", {}), **context}.items()
        if not key.startswith(("__", USER_PREFIX)) and key not in _OURS
    }
    merged: dict[str, Any] = {name: theirs.get(name, ours.get(name)) for name in _TAKEN_OVER}
    merged["tags"] = [*ours.get("tags", ()), *theirs.get("tags", ())]
    merged["metadata"] = {**ours.get("metadata", {}), **theirs.get("metadata", {})}
    merged["configurable"] = configurable
    return {name: value for name, value in merged.items() if value not in (None, [], {})}
