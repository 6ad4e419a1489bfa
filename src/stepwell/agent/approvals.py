"""Checks `interrupt_on`, because a tool whose name is misspelt would run without approval, and a misspelt decision could never be given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from langchain.agents.middleware.human_in_the_loop import DecisionType

from stepwell.agent.compile import Middleware, ToolLike, convert_tools, tool_name
from stepwell.errors import ConfigurationError
from stepwell.middleware.subagents.specs import SubAgentSpec
from stepwell.middleware.subagents.task import TOOL_NAME as TASK
from stepwell.middleware.todos import TOOL_NAME as WRITE_TODOS
from stepwell.middleware.tool_search import TOOL_NAME as TOOL_SEARCH
from stepwell.tools.catalog import is_deferred
from stepwell.tools.files.tools import FILE_TOOL_NAMES

BUILT_IN = FILE_TOOL_NAMES | {TASK, WRITE_TODOS}
DECISIONS: tuple[str, ...] = get_args(DecisionType)


def check_approvals(
    interrupt_on: Mapping[str, Any] | None,
    tools: Sequence[ToolLike],
    middleware: Iterable[Middleware],
    specs: Iterable[SubAgentSpec],
) -> None:
    """Reject names of tools that neither the agent nor a subagent has. Subagents without their own `interrupt_on` use the agent's."""
    everywhere = BUILT_IN | _names(tools, middleware)
    for spec in specs:
        own = _names(spec.get("tools", ()), spec.get("middleware", ()))  # type: ignore[arg-type]  # absent in compiled ones
        _refuse_unknown(spec.get("interrupt_on"), own | BUILT_IN | everywhere, f"subagent '{spec['name']}'")
        everywhere |= own
    _refuse_unknown(interrupt_on, everywhere, "the agent")


def _names(tools: Iterable[ToolLike], middleware: Iterable[Middleware]) -> frozenset[str]:
    offered = [*convert_tools(tools), *(tool for entry in middleware for tool in getattr(entry, "tools", ()))]
    searched = {TOOL_SEARCH} if any(map(is_deferred, offered)) else set()
    return frozenset(name for name in map(tool_name, offered) if name) | searched


def _refuse_unknown(interrupt_on: object, known: frozenset[str], owner: str) -> None:
    if not interrupt_on:
        return
    if not isinstance(interrupt_on, Mapping):
        raise ConfigurationError(f"interrupt_on of {owner} must map tool names to True or a configuration.")
    if unknown := sorted(str(name) for name in interrupt_on.keys() - known):
        raise ConfigurationError(
            f"interrupt_on of {owner} names unknown tools: {', '.join(unknown)}. Known tools: {', '.join(sorted(known))}."
        )
    for name, choice in interrupt_on.items():
        if not isinstance(choice, bool):
            _refuse_unclear(name, choice, owner)


def _refuse_unclear(name: str, choice: object, owner: str) -> None:
    decisions = choice.get("allowed_decisions") if isinstance(choice, Mapping) else None
    if not isinstance(decisions, Sequence) or isinstance(decisions, str) or not decisions:
        example = '{"allowed_decisions": ["approve", "reject"]}'
        raise ConfigurationError(f"interrupt_on of {owner} says {choice!r} for '{name}'. Write True, False or {example}.")
    if unknown := [str(decision) for decision in decisions if decision not in DECISIONS]:
        raise ConfigurationError(
            f"interrupt_on of {owner} allows unknown decisions for '{name}': {', '.join(unknown)}. "
            f"Known decisions: {', '.join(DECISIONS)}."
        )
