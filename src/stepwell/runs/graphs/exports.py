"""How an export becomes a graph. Accepts exactly what LangGraph's own server accepts.

```
a compiled graph, an @entrypoint function        used unchanged                        kept
a StateGraph                                     compiled                              kept
a function without arguments                     called, and awaited if necessary      kept
a function of (config), (runtime) or both        called                                for each use
a function that returns a context manager        entered, left after the use           for each use
```

Functions that are not `async` may block, so they are called in a thread; coroutines and async context managers run on the loop that uses
the graph, so that whatever they open belongs to that loop. `runtime` is `langgraph_sdk.runtime.ServerRuntime`; its two variants are private
there, and only this module creates them (a test checks that their fields are unchanged).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_origin, get_type_hints

from langchain_core.runnables import RunnableConfig
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore
from langgraph_sdk.runtime import AccessContext, ServerRuntime, _ExecutionRuntime, _ReadRuntime, _ServerRuntimeBase

from stepwell.errors import GraphBuildError
from stepwell.in_thread import in_thread
from stepwell.runs.graphs.sources import describe_error
from stepwell.runs.run_config import RunUser

Purpose = Literal["run", "read", "update", "schema"]
AnyGraph = Pregel[Any, Any, Any, Any]

_ACCESS: dict[Purpose, AccessContext] = {
    "run": "threads.create_run",
    "read": "threads.read",
    "update": "threads.update",
    "schema": "assistants.read",
}


@dataclass(frozen=True)
class Use:
    """What a graph is needed for; a factory may ask about it."""

    purpose: Purpose
    config: RunnableConfig
    store: BaseStore | None = None
    context: Any = None
    owner: str | None = None
    """The user for whom the graph is needed; a run's config names them too."""


@dataclass(frozen=True)
class Factory:
    """A function that makes a graph, and what its parameters expect."""

    function: Callable[..., Any]
    subject: str
    """The words with which a sentence about the factory begins."""
    wants: dict[str, Literal["config", "runtime"]]
    """Parameter -> what it gets. If there are none, the same graph serves every use, unless the function returns a context manager."""

    def call(self, use: Use) -> Any:
        given = {name: use.config if want == "config" else _runtime(use) for name, want in self.wants.items()}
        return self.function(**given)


def understand(export: object, subject: str) -> AnyGraph | StateGraph[Any, Any, Any, Any] | Factory:
    """Classifies an export. If the export is refused, the error message begins with `subject`."""
    if isinstance(export, Pregel | StateGraph):
        return export
    # A class and a Runnable can be called too, but calling them does not return a graph.
    if not inspect.isclass(export) and not hasattr(export, "invoke") and callable(export):
        return Factory(export, subject, _read_parameters(export, subject))
    raise GraphBuildError(
        f"{subject} is not a graph but of type {_kind(export)}. Export a compiled graph, a StateGraph, or a function that makes one."
    )


async def enter(factory: Factory, use: Use, stack: AsyncExitStack) -> tuple[AnyGraph, bool]:
    """The factory's graph, and whether a context manager was entered for it, which `stack` will leave."""
    with _blaming(factory.subject):
        if inspect.iscoroutinefunction(factory.function):
            made = await factory.call(use)
        else:
            made = await in_thread(factory.call, use)
            if inspect.isawaitable(made):
                made = await made
        entered = True
        if isinstance(made, AbstractAsyncContextManager):
            made = await stack.enter_async_context(made)
        elif isinstance(made, AbstractContextManager):
            made = await stack.enter_async_context(_InThread(made))
        else:
            entered = False
    if not isinstance(made, Pregel | StateGraph):
        raise GraphBuildError(
            f"{factory.subject} did not make a graph but something of type {_kind(made)}. Return a compiled graph or a StateGraph."
        )
    return await compile_graph(made, factory.subject), entered


async def compile_graph(made: AnyGraph | StateGraph[Any, Any, Any, Any], subject: str) -> AnyGraph:
    """Returns a graph unchanged, and compiles a StateGraph."""
    if isinstance(made, Pregel):
        return made
    with _blaming(subject):
        return await in_thread(made.compile)


@contextmanager
def _blaming(subject: str) -> Iterator[None]:
    """Turn whatever user code raises while a graph is made, even `SystemExit`, into a sentence about that graph."""
    try:
        yield
    except (Exception, SystemExit) as error:
        failed = f"{subject} could not be built"
        raise GraphBuildError(f"{failed}: {describe_error(error, failed)}") from error


def _kind(thing: object) -> str:
    return f"'{type(thing).__name__}'"


class _InThread:
    """Runs a context manager's entry and exit in a thread, because they may block."""

    def __init__(self, inner: AbstractContextManager[Any]) -> None:
        self._inner = inner

    async def __aenter__(self) -> Any:
        return await in_thread(self._inner.__enter__)

    async def __aexit__(self, *error: Any) -> bool | None:
        return await in_thread(self._inner.__exit__, *error)


def _runtime(use: Use) -> Any:
    # A run's config contains its user (`run_config`); other uses have no such config.
    user = (use.config.get("configurable") or {}).get("langgraph_auth_user") or (RunUser(use.owner) if use.owner else None)
    known: dict[str, Any] = {"access_context": _ACCESS[use.purpose], "user": user, "store": use.store}
    return _ExecutionRuntime(**known, context=use.context) if use.purpose == "run" else _ReadRuntime(**known)


def _read_parameters(function: Callable[..., Any], subject: str) -> dict[str, Literal["config", "runtime"]]:
    """Which parameters expect the config and which the runtime. The annotation decides, otherwise the name; a single one that neither
    explains gets the config, as LangGraph's own server does it (`config: dict[str, Any]`)."""
    parameters = inspect.signature(function).parameters.values()
    needed = [one for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    hints = _hints(function)
    read = {one.name: _read_want(one, hints.get(one.name, one.annotation)) for one in needed}
    unexplained = [one.name for one in needed if read[one.name] is None and one.default is one.empty]
    if len(unexplained) == 1 and "config" not in read.values():
        read[unexplained[0]] = "config"
    wants: dict[str, Literal["config", "runtime"]] = {}
    for one in needed:
        want = read[one.name]
        if (want is None and one.default is one.empty) or (want and one.kind is one.POSITIONAL_ONLY):
            raise GraphBuildError(
                f"{subject} is a function with the parameter '{one.name}', which the server cannot fill in. It may take "
                "`config: RunnableConfig` and `runtime: ServerRuntime`; give others a default."
            )
        if want:
            wants[one.name] = want
    return wants


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(inspect.unwrap(function))
    except (NameError, TypeError, AttributeError):
        return {}  # an annotation exists only for type checkers: the annotations' text is used instead


def _read_want(parameter: inspect.Parameter, hint: Any) -> Literal["config", "runtime"] | None:
    if hint is RunnableConfig or (isinstance(hint, str) and "RunnableConfig" in hint):
        return "config"
    origin = get_origin(hint) or hint
    is_runtime = origin is ServerRuntime or (inspect.isclass(origin) and issubclass(origin, _ServerRuntimeBase))
    if is_runtime or (isinstance(hint, str) and "ServerRuntime" in hint):
        return "runtime"
    if hint is parameter.empty and parameter.name in ("config", "runtime"):
        return "config" if parameter.name == "config" else "runtime"
    return None
