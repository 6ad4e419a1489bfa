"""Reading and writing a thread's state: LangGraph does the work; this module chooses the graph, the checkpoint and the lease.

Rules to keep:
- The thread's record is read first, filtered by its owner, so that other users never reach the checkpoints.
- Writing happens while the queue keeps runs off the thread, and through a saver that is bound to that hold.
- Afterwards the record shows the new values, interrupts and status, as if a run had left them.
- Of a checkpoint that a caller names, only its place *within* the thread is used (`checkpoint_config`). The thread is the one the server
  has checked, so a caller can never reach a checkpoint of another thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel
from langgraph.types import StateSnapshot, StateUpdate

from stepwell.control_flow import let_pass
from stepwell.database.checkpoints.saver import SqlSaver
from stepwell.database.persistence import Persistence
from stepwell.database.types import Lease, Thread
from stepwell.errors import InvalidRequestError, NotFoundError, StepwellError
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.interrupts import root_interrupts
from stepwell.runs.threads import snapshots
from stepwell.runs.threads.loose_subgraphs import is_known, loose_snapshot
from stepwell.runs.threads.messages import MessagePage, read_messages
from stepwell.runs.threads.updates import require_known_channels
from stepwell.secrets.errors import words_of
from stepwell.state.compact import acompact
from stepwell.state.wire import plain

Graph: TypeAlias = Pregel[Any, Any, Any, Any]
Checkpoint: TypeAlias = Mapping[str, Any]

LONGEST_NAME = 4_096
"""A namespace grows with the depth of subgraphs; this is far more than any needs, and keeps nonsense out of the database."""
_LONGEST_REASON = 500
_LONGEST_UPDATE_S = 60


def graph_of(thread: Thread) -> str | None:
    """The graph a thread belongs to: the one its last run used."""
    graph_id = thread.metadata.get("graph_id")
    return graph_id if isinstance(graph_id, str) and graph_id else None


class ThreadStates:
    """The states of threads. Every call names the owner."""

    def __init__(self, persistence: Persistence, registry: GraphRegistry) -> None:
        self._persistence = persistence
        self._registry = registry

    async def read(
        self,
        owner: str | None,
        thread_id: str,
        checkpoint: Checkpoint | None,
        *,
        subgraphs: bool,
        show_values: snapshots.ShowValues = plain,
    ) -> dict[str, Any]:
        thread = await self._persistence.records.get_thread(owner, thread_id, with_values=False)
        config = checkpoint_config(thread_id, checkpoint)
        wanted = config["configurable"].get("checkpoint_id")
        graph_id = graph_of(thread)
        if graph_id is None:
            if wanted is not None:
                raise _no_checkpoint(wanted)
            return snapshots.empty_state()
        async with self._open(graph_id, thread, None) as graph:
            snapshot = await self._snapshot(graph, config, subgraphs=subgraphs)
            if wanted is not None and snapshot.created_at is None:
                raise _no_checkpoint(wanted)
            return snapshots.thread_state(snapshot, show_values)

    async def messages(
        self,
        owner: str | None,
        thread_id: str,
        checkpoint: Checkpoint | None,
        *,
        before: int | None,
        limit: int,
        whole_turns: bool = False,
    ) -> MessagePage:
        """A page of the messages at a checkpoint, or now."""
        thread = await self._persistence.records.get_thread(owner, thread_id, with_values=False)
        config = checkpoint_config(thread_id, checkpoint)
        wanted, graph_id = config["configurable"].get("checkpoint_id"), graph_of(thread)
        found: MessagePage | None = None
        if graph_id is not None:
            async with self._open(graph_id, thread, None) as graph:
                saver = _saver_of(graph)
                found = await read_messages(graph, saver, config, before=before, limit=limit, whole_turns=whole_turns)
        if found is None and wanted is not None:
            raise _no_checkpoint(wanted)
        return found or MessagePage()

    @asynccontextmanager
    async def saver(self, owner: str | None, thread_id: str) -> AsyncGenerator[BaseCheckpointSaver[Any] | None]:
        """The saver that reads the thread's checkpoints; `None` if the thread belongs to no graph yet."""
        thread = await self._persistence.records.get_thread(owner, thread_id, with_values=False)
        graph_id = graph_of(thread)
        if graph_id is None:
            yield None
            return
        async with self._open(graph_id, thread, None) as graph:
            yield _saver_of(graph)

    async def history(
        self,
        owner: str | None,
        thread_id: str,
        *,
        limit: int,
        before: Mapping[str, Any] | str | None,
        metadata: Mapping[str, Any] | None,
        checkpoint: Checkpoint | None,
        show_values: snapshots.ShowValues = plain,
    ) -> list[dict[str, Any]]:
        thread = await self._persistence.records.get_thread(owner, thread_id, with_values=False)
        config = checkpoint_config(thread_id, checkpoint)
        namespace = config["configurable"]["checkpoint_ns"]
        end = before_config(thread_id, before, namespace)
        graph_id = graph_of(thread)
        if graph_id is None:
            return []
        wanted = dict(metadata) if metadata else None
        async with self._open(graph_id, thread, None) as graph:
            if is_known(graph, namespace):
                saver = _saver_of(graph)
                if isinstance(saver, SqlSaver) and not namespace:
                    saver.share_past(graph.channels)
                found = graph.aget_state_history(config, filter=wanted, before=end, limit=limit)
                return [snapshots.thread_state(snapshot, show_values) async for snapshot in found]
            saver = _saver_of(graph)
            stored = [saved async for saved in saver.alist(config, filter=wanted, before=end, limit=limit)]
            return [snapshots.thread_state(await loose_snapshot(saver, saved), show_values) for saved in stored]

    async def update(
        self, owner: str | None, thread_id: str, steps: Sequence[Sequence[StateUpdate]], checkpoint: Checkpoint | None
    ) -> dict[str, Any]:
        """Apply updates, each inner list as one step. Returns the checkpoint that contains them."""
        thread = await self._persistence.records.get_thread(owner, thread_id, with_values=False)
        config = checkpoint_config(thread_id, checkpoint)
        graph_id = graph_of(thread)
        if graph_id is None:
            raise InvalidRequestError(
                f"Thread '{thread_id}' belongs to no graph yet, so it has no state. "
                'Start a run on it, or set "graph_id" in its metadata.'
            )
        async with self._persistence.queue.hold(owner, thread_id, "update") as lease:
            async with self._open(graph_id, thread, lease) as graph:
                await self._require_checkpoint(graph, config)
                try:
                    written = await _apply(graph, config, steps)
                    now = await graph.aget_state(checkpoint_config(thread_id))
                except BaseException:
                    # LangGraph stores an update's writes before it knows whether they fit; if they stayed there, they would count as the
                    # result of the task they were written for.
                    await _saver_of(graph).adelete_for_runs([lease.run_id])
                    raise
            documents = await self._persistence.events.documents(thread_id)
            await self._persistence.records.save_thread_state(
                lease,
                values=documents.write_values(now.values),
                interrupts=root_interrupts(now),
                status=snapshots.status_of(now),
            )
        checkpoint = snapshots.checkpoint_of(written)
        # Three places for one thing: the Python SDK reads the first, the JavaScript SDK the second, older clients the third.
        return {"checkpoint": checkpoint, "configurable": checkpoint, "checkpoint_id": checkpoint["checkpoint_id"]}

    async def forget_past(self, owner: str | None, thread_id: str) -> None:
        """Keep only the newest checkpoint, with complete values on its incremental channels."""
        thread = await self._persistence.records.get_thread(owner, thread_id, with_values=False)
        graph_id = graph_of(thread)
        if graph_id is None:
            return
        async with (
            self._persistence.queue.hold(owner, thread_id, "prune") as lease,
            self._open(graph_id, thread, lease) as graph,
        ):
            await acompact(_saver_of(graph), thread_id, keep_last=1, graph=graph)
            await self._persistence.forget_lost_files(thread_id)

    def _open(self, graph_id: str, thread: Thread, lease: Lease | None) -> AbstractAsyncContextManager[Graph]:
        return self._registry.graph(
            graph_id,
            config=checkpoint_config(thread.thread_id),
            saver=self._persistence.saver(lease),
            store=self._persistence.store(thread.owner),
            purpose="read",
            owner=thread.owner,
        )

    async def _snapshot(self, graph: Graph, config: RunnableConfig, *, subgraphs: bool) -> StateSnapshot:
        namespace = config["configurable"]["checkpoint_ns"]
        if is_known(graph, namespace):
            return await graph.aget_state(config, subgraphs=subgraphs)
        saver = _saver_of(graph)
        saved = await saver.aget_tuple(config)
        if saved is None:
            raise _no_namespace(namespace)
        return await loose_snapshot(saver, saved)

    async def _require_checkpoint(self, graph: Graph, config: RunnableConfig) -> None:
        named = config["configurable"]
        if not is_known(graph, named["checkpoint_ns"]):
            raise _no_namespace(named["checkpoint_ns"])
        wanted = named.get("checkpoint_id")
        if wanted is not None and await _saver_of(graph).aget_tuple(config) is None:
            raise _no_checkpoint(wanted)


