"""Graphs as nobody should write them, and somebody will."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any

from langgraph.config import get_config
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from .graphs import Words, _line, hello


class OddError(BaseException):
    """Not an `Exception`, as some libraries' ways to stop are not."""


class MuteError(Exception):
    """Fails when it is asked for its text."""

    def __str__(self) -> str:
        raise ValueError("no text")


def raising(error: BaseException) -> Any:
    def fail(state: Words) -> Words:
        raise error

    return _line(hello, fail)


def returning(value: Any) -> Any:
    def give(state: Words) -> Words:
        return {"words": [value]}

    return _line(hello, give)


def _endless() -> list[Any]:
    itself: list[Any] = []
    itself.append(itself)
    return itself


raises_base = raising(OddError("odd"))
raises_group = raising(BaseExceptionGroup("several", [OddError("odd")]))
raises_mute = raising(MuteError())
raises_half_a_character = raising(ValueError("half \ud83d of it"))
raises_cancelled = raising(asyncio.CancelledError())
raises_stop = raising(StopIteration())
raises_memory = raising(MemoryError("no more"))
gives_a_lock = returning(threading.Lock())
gives_a_generator = returning(word for word in ("never", "stored"))
gives_itself = returning(_endless())
gives_a_huge_number = returning(2**200)
gives_half_a_character = returning("half \ud83d of it")


async def deaf(state: Words) -> Words:
    """Goes on when it is told to stop; the test's own end is the second time."""
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(3600)
    await asyncio.sleep(3600)
    return {"words": ["never"]}


never_ends = _line(hello, deaf)


def endless(state: Words) -> Words:
    return {"words": []}


def _loop() -> Any:
    builder = StateGraph(Words)
    builder.add_node("endless", endless)
    builder.add_edge(START, "endless")
    builder.add_conditional_edges("endless", lambda state: "endless", ["endless"])
    return builder.compile()


loops = _loop()


async def slow_to_make(config: Any) -> Any:
    """A factory that does not come to an end."""
    await asyncio.sleep(3600)


def broken(config: Any) -> Any:
    if config["configurable"].get("broken"):
        raise ValueError("this graph cannot be made today")
    return _asking_both()


SLOW: set[str] = set()
"""The threads of which a task has been given a slow answer."""


async def _be_slow() -> None:
    SLOW.add(get_config()["configurable"]["thread_id"])
    await asyncio.sleep(3600)


async def ask_a(state: Words) -> Words:
    answer = interrupt("a?")
    if answer == "slow":
        await _be_slow()
    return {"words": [f"a:{answer}"]}


async def ask_b(state: Words) -> Words:
    answer = interrupt("b?")
    if answer == "slow":
        await _be_slow()
    if answer == "fail":
        raise ValueError("b has failed")
    return {"words": [f"b:{answer}", f"b:{interrupt('really?')}"]}


def _asking_both() -> Any:
    builder = StateGraph(Words)
    for node in (ask_a, ask_b):
        builder.add_node(node.__name__, node)
        builder.add_edge(START, node.__name__)
        builder.add_edge(node.__name__, END)
    return builder.compile()


both = _asking_both()
inner = _line(hello, _asking_both(), names=("hello", "inside"))
