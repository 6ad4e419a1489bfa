"""What the moments of a `HooksMiddleware` have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import add
from typing import Annotated, Any, NotRequired, TypedDict, TypeVar

from langchain.agents.middleware.types import AgentState, PrivateStateAttr
from langchain_core.messages import BaseMessage
from langgraph.config import get_config

from stepwell.middleware.moments.asking import Hook
from stepwell.middleware.request import RequestMiddleware

M = TypeVar("M", bound=BaseMessage)

WITHHELD = "stepwell_withheld"
"""Marks a message whose text a check has taken away, in `additional_kwargs`."""

_OWN = "stepwell_"
_KEPT = frozenset({"model", "model_name", "model_provider", "finish_reason", "stop_reason", "service_tier"})
"""What stays of a withheld answer's metadata: which model was paid for it, and how it ended."""


class StopNote(TypedDict):
    """What an agent was told when `on_stop` sent it back to work."""

    after: str
    """The id of the message with which it wanted to finish."""
    turn: str
    text: str


class HooksState(AgentState[Any]):
    """What hooks store beside the messages. One schema for all moments, because a middleware has only one."""

    stop_notes: NotRequired[Annotated[list[StopNote], PrivateStateAttr, add]]
    checked_input: NotRequired[Annotated[dict[str, dict[str, str]], PrivateStateAttr]]
    """By a middleware's name: the messages of the user that it has checked, each with a fingerprint of its content."""


class HookedMiddleware(RequestMiddleware):
    """A middleware with functions at some moments."""

    hooks: Mapping[str, Sequence[Hook]]
    hold_back: bool
    max_returns: int


def place_of(state: Any, runtime: Any) -> dict[str, Any]:
    """What every event says: which agent it belongs to, its state and its runtime."""
    metadata = get_config().get("metadata") or {}
    agent = metadata.get("lc_agent_name") or "main"
    return {"agent": agent, "is_subagent": bool(metadata.get("subagent")), "state": state, "runtime": runtime}


def withheld(message: M, text: str) -> M:
    """The message with another text, marked as withheld. Nothing else that was said stays, such as reasoning beside the text."""
    marks = {key: value for key, value in message.additional_kwargs.items() if key.startswith(_OWN)}
    metadata = {key: value for key, value in message.response_metadata.items() if key in _KEPT or key.startswith(_OWN)}
    changes = {"content": text, "additional_kwargs": {**marks, WITHHELD: True}, "response_metadata": metadata}
    return message.model_copy(update=changes)


def no_handler(step: Any) -> Any:
    raise AssertionError(f"A course without a handler yielded {step!r}.")
