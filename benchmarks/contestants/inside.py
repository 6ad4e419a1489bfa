"""Runs a piece of code inside a tool call of a running graph, for backends that find the graph's state by themselves."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from langchain_core.tools import StructuredTool

from benchmarks.contestants.verbs import Verbs
from benchmarks.model import TurnsModel


@contextmanager
def inside_graph(build: Callable[[Any, list[Any]], Any], files: dict[str, Any], verbs: Verbs) -> Iterator[Verbs]:
    """`verbs` as seen from outside, each call executed inside one long tool call of an agent whose state holds `files`.

    The caller measures the time of a call; it includes the hand-over between two threads, some tens of microseconds of CPU.
    """
    asked: queue.Queue[tuple[Callable[[str], int], str] | None] = queue.Queue()
    answered: queue.Queue[int | BaseException] = queue.Queue()

    def probe() -> str:
        """Answer questions until there are no more."""
        while (question := asked.get()) is not None:
            verb, argument = question
            try:
                answered.put(verb(argument))
            except Exception as failure:  # handed to the asking thread, which raises it
                answered.put(failure)
        return "done"

    def ask(verb: Callable[[str], int], argument: str) -> int:
        asked.put((verb, argument))
        answer = answered.get(timeout=120)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    model = TurnsModel(turns=[[("probe", {})]])
    agent = build(model, [StructuredTool.from_function(probe, name="probe", description="Probe.")])
    thread = threading.Thread(target=agent.invoke, args=({"messages": [("user", "go")], "files": files},))
    thread.start()
    try:
        yield Verbs(
            grep=lambda text: ask(verbs.grep, text),
            glob=lambda pattern: ask(verbs.glob, pattern),
            ls=lambda folder: ask(verbs.ls, folder),
        )
    finally:
        asked.put(None)
        thread.join(timeout=60)
