"""Assistants: a graph with a configuration, in versions. Each served graph has one by default, which belongs to the server.

Rules to keep:
- The default assistant's id follows from the graph's name alone, so clients find it again after any restart.
- `context` and `config.configurable` are two names for one thing (the second is older): whichever is given, the other gets the same
  value, and giving both is refused. An update replaces them and the rest of `config`, and merges `metadata`.
- A default assistant stays when its graph is no longer served, because threads still refer to it; `resolve`, which is for running,
  then reports that the graph is not served.
- The repository's queries, not this module, decide who may see and change what.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal
from uuid import UUID, uuid5

from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore

from stepwell.clock import Clock
from stepwell.database.callers import stamped
from stepwell.database.records.repository import Repository
from stepwell.database.records.types import AssistantFilter, Page
from stepwell.database.types import SYSTEM, Assistant, Json
from stepwell.errors import InvalidRequestError, NotFoundError
from stepwell.runs.gates import Gate
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.graphs.schemas import AnyGraph, graph_drawing, graph_schemas, subgraph_schemas
from stepwell.tools.background import split_graph_id

_NAMESPACE = UUID("5f0c1f3e-6f6b-4b8e-9d53-2b1f6f0a7c41")
"""A random value that must never change, because otherwise every default assistant would get a different id."""
_UNTITLED = "Untitled"


def default_assistant_id(graph_id: str) -> str:
    """The id of the assistant that comes with a graph."""
    return str(uuid5(_NAMESPACE, graph_id))


class Assistants:
    """Operations on assistants. `owner` is the caller; `None` is the operator, whose assistants everybody can use."""

    def __init__(
        self,
        repository: Repository,
        registry: GraphRegistry,
        clock: Clock,
        new_id: Callable[[], str],
        store_of: Callable[[str], BaseStore] | None = None,
        gates: Sequence[Gate] = (),
    ) -> None:
        """`store_of` returns an owner's store, because some factories read it even when their graph is only described; `gates` check what
        an assistant stores."""
        self._gates = tuple(gates)
        self._records = repository
        self._store_of = store_of
        self._registry = registry
        self._clock = clock
        self._new_id = new_id
        self._changing = asyncio.Lock()

    async def install_defaults(self) -> None:
        """Create an assistant for each served graph; existing ones stay unchanged."""
        for graph_id in self._registry.names:
            now = self._clock.now()
            default = Assistant(
                assistant_id=default_assistant_id(graph_id),
                graph_id=graph_id,
                owner=SYSTEM,
                name=graph_id,
                description=self._registry.description(graph_id),
                metadata={"created_by": "system", **self._registry.metadata(graph_id)},
                created_at=now,
                updated_at=now,
            )
            await self._records.create_assistant(default, if_exists="do_nothing")

    async def resolve(self, owner: str | None, assistant: str) -> Assistant:
        """The assistant to run, by its id or a graph's name. Refused if its graph is not served or cannot be built."""
        found = await self.get(owner, assistant)
        await self._registry.require_built(found.graph_id, owner or SYSTEM, self._store(owner))
        return found

    async def get(self, owner: str | None, assistant: str) -> Assistant:
        """An assistant by its id, or a graph's default one by the graph's name, even if the graph is no longer served."""
        path, root = split_graph_id(assistant, self._registry.names)
        if path and root in self._registry.names:
            # A background subagent: its threads name it, so that clients can ask what it takes.
            return replace(await self.get(owner, root), graph_id=assistant)
        given_id = None if assistant in self._registry.names else _as_id(assistant)
        try:
            return await self._records.get_assistant(owner, given_id or default_assistant_id(assistant))
        except NotFoundError as error:
            served = ", ".join(sorted(self._registry.names)) or "none"
            raise NotFoundError(
                "assistant", assistant, f"Give the id of an assistant, or a graph that is served: {served}."
            ) from error

    async def create(
        self,
        owner: str | None,
        *,
        graph_id: str,
        name: str | None = None,
        config: Json | None = None,
        context: Json | None = None,
        metadata: Json | None = None,
        assistant_id: str | None = None,
        if_exists: Literal["raise", "do_nothing"] = "raise",
        description: str | None = None,
    ) -> Assistant:
        self._registry.require(graph_id)
        if assistant_id is not None and _as_id(assistant_id) is None:
            raise InvalidRequestError(f"The assistant id '{assistant_id}' is not a UUID. Give one, or leave it out.")
        chosen_config, chosen_context = self._settle_context(config, context, {}, {})
        now = self._clock.now()
        made = Assistant(
            assistant_id=_as_id(assistant_id or "") or self._new_id(),
            graph_id=graph_id,
            owner=SYSTEM if owner is None else str(owner),
            name=name or _UNTITLED,
            description=description,
            config=chosen_config,
            context=chosen_context,
            metadata=stamped(owner, metadata),
            created_at=now,
            updated_at=now,
        )
        return await self._records.create_assistant(made, if_exists=if_exists, caller=owner)

    async def update(
        self,
        owner: str | None,
        assistant_id: str,
        *,
        graph_id: str | None = None,
        name: str | None = None,
        config: Json | None = None,
        context: Json | None = None,
        metadata: Json | None = None,
        description: str | None = None,
    ) -> Assistant:
        """Create a new version with these changes; `None` leaves a field unchanged."""
        if graph_id is not None:
            self._registry.require(graph_id)
        # Reading, merging and saving are three steps: concurrent updates must not lose each other's metadata.
        async with self._changing:
            before = await self.get(owner, assistant_id)
            chosen_config, chosen_context = self._settle_context(config, context, before.config, before.context)
            changed = replace(
                before,
                graph_id=graph_id or before.graph_id,
                name=before.name if name is None else name,
                description=before.description if description is None else description,
                config=chosen_config,
                context=chosen_context,
                metadata={**before.metadata, **stamped(owner, metadata)},
            )
            return await self._records.save_assistant_version(owner, changed)

    async def search(self, owner: str | None, wanted: AssistantFilter, page: Page) -> list[Assistant]:
        return await self._records.search_assistants(owner, self._served(wanted), page)

    async def count(self, owner: str | None, wanted: AssistantFilter) -> int:
        return await self._records.count_assistants(owner, self._served(wanted))

    def _served(self, wanted: AssistantFilter) -> AssistantFilter:
        return replace(wanted, served=sorted(self._registry.names))

    async def versions(self, owner: str | None, assistant_id: str, metadata: Json, page: Page) -> list[Assistant]:
        return await self._records.assistant_versions(owner, _id_or_name(assistant_id), metadata, page)

    async def set_latest(self, owner: str | None, assistant_id: str, version: int) -> Assistant:
        return await self._records.set_assistant_version(owner, _id_or_name(assistant_id), version)

    async def delete(self, owner: str | None, assistant_id: str, *, delete_threads: bool = False) -> None:
        await self._records.delete_assistant(owner, _id_or_name(assistant_id), delete_threads=delete_threads)

    async def readiness(self, owner: str | None) -> dict[str, str | None]:
        """Every served graph, with what is missing before it can run here; `None` if nothing is."""
        return await self._registry.readiness(owner or SYSTEM, self._store(owner))

    async def run_modes(self, owner: str | None) -> dict[str, list[str]]:
        """Every served graph, with the modes that its runs may have."""
        return await self._registry.run_modes(owner or SYSTEM)

    async def schemas(self, owner: str | None, assistant_id: str) -> dict[str, Any]:
        found = await self.resolve(owner, assistant_id)
        return await self._describe(owner, found, lambda graph: graph_schemas(found.graph_id, graph))

    async def graph(self, owner: str | None, assistant_id: str, xray: bool | int = False) -> dict[str, Any]:
        return await self._describe(owner, await self.resolve(owner, assistant_id), lambda graph: graph_drawing(graph, xray))

    async def subgraphs(
        self, owner: str | None, assistant_id: str, namespace: str | None = None, recurse: bool = False
    ) -> dict[str, Any]:
        found = await self.resolve(owner, assistant_id)
        return await self._describe(owner, found, lambda graph: subgraph_schemas(found.graph_id, graph, namespace, recurse))

    def _store(self, owner: str | None) -> BaseStore | None:
        return self._store_of(owner or SYSTEM) if self._store_of else None

    async def _describe(
        self, owner: str | None, assistant: Assistant, describe: Callable[[AnyGraph], dict[str, Any]]
    ) -> dict[str, Any]:
        config = RunnableConfig(**assistant.config)  # type: ignore[typeddict-item]  # JSON of a user, as LangGraph takes it
        async with self._registry.graph(
            assistant.graph_id, config=config, saver=None, store=self._store(owner), purpose="schema", owner=owner or SYSTEM
        ) as graph:
            return await asyncio.to_thread(describe, graph)

    def _settle_context(
        self, config: Json | None, context: Json | None, old_config: Json, old_context: Json
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        settled = _settle_context(config, context, old_config, old_context)
        for gate in self._gates:
            gate.check_stored(settled[1])
        return settled


def _as_id(text: str) -> str | None:
    try:
        return str(UUID(text))
    except ValueError:
        return None


def _id_or_name(assistant: str) -> str:
    return _as_id(assistant) or default_assistant_id(assistant)


def _settle_context(
    config: Json | None, context: Json | None, old_config: Json, old_context: Json
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Config and context after a request, consistent with each other."""
    configurable = (config or {}).get("configurable")
    if configurable is not None and not isinstance(configurable, Mapping):
        raise InvalidRequestError("'config.configurable' must be an object.")
    if configurable and context:
        raise InvalidRequestError(
            "Both 'context' and 'config.configurable' are given, but they are the same thing. Send only 'context'."
        )
    chosen = dict(configurable or context or {}) if configurable or context is not None else dict(old_context)
    rest = {key: value for key, value in (old_config if config is None else config).items() if key != "configurable"}
    return ({**rest, "configurable": chosen} if chosen else rest), chosen
