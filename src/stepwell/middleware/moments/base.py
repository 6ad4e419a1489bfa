"""What the moments of a `HooksMiddleware` have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage
from langgraph.config import get_config

from stepwell.middleware.moments.asking import Hook
from stepwell.middleware.request import RequestMiddleware

M = TypeVar("M", bound=BaseMessage)

WITHHELD = "stepwell_withheld"
"""Marks a message whose text a check has taken away, in `additional_kwargs`."""


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
    """The message with another text, marked as withheld."""
    marks = {**message.additional_kwargs, WITHHELD: True}
    return message.model_copy(update={"content": text, "additional_kwargs": marks})


def no_handler(step: Any) -> Any:
    raise AssertionError(f"A course without a handler yielded {step!r}.")
