"""Files in agent state, without an agent: verbs of a `StateBackend` run inside the smallest graph, and their changes are kept."""

from __future__ import annotations

import threading
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph

from stepwell.backends.changes import Files, reduce_files
from stepwell.backends.protocol import BackendProtocol


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
        answers: list[Any] = []

        def step(_: Any) -> dict[str, Any]:
            answers.append(getattr(backend, verb)(*args, **kwargs))
            return {}

        _graph(step).invoke({"files": self.files})
        return self._applied(answers[0])

    async def arun(self, backend: BackendProtocol, verb: str, *args: Any, **kwargs: Any) -> Any:
        """The same in async code."""
        answers: list[Any] = []

        async def step(_: Any) -> dict[str, Any]:
            answers.append(await getattr(backend, f"a{verb}")(*args, **kwargs))
            return {}

        await _graph(step).ainvoke({"files": self.files})
        return self._applied(answers[0])

    def _applied(self, answer: Any) -> Any:
        update = getattr(answer, "files_update", None)
        if update:
            with self._guard:
                self.files = reduce_files(self.files, [update])
        return answer


def _graph(step: Any) -> Any:
    builder = StateGraph(_State)
    builder.add_node("step", step)
    builder.add_edge(START, "step")
    builder.add_edge("step", END)
    return builder.compile()