def _saver_of(graph: Graph) -> BaseCheckpointSaver[Any]:
    # Not `persistence.saver()`: the graph's own saver knows the classes that its state may contain.
    if not isinstance(graph.checkpointer, BaseCheckpointSaver):
        raise TypeError(f"The registry bound graph '{graph.name}' to no saver")
    return graph.checkpointer


async def _apply(graph: Graph, config: RunnableConfig, steps: Sequence[Sequence[StateUpdate]]) -> RunnableConfig:
    require_known_channels(graph, config["configurable"]["checkpoint_ns"], steps)
    try:
        # Reducers and edges are the graph's own code. If one hangs, it must not hold the thread forever.
        async with asyncio.timeout(_LONGEST_UPDATE_S):
            return await graph.abulk_update_state(config, steps)
    except StepwellError:
        raise
    except TimeoutError as error:
        raise InvalidRequestError(
            f"The state was not changed: the graph took more than {_LONGEST_UPDATE_S} s for it."
        ) from error
    except Exception as error:  # whatever reducers and schemas raise, the values do not fit
        let_pass(error)
        # LangGraph adds a link to its documentation on further lines.
        reason = words_of(error).split("\n", 1)[0][:_LONGEST_REASON] or type(error).__name__
        raise InvalidRequestError(f"The state was not changed, because the update does not fit the graph: {reason}") from error


