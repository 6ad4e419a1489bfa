"""Work within a step of a graph whose result is stored as soon as it is there. LangGraph calls that a task: if the step is executed again,
after a crash or a pause, the stored result is used. Without a checkpointer, or outside of a graph, the work is simply done.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from langgraph._internal._constants import CONF, CONFIG_KEY_CALL
from langgraph.config import get_config
from langgraph.func import task

UPDATE = "grading"
"""In the stream mode `updates`, a task looks like a node; its result is under this name, so that it is not taken for state."""

Result = TypeVar("Result")


def keep(name: str, work: Callable[[], Result]) -> Result:
    """Do the work, or give its stored result. Calls of one step must come in the same order each time."""
    if not _is_in_graph():
        return work()

    def named() -> dict[str, Result]:
        return {UPDATE: work()}

    return cast("Result", _task(name, named).result()[UPDATE])


async def akeep(name: str, work: Callable[[], Awaitable[Result]]) -> Result:
    """The same from async code."""
    if not _is_in_graph():
        return await work()

    async def named() -> dict[str, Result]:
        return {UPDATE: await work()}

    return cast("Result", (await _task(name, named))[UPDATE])


def _task(name: str, work: Callable[[], Any]) -> Any:
    kept: Callable[[], Any] = task(name=name)(work)  # type: ignore[arg-type]  # its types do not cover functions without arguments
    return kept()


def _is_in_graph() -> bool:
    try:
        return CONFIG_KEY_CALL in get_config()[CONF]
    except (RuntimeError, KeyError):
        return False
