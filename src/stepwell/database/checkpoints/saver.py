"""Checkpoints in the database: a LangGraph saver that belongs to a run.

Rules to keep:
- Every write checks, in its own transaction, that the lease is still the newest of its thread. If it is not, the write is refused.
- A write is submitted to the database before the first `await`, so nothing that is journaled afterwards is ever stored without that write.
- Values are serialised and packed here (`packing`), in the caller's thread; the writer thread does nothing but SQL.
- Only listed types are deserialised (`database/checkpoints/serializer`). A graph adds its own types with `with_allowlist`.

A saver without a lease only reads. It knows nothing about owners; the layer above decides who may read which thread.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from typing import Any, cast

import orjson
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import ERROR

from stepwell.clock import Clock
from stepwell.database.checkpoints import statements as sql
from stepwell.database.checkpoints.delta_channels import Lineage, read_lineage
from stepwell.database.checkpoints.history import DatabaseHistory
from stepwell.database.checkpoints.packing import PackedSerializer, unpack_metadata
from stepwell.database.checkpoints.places import CheckpointPlace, Pages, config_of, listing_of, place_of
from stepwell.database.checkpoints.serializer import strict_serializer
from stepwell.database.database import SqlDatabase, Work
from stepwell.database.fence import fenced, fenced_part
from stepwell.database.sent_messages import take
from stepwell.database.steering import SqlSteering
from stepwell.database.types import Lease
from stepwell.errors import ConfigurationError
from stepwell.secrets.text import hide_secrets
from stepwell.secrets.values import SECRETS_KEY, without_secrets
from stepwell.sql import Connection
from stepwell.state.compact import acompact, compact
from stepwell.state.history import ThreadHistory


class SqlSaver(BaseCheckpointSaver[int]):
    """LangGraph's checkpoints: for one run, or for reading those of any thread."""

    def __init__(
        self,
        database: SqlDatabase,
        lease: Lease | None = None,
        *,
        clock: Clock,
        serde: SerializerProtocol | None = None,
        steering: SqlSteering | None = None,
    ) -> None:
        """`steering`: the messages for the run, which are taken with the step that stores them."""
        super().__init__(serde=serde or strict_serializer())
        self._database = database
        self._lease = lease
        self._clock = clock
        self._steering = steering
        self._lineage: tuple[tuple[str, str], Lineage] | None = None
        """The lineage that was read last, kept by savers that only read, because the next checkpoint they need is usually part of it."""
        self._channels: Mapping[str, Any] = {}
        self._oldest: str | None = None
        """The last checkpoint of a listing."""

    def share_past(self, channels: Mapping[str, Any]) -> None:
        """Put together only once what the checkpoints of the next listing have in common. `channels`: those of the graph whose
        checkpoints are listed."""
        self._channels = channels

    # Reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self._database.read_now(self._getting(config))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._database.read(self._getting(config), patient=self._lease is None)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        pages = Pages(listing_of(config, filter, before), limit, self._tuple)
        while pages.size:
            yield from self._database.read_now(pages.next)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        pages = Pages(listing_of(config, filter, before), limit, self._tuple)
        while pages.size:
            page = await self._database.read(pages.next, patient=self._lease is None)
            self._oldest = page[-1].checkpoint["id"] if page else None
            for found in page:
                yield found

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return self._database.read_now(self._inheriting(config, channels))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return await self._database.read(self._inheriting(config, channels), patient=self._lease is None)

    # Writing

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        self._database.write_now(self._putting(config, checkpoint, metadata))
        return _stored(config, checkpoint)

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        await self._database.write(self._putting(config, checkpoint, metadata))
        return _stored(config, checkpoint)

    def put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        self._database.write_now(self._putting_writes(config, writes, task_id, task_path))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await self._database.write(self._putting_writes(config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        self._database.write_now(self._deleting(thread_id))

    async def adelete_thread(self, thread_id: str) -> None:
        await self._database.write(self._deleting(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete what these runs wrote to the lease's thread."""
        self._database.write_now(self._deleting_runs(run_ids))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await self._database.write(self._deleting_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a history into the lease's thread. The caller has checked that the owner of the lease may read the source."""
        self._database.write_now(self._copying(source_thread_id, target_thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self._database.write(self._copying(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep only the latest checkpoint, with all its values, or nothing. For graphs with their own incremental channels use
        `compact`."""
        for thread_id in thread_ids:
            if _known(strategy) == "delete":
                self.delete_thread(thread_id)
            else:
                compact(self, thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        for thread_id in thread_ids:
            if _known(strategy) == "delete":
                await self.adelete_thread(thread_id)
            else:
                await acompact(self, thread_id)

    def thread_history(self, thread_id: str) -> ThreadHistory:
        """The thread's history in the form that `stepwell.state.compact` needs."""
        return DatabaseHistory(self._database, self._lease_for(thread_id), self.serde)

    # The work behind the blocking and async forms

    @property
    def _packed(self) -> PackedSerializer:
        return PackedSerializer(self.serde)

    def _getting(self, config: RunnableConfig) -> Work[CheckpointTuple | None]:
        place = place_of(config)

        def work(connection: Connection) -> CheckpointTuple | None:
            row = sql.get(connection, *place)
            return None if row is None else self._tuple(row)

        return work

    def _inheriting(self, config: RunnableConfig, channels: Sequence[str]) -> Work[Mapping[str, DeltaChannelHistory]]:
        place = place_of(config)

        def work(connection: Connection) -> Mapping[str, DeltaChannelHistory]:
            known = self._lineage and self._lineage[0] == place[:2] and place.checkpoint_id
            if known and self._lineage and (history := self._lineage[1].history(known, channels)):
                return history
            checkpoint_id, lineage = read_lineage(connection, self._packed, place, channels)
            if self._lease is None:  # a run gets its own messages, because nodes may edit them
                self._lineage = (place[:2], lineage)
                if self._oldest is not None:
                    lineage.fold(self._oldest, self._channels)
            return lineage.history(checkpoint_id, channels) or {}

        return work

    def _putting(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata) -> Work[None]:
        thread_id, namespace, parent_id = place_of(config)
        lease = self._lease_for(thread_id)
        # LangGraph copies `configurable` into the metadata, including the caller's own keys.
        public = without_secrets(get_checkpoint_metadata(config, metadata))
        facts = orjson.dumps(public, option=orjson.OPT_NON_STR_KEYS)
        type_, blob = self.serde.dumps_typed(checkpoint)
        made_at = self._clock.now().timestamp()
        row = (thread_id, namespace, checkpoint["id"], parent_id, lease.run_id, type_, blob, facts, made_at)
        return fenced_part(lease, sql.StoredStep(row), sql.put_all)

    def _putting_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> Work[None]:
        place = place_of(config)
        lease = self._lease_for(place.thread_id)
        known = config["configurable"].get(SECRETS_KEY, ())
        shown = [(channel, _without_secrets(value, known) if channel == ERROR else value) for channel, value in writes]
        kept, renewed = _write_rows(place, lease.run_id, self.serde, shown, (task_id, task_path))
        taken = self._steering.among(writes) if self._steering is not None else ()
        if not taken:
            return fenced_part(lease, sql.StoredStep(None, kept, renewed), sql.put_all)

        def work(connection: Connection) -> None:
            sql.put_all(connection, [sql.StoredStep(None, kept, renewed)])
            take(connection, lease.thread_id, taken)

        return fenced(lease, work)

    def _deleting(self, thread_id: str) -> Work[None]:
        lease = self._lease_for(thread_id)
        return fenced(lease, lambda connection: sql.delete_thread(connection, lease.thread_id))

    def _deleting_runs(self, run_ids: Sequence[str]) -> Work[None]:
        lease = self._lease_for(None)
        return fenced(lease, lambda connection: sql.delete_runs(connection, lease.thread_id, run_ids))

    def _copying(self, source: str, target: str) -> Work[None]:
        lease = self._lease_for(target)
        return fenced(lease, lambda connection: sql.copy_thread(connection, str(source), lease.thread_id, lease.run_id))

    def _lease_for(self, thread_id: str | None) -> Lease:
        """The lease, if it is for this thread. `None` accepts any thread."""
        if self._lease is None:
            raise ConfigurationError(
                "This saver only reads: it was made without a lease. Start a run on the thread, or hold it with RunQueue.hold."
            )
        if thread_id is not None and str(thread_id) != self._lease.thread_id:
            raise ConfigurationError(
                f"The run '{self._lease.run_id}' writes to thread '{self._lease.thread_id}' and not to '{thread_id}'. "
                "A graph that needs another thread starts a run there; a subgraph keeps the thread of its parent."
            )
        return self._lease

    def _tuple(self, row: sql.CheckpointRow) -> CheckpointTuple:
        load = self._packed.loads_typed
        return CheckpointTuple(
            config=config_of(row.thread_id, row.namespace, row.checkpoint_id),
            checkpoint=load((row.type, row.checkpoint)),
            metadata=cast("CheckpointMetadata", unpack_metadata(row.metadata)),
            parent_config=config_of(row.thread_id, row.namespace, row.parent_id) if row.parent_id else None,
            pending_writes=[(task_id, channel, load((type_, value))) for task_id, channel, type_, value in row.writes],
        )


WriteRow = tuple[Any, ...]


def _write_rows(
    place: CheckpointPlace, run_id: str, serde: SerializerProtocol, writes: Sequence[tuple[str, Any]], task: tuple[str, str]
) -> tuple[list[WriteRow], list[WriteRow]]:
    """Two lists of rows: those that must not overwrite an existing row, and those that replace it."""
    task_id, task_path = task
    kept: list[WriteRow] = []
    renewed: list[WriteRow] = []
    for index, (channel, value) in enumerate(writes):
        number = WRITES_IDX_MAP.get(channel, index)
        row = (*place, task_id, number, task_path, channel, run_id, *serde.dumps_typed(value))
        (kept if number >= 0 else renewed).append(row)
    return kept, renewed


def _without_secrets(error: Any, known: Collection[str]) -> Any:
    """A node's error as it is stored: only its text, because nothing else could be read back anyway."""
    return hide_secrets(repr(error), known) if isinstance(error, BaseException) else error


def _stored(config: RunnableConfig, checkpoint: Checkpoint) -> RunnableConfig:
    place = place_of(config)
    return config_of(place.thread_id, place.namespace, checkpoint["id"])


def _known(strategy: str) -> str:
    if strategy not in ("keep_latest", "delete"):
        raise ConfigurationError(f"Unknown prune strategy '{strategy}'. Use 'keep_latest' or 'delete'.")
    return strategy
