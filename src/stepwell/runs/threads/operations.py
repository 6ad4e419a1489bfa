"""What a caller can do with threads. Records are handled here, state by `state`, and all data of a user by `export`.

Every call names an owner (`None` is the program itself). Each call first checks that the thread belongs to this owner; another owner's
threads are reported as not found. A thread with a run under way is not written to (`ThreadBusyError`), and deleted once its runs have
been stopped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

from langgraph.types import StateUpdate

from stepwell.clock import Clock
from stepwell.database.callers import stamped
from stepwell.database.persistence import Persistence
from stepwell.database.records.types import Page, ThreadFilter
from stepwell.database.types import SYSTEM, RequestKey, Thread, ThreadTtl
from stepwell.database.upkeep.expiry import ThreadRule
from stepwell.errors import AlreadyExistsError, InvalidRequestError, NotFoundError, ThreadBusyError
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.threads.export import export_owner
from stepwell.runs.threads.messages import MessagePage
from stepwell.runs.threads.snapshots import ShowValues
from stepwell.runs.threads.state import Checkpoint, ThreadStates, graph_of
from stepwell.runs.threads.subagents import ThreadSubAgents
from stepwell.runs.threads.updates import steps_from_wire
from stepwell.state.wire import plain

IfExists = Literal["raise", "do_nothing"]
DELETE_WAITS_S = 30.0
"""How long the runs of a thread that is to be deleted have to stop."""
PruneStrategy = Literal["delete", "keep_latest"]


class Threads:
    """Creates, finds, reads, changes, copies and deletes conversations."""

    def __init__(
        self,
        persistence: Persistence,
        registry: GraphRegistry,
        clock: Clock,
        new_id: Callable[[], str],
        rule: ThreadRule | None = None,
    ) -> None:
        """`rule`: how long threads live that have no time of their own."""
        self._persistence = persistence
        self._registry = registry
        self._clock = clock
        self._new_id = new_id
        self._states = ThreadStates(persistence, registry)
        self.subagents = ThreadSubAgents(persistence, self._states)
        self._rule = rule

    async def create(
        self,
        owner: str | None,
        *,
        thread_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        if_exists: IfExists = "raise",
        supersteps: Sequence[Mapping[str, Any]] | None = None,
        graph_id: str | None = None,
        key: RequestKey | None = None,
        ttl: ThreadTtl | None = None,
    ) -> Thread:
        """Create a thread, with a history if `supersteps` contains one. An existing thread gets no second history."""
        steps = steps_from_wire(supersteps or ())
        thread = replace(self._new(owner, thread_id, metadata, graph_id), ttl=ttl)
        if graph_id is not None:
            self._registry.require(graph_id)
        if steps and graph_of(thread) is None:
            raise InvalidRequestError("supersteps need a graph. Give 'graph_id' beside them, or in the metadata.")
        try:
            created = await self._persistence.records.create_thread(thread, if_exists="raise", key=key, caller=owner)
        except AlreadyExistsError:
            if if_exists == "raise":
                raise
            return await self._persistence.records.create_thread(thread, if_exists="do_nothing", caller=owner)
        made_before = created.thread_id != thread.thread_id or created.state_updated_at is not None
        return await self._with_past(created, steps) if steps and not made_before else created

    async def get(self, owner: str | None, thread_id: str, *, with_values: bool = True, with_ttl: bool = False) -> Thread:
        """The thread's record. Values may be large, so leave them out if they are not shown. `with_ttl`: also when it expires."""
        thread = await self._persistence.records.get_thread(owner, thread_id, with_values=with_values, with_ttl=with_ttl)
        return replace(thread, ttl=await self._ttl_by_rule(thread)) if with_ttl and thread.ttl is None else thread

    async def _ttl_by_rule(self, thread: Thread) -> ThreadTtl | None:
        """When a thread without a time of its own expires, by the server's rule."""
        if (rule := self._rule) is None:
            return None
        since = await self._persistence.maintenance.rule_since()
        if thread.created_at < since:
            return None
        return ThreadTtl(rule.strategy, rule.minutes, thread.updated_at + timedelta(minutes=rule.minutes))

    async def update(
        self, owner: str | None, thread_id: str, metadata: Mapping[str, Any], ttl: ThreadTtl | None = None
    ) -> Thread:
        """Merge into the metadata, key by key; and set the time to live, if given."""
        if ttl is not None:
            await self._persistence.records.set_thread_ttl(owner, thread_id, ttl)
        return await self._persistence.records.merge_thread_metadata(owner, thread_id, stamped(owner, metadata))

    async def delete(self, owner: str | None, thread_id: str) -> None:
        """Delete the thread. Its runs, and those of its background tasks, are stopped first, so that it is known what they have done. If
        one does not stop in time, the thread stays: `ThreadBusyError`."""
        records, queue = self._persistence.records, self._persistence.queue
        deadline = time.monotonic() + DELETE_WAITS_S
        while True:
            try:
                await records.delete_thread(owner, thread_id)
                return
            except ThreadBusyError:
                runs = await records.runs_in_the_way(owner, thread_id)
                left_s = deadline - time.monotonic()
                if not runs or left_s <= 0:
                    raise
            await queue.cancel(None, runs, "interrupt", reason="its thread is being deleted")
            await asyncio.gather(*(queue.finished(run_id, left_s) for run_id in runs))

    async def search(self, owner: str | None, wanted: ThreadFilter, page: Page, *, with_values: bool = True) -> list[Thread]:
        return await self._persistence.records.search_threads(owner, wanted, page, with_values=with_values)

    async def count(self, owner: str | None, wanted: ThreadFilter) -> int:
        return await self._persistence.records.count_threads(owner, wanted)

    async def copy(self, owner: str | None, thread_id: str, key: RequestKey | None = None) -> Thread:
        return await self._persistence.records.copy_thread(owner, thread_id, self._new_id(), key)

    async def state(
        self,
        owner: str | None,
        thread_id: str,
        *,
        checkpoint: Checkpoint | None = None,
        subgraphs: bool = False,
        show_values: ShowValues = plain,
    ) -> dict[str, Any]:
        """The newest state, or the one at `checkpoint` (its namespace, its id, or both), as the SDK's `ThreadState`."""
        return await self._states.read(owner, thread_id, checkpoint, subgraphs=subgraphs, show_values=show_values)

    async def messages(
        self,
        owner: str | None,
        thread_id: str,
        *,
        checkpoint_id: str | None = None,
        before: int | None = None,
        limit: int = 50,
        whole_turns: bool = False,
    ) -> MessagePage:
        """A page of the thread's messages, newest first, now or at a checkpoint; `before` is where the previous page ended. With
        `whole_turns`, the page may be longer, so that its oldest message begins a turn."""
        checkpoint = {"checkpoint_id": checkpoint_id} if checkpoint_id else None
        return await self._states.messages(owner, thread_id, checkpoint, before=before, limit=limit, whole_turns=whole_turns)

    async def update_state(
        self,
        owner: str | None,
        thread_id: str,
        *,
        values: Any,
        as_node: str | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> dict[str, Any]:
        """Write values as if a node had written them. Returns the new checkpoint, under `checkpoint` and `configurable`.

        From an earlier checkpoint, this starts a new branch.
        """
        return await self._states.update(owner, thread_id, [[StateUpdate(values, as_node)]], checkpoint)

    async def history(
        self,
        owner: str | None,
        thread_id: str,
        *,
        limit: int = 10,
        before: Mapping[str, Any] | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        checkpoint: Checkpoint | None = None,
        show_values: ShowValues = plain,
    ) -> list[dict[str, Any]]:
        """Earlier states, newest first."""
        return await self._states.history(
            owner,
            thread_id,
            limit=limit,
            before=before,
            metadata=metadata,
            checkpoint=checkpoint,
            show_values=show_values,
        )

    async def prune(self, owner: str | None, thread_ids: Sequence[str], strategy: PruneStrategy = "delete") -> int:
        """Delete threads, or all of their history except the newest state. Returns how many threads were pruned; unknown ones are skipped.

        Threads that are busy are named in a `ThreadBusyError` after the others are done; repeating the request is safe.
        """
        busy, done = [], 0
        for thread_id in dict.fromkeys(thread_ids):
            try:
                await self._prune_one(owner, thread_id, strategy)
                done += 1
            except NotFoundError as error:
                if error.kind != "thread":
                    raise
            except ThreadBusyError:
                busy.append(thread_id)
        if busy:
            raise ThreadBusyError(
                f"{done} threads were pruned, but these have a run under way: {', '.join(busy)}. "
                "Wait for the runs to end, or cancel them, then try again."
            )
        return done

    def export(self, owner: str) -> AsyncIterator[bytes]:
        """Everything that belongs to a user, as JSON lines."""
        return export_owner(str(owner), self._persistence, self._states, self._clock)

    def _new(
        self, owner: str | None, thread_id: str | None, metadata: Mapping[str, Any] | None, graph_id: str | None
    ) -> Thread:
        now = self._clock.now()
        described = {**stamped(owner, metadata), **({"graph_id": graph_id} if graph_id else {})}
        return Thread(
            _uuid(thread_id) if thread_id is not None else self._new_id(),
            SYSTEM if owner is None else str(owner),
            now,
            now,
            metadata=described,
        )

    async def _with_past(self, thread: Thread, steps: Sequence[Sequence[StateUpdate]]) -> Thread:
        try:
            await self._states.update(thread.owner, thread.thread_id, steps, None)
        except BaseException:
            # All or nothing, so that the caller can send the request again after a failure.
            await self._persistence.records.delete_thread(thread.owner, thread.thread_id)
            raise
        return await self._persistence.records.get_thread(thread.owner, thread.thread_id)

    async def _prune_one(self, owner: str | None, thread_id: str, strategy: PruneStrategy) -> None:
        if strategy == "delete":
            await self._persistence.records.delete_thread(owner, thread_id)
        else:
            await self._states.forget_past(owner, thread_id)


def _uuid(thread_id: str) -> str:
    try:
        return str(UUID(thread_id))
    except (ValueError, AttributeError, TypeError) as error:
        raise InvalidRequestError(
            f"A thread's id has to be a UUID, and {thread_id[:80]!r} is not one. Leave it out to get one."
        ) from error
