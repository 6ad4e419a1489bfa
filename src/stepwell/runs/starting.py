"""From what a caller sends to a run that can be admitted: pure functions, no database.

Rules: internals of LangGraph and of ours (`__*`) and everything that says which thread or checkpoint is written are taken from us,
never from the caller's `configurable`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from stepwell.errors import InvalidRequestError
from stepwell.runs.queue import Admission, Bare
from stepwell.runs.records import Assistant, Durability, MultitaskStrategy, Run, RunRequest

_OURS = frozenset({"thread_id", "run_id", "assistant_id", "graph_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map"})
_INTERRUPT_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class RunOrder:
    """A request for a run, field by field as LangGraph's clients send it. `thread_id=None` asks for a stateless run."""

    assistant_id: str
    thread_id: str | None = None
    input: Any = None
    command: Mapping[str, Any] | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: Mapping[str, Any] | None = None
    checkpoint_id: str | None = None
    stream_modes: Sequence[str] = ("values",)
    stream_subgraphs: bool = False
    interrupt_before: Sequence[str] | Literal["*"] = ()
    interrupt_after: Sequence[str] | Literal["*"] = ()
    durability: Durability = "sync"
    multitask_strategy: MultitaskStrategy = "enqueue"
    if_not_exists: Literal["create", "reject"] = "reject"
    on_completion: Literal["delete", "keep"] = "delete"
    on_disconnect: Literal["cancel", "continue"] = "continue"
    after_seconds: float = 0
    webhook: str | None = None


def make_admission(
    order: RunOrder,
    assistant: Assistant,
    *,
    run_id: str,
    thread_id: str,
    owner: str,
    now: datetime,
    max_active: int | None = None,
) -> Admission:
    """The run that an order means for an assistant."""
    stateless = order.thread_id is None
    command = dict(order.command or {})
    answers = _answers(command.pop("resume", None))
    names = {"graph_id": assistant.graph_id, "assistant_id": assistant.assistant_id}
    run = Run(
        run_id=run_id,
        thread_id=thread_id,
        owner=owner,
        request=_request(order, assistant, command, stateless=stateless),
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
        max_active=max_active,
        temporary_thread=stateless and order.on_completion == "delete",
    )


def _request(order: RunOrder, assistant: Assistant, command: Mapping[str, Any], *, stateless: bool) -> RunRequest:
    config = _merge_config(assistant.config, order.config)
    context = {**assistant.context, **(order.context or {})} if assistant.context or order.context is not None else None
    if order.context and order.config.get("configurable"):
        raise InvalidRequestError("Both context and config.configurable are given, and they mean the same. Send one of them.")
    checkpoint = order.checkpoint or ({"checkpoint_id": order.checkpoint_id} if order.checkpoint_id else None)
    return RunRequest(
        assistant_id=assistant.assistant_id,
        graph_id=assistant.graph_id,
        # With a checkpoint, nothing new means: from there once more.
        input=None if checkpoint and not order.input else order.input,
        command={key: value for key, value in command.items() if value is not None} or None,
        config=config,
        context=context,
        checkpoint=checkpoint,
        stream_modes=tuple(dict.fromkeys(order.stream_modes)),
        stream_subgraphs=order.stream_subgraphs,
        interrupt_before="*" if order.interrupt_before == "*" else tuple(order.interrupt_before),
        interrupt_after="*" if order.interrupt_after == "*" else tuple(order.interrupt_after),
        durability=order.durability,
        webhook=order.webhook,
        delete_thread_after=stateless and order.on_completion == "delete",
        cancel_on_disconnect=order.on_disconnect == "cancel",
    )


def _answers(resume: Any) -> Mapping[str, Any] | Bare | None:
    """A map of interrupt ids is what LangGraph takes for one: an object whose keys all look like its ids."""
    if resume is None:
        return None
    if isinstance(resume, Mapping) and resume and all(_INTERRUPT_ID.fullmatch(str(key)) for key in resume):
        return resume
    return Bare(resume)


def _merge_config(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    configurable = {
        key: value
        for key, value in {**ours.get("configurable", {}), **theirs.get("configurable", {})}.items()
        if not key.startswith("__") and key not in _OURS
    }
    merged: dict[str, Any] = {"configurable": configurable} if configurable else {}
    if tags := [*ours.get("tags", ()), *theirs.get("tags", ())]:
        merged["tags"] = tags
    limit = theirs.get("recursion_limit", ours.get("recursion_limit"))
    if limit is not None:
        merged["recursion_limit"] = limit
    return merged
