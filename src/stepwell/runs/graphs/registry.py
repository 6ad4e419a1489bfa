"""The served graphs, by name. A graph is loaded when it is first used (`check` loads all), and kept for the next use unless its factory
must be called for each use. A graph that cannot be built does not affect the others: `problems` says what is wrong with it, and the next
use tries again.

`exports` defines what an export may be, and when its factory is called again. The caller chooses the graph's saver and store on every
use (`binding`). They replace the saver and the store that the graph was compiled with in its own code, because a thread has only one
history, which is ours.

```
name -> GraphSource.load -> understand -> kept graph, or Factory -> enter (for each use) -> bind(saver, store)
         in a thread                                                with a time-out, using(models)
```
A factory's graph is kept per models (`RunModels.key`), so a run never gets a graph that was built with another user's key.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore

from stepwell.errors import GraphBuildError, ModelUnavailableError, NotFoundError, StepwellError
from stepwell.in_thread import in_thread
from stepwell.models.connected import RunModels, using
from stepwell.permission_modes import RUN_MODES
from stepwell.runs.graphs.binding import AllowList, allowed_classes, bind
from stepwell.runs.graphs.exports import AnyGraph, Factory, Purpose, Use, compile_graph, enter, understand
from stepwell.runs.graphs.inputs import input_fields, output_fields
from stepwell.runs.graphs.langgraph_json import LanggraphProject
from stepwell.runs.graphs.sources import GraphSource, GraphSpec
from stepwell.tools.background import split_graph_id
from stepwell.tools.rewind.journal import has_rewind

FindModels = Callable[[str | None, str | None], Awaitable[RunModels | None]]
"""Owner and thread (both may be None) -> the models with which their graphs are built when no run does it: to read a state or a schema."""

_Kept = tuple[AnyGraph, AllowList]
_MAX_KEPT = 16
"""How many graphs of one name are kept, each with other models."""
_ADMISSION_S = 10.0
"""How long the request that starts a run waits for its graph to be built. The run itself waits longer."""
_log = logging.getLogger(__name__)


@dataclass
class _Served:
    """What is known about one graph so far."""

    source: GraphSource
    building: asyncio.Lock = field(default_factory=asyncio.Lock)
    factory: Factory | None = None
    per_use: bool = False
    """The factory asks about the use, or has turned out to return a context manager."""
    only: _Kept | None = None
    """The graph, if the export is one: it has no factory, and chooses its models itself."""
    kept: OrderedDict[str, _Kept] = field(default_factory=OrderedDict)
    """The graphs that the factory has made, by the key of their models; the last used is at the end."""
    noted: bool = False
    problem: GraphBuildError | None = None
    """Why the last attempt to build it failed."""

    def find(self, models: RunModels | None) -> _Kept | None:
        """The graph that may be used with these models, if it was built before."""
        if self.only:
            return self.only
        key = models.key if models else ""
        if key in self.kept:
            self.kept.move_to_end(key)
        return self.kept.get(key)

    def keep(self, models: RunModels | None, made: _Kept) -> None:
        self.kept[models.key if models else ""] = made
        while len(self.kept) > _MAX_KEPT:
            self.kept.popitem(last=False)


class GraphRegistry:
    """Name -> graph, ready to use."""

    def __init__(
        self,
        graphs: Mapping[str, GraphSource],
        *,
        extra_classes: Collection[tuple[str, ...]] = (),
        build_timeout_s: float = 60.0,
    ) -> None:
        self._served = {name: _Served(source) for name, source in graphs.items()}
        self._extra_classes = tuple(extra_classes)
        self._build_timeout_s = build_timeout_s
        self.find_models: FindModels | None = None
        """Finds the models for uses that do not bring their own."""

    @classmethod
    def from_specs(cls, specs: Mapping[str, str | Mapping[str, Any] | GraphSpec], base: Path) -> Self:
        """From entries as in langgraph.json; file paths are relative to `base`."""
        return cls({name: GraphSource.from_spec(name, GraphSpec.parse(name, spec), base) for name, spec in specs.items()})

    @classmethod
    def from_project(cls, project: LanggraphProject) -> Self:
        """The graphs of a langgraph.json. Call `project.enter()` before using any of them."""
        sources = {name: GraphSource.from_spec(name, spec, project.folder) for name, spec in project.graphs.items()}
        return cls(sources, extra_classes=project.allowed_classes)

    @property
    def names(self) -> list[str]:
        return list(self._served)

    @property
    def problems(self) -> dict[str, str]:
        """Graphs whose last build failed, with a sentence about each."""
        return {name: str(served.problem) for name, served in self._served.items() if served.problem}

    def description(self, graph_id: str) -> str | None:
        return self._find(graph_id).source.description

    @property
    def demos(self) -> list[str]:
        """Demo graphs: they need no model and no network."""
        return [name for name, served in self._served.items() if served.source.metadata.get("demo")]

    def metadata(self, graph_id: str) -> Mapping[str, Any]:
        """What its default assistant says about it."""
        return self._find(graph_id).source.metadata

    def require(self, graph_id: str) -> None:
        """Raise `NotFoundError` if no graph of this name is served."""
        self._find(graph_id)

    @asynccontextmanager
    async def graph(
        self,
        graph_id: str,
        *,
        config: RunnableConfig | None = None,
        saver: BaseCheckpointSaver[Any] | None,
        store: BaseStore | None,
        purpose: Purpose,
        context: Any = None,
        owner: str | None = None,
        models: RunModels | None = None,
    ) -> AsyncIterator[AnyGraph]:
        """The graph for one use. Whatever was opened for it is closed at the end, with the use's error if there was one."""
        served = self._find(graph_id)
        if models is None:
            models = await self._models_for(owner, config)
        # Factories read `config["configurable"]` without checking that it exists.
        use = Use(purpose, {"configurable": {}, **(config or {})}, store, context, owner)
        async with AsyncExitStack() as stack:
            try:
                built, allowed = await self._build(graph_id, served, use, models, stack)
            except GraphBuildError as error:
                served.problem = error
                raise
            served.problem = None
            if path := split_graph_id(graph_id, self._served)[0]:
                built, allowed = await asyncio.to_thread(self._background_agent, graph_id, path, built)
            yield bind(built, graph_id, allowed, saver, store)

    async def check(self, owner: str | None = None, store: BaseStore | None = None) -> None:
        """Build every graph once; failures are then in `problems`. Raises `GraphBuildError` if no graph can be built."""
        for name in self._served:
            with suppress(GraphBuildError):  # kept in `problems`
                await self._try_building(name, owner, store)
        hopeless = [
            served.problem
            for served in self._served.values()
            # A graph that lacks only a model works as soon as one is connected.
            if served.problem and not served.per_use and not isinstance(served.problem.__cause__, ModelUnavailableError)
        ]
        if hopeless and len(hopeless) == len(self._served):
            raise GraphBuildError("\n".join(map(str, hopeless))) from hopeless[0].__cause__

    async def require_built(self, graph_id: str, owner: str | None = None, store: BaseStore | None = None) -> None:
        """Raise `NotFoundError`, or `GraphBuildError` if the graph could not be built and still can't.

        A factory that asks about its use is accepted: it may fail for one use and work for another. The same goes for every factory if runs
        bring their own models.
        """
        served = self._find(graph_id)
        if served.problem and not served.per_use and not (served.factory and self.find_models):
            await self._try_building(graph_id, owner, store)

    async def input_fields(
        self, graph_id: str, owner: str | None = None, store: BaseStore | None = None
    ) -> frozenset[str] | None:
        """The fields of a graph's input; `None` if it accepts anything, or if unknown because it is built per use, slowly or not at all."""
        served = self._find(graph_id)
        if served.only:  # its models do not depend on the owner
            return input_fields(served.only[0])
        models = await self._models_for(owner)
        if not (served.find(models) or served.per_use or served.problem):
            with suppress(GraphBuildError, TimeoutError):  # the run will report it
                async with asyncio.timeout(_ADMISSION_S):
                    await self._try_building(graph_id, owner, store)
        kept = served.find(models)
        return input_fields(kept[0]) if kept else None

    async def output_fields(self, graph_id: str, owner: str | None = None) -> frozenset[str] | None:
        """The fields of a graph's output; `None` if unknown. Builds nothing."""
        try:
            kept = self._find(graph_id).find(await self._models_for(owner))
        except NotFoundError:
            return None
        return output_fields(kept[0]) if kept else None

    async def run_modes(self, owner: str | None = None) -> dict[str, list[str]]:
        """Every served graph, with the modes that its runs may have: those of agents that were built here. Builds nothing."""
        models = await self._models_for(owner)
        found = {name: served.find(models) for name, served in self._served.items()}
        return {name: _modes_of(kept[0]) if kept else [] for name, kept in found.items()}

    async def rewinds(self, owner: str | None = None) -> dict[str, bool]:
        """Every served graph, with whether turns on its threads can be taken back. Builds nothing."""
        models = await self._models_for(owner)
        found = {name: served.find(models) for name, served in self._served.items()}
        return {name: bool(kept and has_rewind(kept[0])) for name, kept in found.items()}

    async def takes_caller_tools(self, graph_id: str, owner: str | None = None) -> bool:
        """Whether a graph is an agent that uses tools of its callers. Builds nothing: false for a graph that was not built yet."""
        kept = self._find(graph_id).find(await self._models_for(owner))
        return bool(kept and _takes_caller_tools(kept[0]))

    async def readiness(self, owner: str | None = None, store: BaseStore | None = None) -> dict[str, str | None]:
        """Every served graph, with a sentence that says why it cannot run here, or `None` if it can. Builds graphs that were not built yet.

        A factory that asks about its use counts as ready, because only each run can find out whether it is.
        """
        return {name: await self._find_obstacle(name, served, owner, store) for name, served in self._served.items()}

    async def _find_obstacle(self, graph_id: str, served: _Served, owner: str | None, store: BaseStore | None) -> str | None:
        if served.per_use or served.find(await self._models_for(owner)):
            return None
        try:
            await self._try_building(graph_id, owner, store)
        except GraphBuildError as error:
            # Our own errors already say what is missing and how to get it.
            return str(error.__cause__ if isinstance(error.__cause__, StepwellError) else error)
        return None

    async def _try_building(self, graph_id: str, owner: str | None, store: BaseStore | None) -> None:
        async with self.graph(graph_id, saver=None, store=store, purpose="schema", owner=owner):
            pass

    def _background_agent(self, graph_id: str, path: Sequence[str], graph: AnyGraph) -> _Kept:
        """A background subagent of a served graph, or of such a subagent, and so on along the path. It is built when a task first needs
        it, which takes a moment."""
        # Imported only now: only agents with background subagents need it.
        from stepwell.middleware.background.middleware import find_background

        for agent_name in path:
            background = find_background(graph)
            agent = background.agent(agent_name) if background else None
            if not isinstance(agent, Pregel):
                raise GraphBuildError(
                    f"{_subject(graph_id)} is gone: the agent has no background subagent '{agent_name}' that is a graph. Threads of its "
                    "tasks can be read again once the agent has it."
                )
            graph = agent
        return graph, allowed_classes(graph, self._extra_classes)

    def _find(self, graph_id: str) -> _Served:
        root = split_graph_id(graph_id, self._served)[1]
        if root not in self._served:
            raise NotFoundError("graph", graph_id, f"Served are: {', '.join(sorted(self._served)) or 'none'}.")
        return self._served[root]

    async def _models_for(self, owner: str | None, config: RunnableConfig | None = None) -> RunModels | None:
        thread_id = ((config or {}).get("configurable") or {}).get("thread_id")
        return await self.find_models(owner, thread_id) if self.find_models else None

    async def _build(self, graph_id: str, served: _Served, use: Use, models: RunModels | None, stack: AsyncExitStack) -> _Kept:
        if kept := served.find(models):
            return kept
        try:
            async with asyncio.timeout(self._build_timeout_s):
                with using(models):
                    async with served.building:
                        ready = await self._load(graph_id, served, models)
                        if isinstance(ready, Factory) and not served.per_use:
                            # The factory is called by one caller at a time until it is known whether its graph may be kept.
                            ready = await self._make(served, ready, use, models, stack)
                    return await self._make(served, ready, use, models, stack) if isinstance(ready, Factory) else ready
        except TimeoutError as error:
            raise GraphBuildError(
                f"{_subject(graph_id)} was not built within {self._build_timeout_s:g} s. "
                "Open slow resources when a run needs them, not while the graph is built."
            ) from error

    async def _load(self, graph_id: str, served: _Served, models: RunModels | None) -> Factory | _Kept:
        """Import the export, once. If it is a graph, it is kept at once; if it is a factory, it is remembered."""
        known = served.find(models) or served.factory
        if known:
            return known
        subject = _subject(graph_id)
        # A graph that is made while its module is imported serves everybody, so it must not get one user's models.
        with using(None):
            export = understand(await in_thread(served.source.load), subject)
        if isinstance(export, Factory):
            served.factory, served.per_use = export, bool(export.wants)
            return export
        served.only = self._add_allowlist(served, await compile_graph(export, subject))
        return served.only

    async def _make(
        self, served: _Served, factory: Factory, use: Use, models: RunModels | None, stack: AsyncExitStack
    ) -> _Kept:
        graph, entered = await enter(factory, use, stack)
        made = self._add_allowlist(served, graph)
        served.per_use = served.per_use or entered
        if not served.per_use:
            served.keep(models, made)
        return made

    def _add_allowlist(self, served: _Served, graph: AnyGraph) -> _Kept:
        """The graph with the classes its checkpoints may contain. Warns once about a checkpointer that will not be used."""
        if isinstance(graph.checkpointer, BaseCheckpointSaver) and not served.noted:
            served.noted = True
            _log.warning("%s was compiled with its own checkpointer; the server's is used instead.", served.source.shown)
        return graph, allowed_classes(graph, self._extra_classes)


def _modes_of(graph: AnyGraph) -> list[str]:
    if not _agents_are_loaded():
        return []
    from stepwell.middleware.run_modes import has_run_modes

    return list(RUN_MODES) if has_run_modes(graph) else []


def _takes_caller_tools(graph: AnyGraph) -> bool:
    if not _agents_are_loaded():
        return False
    from stepwell.middleware.caller_tools import takes_caller_tools

    return takes_caller_tools(graph)


def _agents_are_loaded() -> bool:
    """Whether a graph can have middleware. Loading LangChain's agents is a tenth of a server's start-up, and not every project has one."""
    return "stepwell.middleware" in sys.modules


def _subject(graph_id: str) -> str:
    """How messages refer to a graph: only by its name. Readers may not know our modules, and the entry with that name shows where the graph
    is made."""
    return f"The graph '{graph_id}'"
