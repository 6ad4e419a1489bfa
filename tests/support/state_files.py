"""Files in agent state, without an agent: verbs of a `StateBackend` run inside the smallest graph, and their changes are kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph

from stepwell.backends.changes import Files, reduce_files
from stepwell.backends.protocol import BackendProtocol

_JOB = "job"


def _merge(state: Files | None, update: Any) -> Files:
    return reduce_files(state, [update])


class _State(TypedDict):
    files: Annotated[dict[str, Any], _merge]


class StateFiles:
    """Holds files between calls as a thread would. `run` and `arun` fit the hooks of `BackendCase`."""

    def __init__(self) -> None:
        self.files: Files = {}
        self._guard = threading.Lock()

    def run(self, backend: BackendProtocol, verb: str, *args: Any, **kwargs: Any) -> Any:
        """Call a verb from a step of a graph that holds the files, then apply what it changed."""
        job = _Job(lambda: getattr(backend, verb)(*args, **kwargs))
        _sync_graph().invoke({"files": self.files}, job.config())
        return self._apply(job.answer)

    async def arun(self, backend: BackendProtocol, verb: str, *args: Any, **kwargs: Any) -> Any:
        """The same in async code; the verb is named without its `a`."""
        job = _Job(lambda: getattr(backend, f"a{verb}")(*args, **kwargs))
        await _async_graph().ainvoke({"files": self.files}, job.config())
        return self._apply(job.answer)

    def _apply(self, answer: Any) -> Any:
        update = getattr(answer, "files_update", None)
        if update:
            with self._guard:
                self.files = reduce_files(self.files, [update])
        return answer


class _Job:
    """What the graph's step is to do, and what came of it."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call = call
        self.answer: Any = None

    def config(self) -> RunnableConfig:
        return {"configurable": {_JOB: self}}


def _step(_: _State, config: RunnableConfig) -> dict[str, Any]:
    job = config["configurable"][_JOB]
    job.answer = job.call()
    return {}


async def _astep(_: _State, config: RunnableConfig) -> dict[str, Any]:
    job = config["configurable"][_JOB]
    job.answer = await job.call()
    return {}


@cache
def _sync_graph() -> Any:
    return _graph(_step)


@cache
def _async_graph() -> Any:
    return _graph(_astep)


def _graph(step: Any) -> Any:
    builder = StateGraph(_State)
    builder.add_node("step", step)
    builder.add_edge(START, "step")
    builder.add_edge("step", END)
    return builder.compile()
