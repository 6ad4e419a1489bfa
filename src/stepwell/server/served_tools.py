"""Tools that products offer to other programs over MCP, beside the assistants."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepwell.server.login.principal import Principal
    from stepwell.server.parts import Services


@dataclass(frozen=True)
class ServedTool:
    """One tool. It only reads: a caller may use it as often as they like."""

    name: str
    title: str
    description: str
    """For the model that chooses a tool: when to use it."""
    input_schema: Mapping[str, Any]
    action: str
    """What the caller must be allowed to do (`policy`)."""
    call: Callable[[Services, Principal, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
    """Takes the arguments and returns an object. A `StepwellError` is told to the caller's model as a failed call."""
