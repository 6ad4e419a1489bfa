"""A thread's messages, turns, steps, open interrupts and cost as JSON, page by page."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from pydantic import Field

from stepwell.answers.client_tools import CLIENT_TOOL_EXECUTION
from stepwell.database.records.types import ThreadUsage, Turn, Waiting
from stepwell.database.types import KeptStep, RunStatus, StepKind, StepStatus
from stepwell.server.schemas.fields import JsonObject, WireModel

TOOL_APPROVAL = "tool_approval"
_SHORTENED_DEPTH = 20
"""Texts that are nested deeper are left whole."""
UNKNOWN = "unknown"
_LONGEST_DEADLINE_S = 10 * 365 * 86_400
"""A longer deadline counts as none: its date could not be represented."""


class MessagesResponse(WireModel):
    messages: list[JsonObject] = Field(description="LangChain's messages, newest first")
    total: int
    next: str | None = Field(description="Send it as `before` to get older messages; null: there are none")
    checkpoint_id: str | None = Field(
        description="The checkpoint that was read; send it with the next request, so that pages fit together"
    )


class TurnResponse(WireModel):
    """A run with an input, and the runs that resumed it after an answer. Turns with the same `previous` are versions of one message."""

    turn_id: str
    previous: str | None
    run_ids: list[str]
    status: RunStatus
    created_at: datetime
    checkpoint_id: str | None = Field(description="The checkpoint that received the input")
    last_checkpoint_id: str | None = Field(description="The checkpoint at which the turn ended")
    fork_from: str | None = Field(
        description="The checkpoint from which to start another version of the turn; null: it was pruned"
    )
    message_ids: list[str] = Field(description="Ids of the input's messages, if it had any")


class TurnsResponse(WireModel):
    turns: list[TurnResponse] = Field(description="Newest first")
    next: str | None = Field(description="Send it as `before` to get older turns; null: there are none")
    head: str | None = Field(description="The newest turn of the thread's current branch")


class StepResponse(WireModel):
    """A node, model call, tool call or subagent that ran and has ended."""

    number: int
    run_id: str
    kind: StepKind
    name: str = Field(description="Name of the node, model, tool or subagent")
    node: str | None = Field(description="The node of the graph in which it ran")
    agent: str | None = Field(description="The subagent in which it ran; null: the agent itself")
    namespace: list[str]
    call_id: str | None = Field(description="Id of the call of a tool or subagent")
    started_at: datetime
    duration_ms: float
    status: StepStatus
    error: str | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None = Field(description="Cost of a model call; null: the price is unknown")


class StepsResponse(WireModel):
    steps: list[StepResponse] = Field(description="In the order they ended")
    next: int | None = Field(description="Send it as `after` to get more; null: there are no more yet")


class InterruptClaimHolder(WireModel):
    device_id: str
    expires_at: datetime


class WaitingResponse(WireModel):
    """An open interrupt. Answer it with `command: {resume: {interrupt_id: answer}}`."""

    interrupt_id: str
    thread_id: str
    thread_title: str | None = Field(description="`title` of the thread's metadata")
    run_id: str
    assistant_id: str
    type: str = Field(description="`type` of the payload; tool_approval for LangChain's action requests; otherwise unknown")
    asker: str | None = Field(description="The subagent that asks; null: the agent itself")
    namespace: list[str]
    payload: Any
    response_schema: JsonObject | None
    created_at: datetime | None
    deadline_at: datetime | None = Field(description="When the device counts as late; it can still answer after that")
    claim: InterruptClaimHolder | None = Field(description="The device that has claimed it; null: none")


class WaitingPage(WireModel):
    interrupts: list[WaitingResponse] = Field(description="Oldest first")
    next: str | None = Field(description="Send it as `after` to get more; null: there are no more")
    total: int


class ContextResponse(WireModel):
    tokens: int
    window: int | None = Field(description="The model's context limit in tokens; null: unknown")
    model: str


class ThreadUsageResponse(WireModel):
    """Model usage of all runs of a thread, including the active one."""

    context: ContextResponse | None = Field(description="Of the last model call of the agent itself, not of a subagent")
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    unpriced_runs: int


def turn_wire(turn: Turn) -> dict[str, Any]:
    return {
        "turn_id": turn.turn_id,
        "previous": turn.previous,
        "run_ids": turn.run_ids,
        "status": turn.status,
        "created_at": turn.created_at,
        "checkpoint_id": turn.checkpoint_id,
        "last_checkpoint_id": turn.last_checkpoint_id,
        "fork_from": turn.fork_from,
        "message_ids": _message_ids(turn.input),
    }


def step_wire(kept: KeptStep) -> dict[str, Any]:
    step = kept.step
    return {
        "number": kept.number,
        "run_id": kept.run_id,
        "kind": step.kind,
        "name": step.name,
        "node": step.node,
        "agent": step.agent,
        "namespace": _parts(step.namespace),
        "call_id": step.call_id,
        "started_at": step.started_at,
        "duration_ms": round(step.seconds * 1000, 3),
        "status": step.status,
        "error": step.error,
        "input_tokens": step.input_tokens,
        "output_tokens": step.output_tokens,
        "cost_usd": step.cost_usd,
    }


def waiting_wire(waiting: Waiting, longest_text: int | None = None) -> dict[str, Any]:
    """`longest_text` cuts longer texts in the payload, unless the payload is a request to a device."""
    question, title, claim = waiting.question, waiting.thread_metadata.get("title"), waiting.claim
    kind = kind_of(question.value)
    return {
        "interrupt_id": question.interrupt_id,
        "thread_id": waiting.thread_id,
        "thread_title": title if isinstance(title, str) else None,
        "run_id": waiting.run_id,
        "assistant_id": waiting.assistant_id,
        "type": kind,
        "asker": question.asker,
        "namespace": _parts(question.namespace),
        "payload": question.value
        if longest_text is None or kind == CLIENT_TOOL_EXECUTION
        else _shorten(question.value, longest_text),
        "response_schema": question.response_schema,
        "created_at": waiting.created_at,
        "deadline_at": _deadline_of(waiting),
        "claim": claim and {"device_id": claim.device_id, "expires_at": claim.expires_at},
    }


def _shorten(value: Any, longest: int, depth: int = 0) -> Any:
    if isinstance(value, str):
        return value if len(value) <= longest else f"{value[: longest - 1]}…"
    if depth == _SHORTENED_DEPTH:
        return value
    if isinstance(value, Mapping):
        return {key: _shorten(each, longest, depth + 1) for key, each in value.items()}
    return [_shorten(each, longest, depth + 1) for each in value] if isinstance(value, list | tuple) else value


def usage_wire(used: ThreadUsage, window: int | None) -> dict[str, Any]:
    context = (
        None if used.context_tokens is None else {"tokens": used.context_tokens, "window": window, "model": used.context_model}
    )
    return {
        "context": context,
        "calls": used.calls,
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "cost_usd": used.cost_usd,
        "unpriced_runs": used.unpriced_runs,
    }


def kind_of(payload: Any) -> str:
    """The kind of interrupt, as its payload describes it."""
    if isinstance(payload, Mapping):
        if isinstance(payload.get("type"), str):
            return str(payload["type"])
        if isinstance(payload.get("action_requests"), list):
            return TOOL_APPROVAL
    return UNKNOWN


def _deadline_of(waiting: Waiting) -> datetime | None:
    """The time after which clients report the device as late."""
    payload = waiting.question.value
    seconds = payload.get("deadline_s") if isinstance(payload, Mapping) else None
    if waiting.created_at is None or not isinstance(seconds, int | float) or not 0 < seconds <= _LONGEST_DEADLINE_S:
        return None
    return waiting.created_at + timedelta(seconds=seconds)


def _parts(namespace: str) -> list[str]:
    return namespace.split("|") if namespace else []


def _message_ids(given: Any) -> list[str]:
    messages = given.get("messages") if isinstance(given, Mapping) else None
    listed = messages if isinstance(messages, list) else [messages]
    return [str(each["id"]) for each in listed if isinstance(each, Mapping) and each.get("id")]