def _no_checkpoint(checkpoint_id: str) -> NotFoundError:
    return NotFoundError("checkpoint", checkpoint_id, "List the thread's checkpoints with its history.")


def _no_namespace(namespace: str) -> NotFoundError:
    return NotFoundError(
        "checkpoint namespace", namespace, "Read the thread's state with subgraphs=true to see which there are."
    )


def checkpoint_config(thread_id: str, checkpoint: Mapping[str, Any] | None = None) -> RunnableConfig:
    """The config for a thread's newest checkpoint, or the one that `checkpoint` names (namespace, id, map of ids)."""
    chosen: dict[str, Any] = {"thread_id": thread_id, "checkpoint_ns": ""}
    given = checkpoint or {}
    for name in ("checkpoint_ns", "checkpoint_id"):
        if given.get(name) is not None:
            chosen[name] = _text(name, given[name])
    if given.get("checkpoint_map") is not None:
        chosen["checkpoint_map"] = _map(given["checkpoint_map"])
    return {"configurable": chosen}


def before_config(thread_id: str, before: Mapping[str, Any] | str | None, namespace: str) -> RunnableConfig | None:
    """The config of the checkpoint before which a history ends. Clients send an id, a checkpoint, or a config that contains one."""
    if before is None:
        return None
    if isinstance(before, str):
        before = {"checkpoint_id": before}
    named = before.get("configurable", before)
    if not isinstance(named, Mapping) or named.get("checkpoint_id") is None:
        raise InvalidRequestError(
            "'before' names no checkpoint. Give a checkpoint's id, or a checkpoint with its 'checkpoint_id'."
        )
    return checkpoint_config(thread_id, {"checkpoint_ns": namespace, "checkpoint_id": named["checkpoint_id"]})


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_NAME or "\x00" in value:
        raise InvalidRequestError(f"'{name}' must be a text from a thread's state. Copy it unchanged.")
    return value


def _map(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise InvalidRequestError("'checkpoint_map' must be an object of checkpoint ids. Copy it from a thread's state.")
    return {_text("checkpoint_map", namespace): _text("checkpoint_map", found) for namespace, found in value.items()}
