"""What an evaluation task is: a request, what the agent finds, and a check in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evals.outcome import Outcome

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True)
class Ceiling:
    """The budget of one trial."""

    model_calls: int = 30
    tokens: int = 300_000
    seconds: float = 300.0


@dataclass(frozen=True)
class Task:
    """One task. It holds no state: trials share it."""

    name: str
    about: str
    """What passing means, in a few words for the table."""
    request: str
    check: Callable[[Outcome], Iterator[str]]
    """The faults of an outcome; none is a pass."""
    files: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[Callable[..., Any], ...] = ()
    ceiling: Ceiling = Ceiling()
    agent: Callable[[BaseChatModel, Any], Any] | None = None
    """Another agent than the usual one, from a model and the budget that must stand outermost. A trial ends where it waits for somebody."""
