"""A thread's history in LangGraph's `InMemorySaver`.

That saver stores channel values apart from checkpoints, under (thread, namespace, channel, version). So a whole value is stored for the
version that its checkpoint names; checkpoints with the same version share the value, which is correct.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from stepwell.backends.steps import Steps, run_steps
from stepwell.state.history import (
    Delete,
    Key,
    ListKeys,
    ListWriters,
    Load,
    Loaded,
    Measure,
    ReadWrites,
    Request,
    Rewrite,
    Row,
    Stored,
)

T = TypeVar("T")


class MemoryHistory:
    """Runs compaction on an `InMemorySaver`. If the process dies, the whole store is gone too, so there is no transaction."""

    def __init__(self, saver: InMemorySaver, thread_id: str, serde: SerializerProtocol) -> None:
        self._saver = saver
        self._thread_id = thread_id
        self._serde = serde

    def run(self, steps: Steps[Request, T]) -> T:
        return run_steps(steps, self._perform)

    async def arun(self, steps: Steps[Request, T]) -> T:
        return self.run(steps)

    def _perform(self, request: Request) -> Any:
        match request:
            case Measure():
                return self._measure()
            case ListKeys():
                return self._rows()
            case Load(key):
                return self._load(key)
            case ReadWrites(key, channel):
                return [self._serde.loads_typed(value) for _, name, value, _ in self._writes(key) if name == channel]
            case ListWriters(key):
                return [(task_id, channel) for task_id, channel, _, _ in self._writes(key)]
            case Rewrite(key, values):
                versions = self._load(key).checkpoint["channel_versions"]
                for channel, value in values.items():
                    self._saver.blobs[self._thread_id, key.namespace, channel, versions[channel]] = self._serde.dumps_typed(
                        value
                    )
            case Delete(keys):
                self._delete(keys)
        return None

    def _namespaces(self) -> dict[str, dict[str, Any]]:
        return {name: dict(held) for name, held in self._saver.storage.get(self._thread_id, {}).items() if held}

    def _writes(self, key: Key) -> list[tuple[str, str, tuple[str, bytes], str]]:
        held = self._saver.writes.get((self._thread_id, *key), {})
        # LangGraph's `writes_sort_key`: by task path, then task id, then index.
        return [write for _, write in sorted(held.items(), key=lambda item: (item[1][3], *item[0]))]

    def _written_keys(self) -> list[Key]:
        return [Key(*key[1:]) for key, held in list(self._saver.writes.items()) if key[0] == self._thread_id and held]

    def _rows(self) -> list[Row]:
        rows = [Row(Key(name, id_), entry[2], True) for name, held in self._namespaces().items() for id_, entry in held.items()]
        known = {row.key for row in rows}
        return rows + [Row(key, None, False) for key in self._written_keys() if key not in known]

    def _load(self, key: Key) -> Loaded:
        stored, metadata, _ = self._saver.storage[self._thread_id][key.namespace][key.checkpoint_id]
        checkpoint = self._serde.loads_typed(stored)
        blobs = {
            channel: self._saver.blobs.get((self._thread_id, key.namespace, channel, version), ("empty", b""))
            for channel, version in checkpoint["channel_versions"].items()
        }
        values = {channel: self._serde.loads_typed(blob) for channel, blob in blobs.items() if blob[0] != "empty"}
        return Loaded({**checkpoint, "channel_values": values}, self._serde.loads_typed(metadata))

    def _delete(self, keys: Iterable[Key]) -> None:
        storage = self._saver.storage[self._thread_id]
        for key in keys:
            storage[key.namespace].pop(key.checkpoint_id, None)
            self._saver.writes.pop((self._thread_id, *key), None)
        for namespace in [name for name, held in storage.items() if not held]:
            del storage[namespace]
        for unused in self._blob_keys() - self._used_blob_keys():
            del self._saver.blobs[unused]

    def _blob_keys(self) -> set[tuple[Any, ...]]:
        return {key for key in list(self._saver.blobs) if key[0] == self._thread_id}

    def _used_blob_keys(self) -> set[tuple[Any, ...]]:
        used: set[tuple[Any, ...]] = set()
        for namespace, held in self._namespaces().items():
            for stored, _, _ in held.values():
                versions = self._serde.loads_typed(stored)["channel_versions"]
                used |= {(self._thread_id, namespace, channel, version) for channel, version in versions.items()}
        return used

    def _measure(self) -> Stored:
        namespaces = self._namespaces()
        entries = [entry for held in namespaces.values() for entry in held.values()]
        writes = [write for key in self._written_keys() for write in self._writes(key)]
        size = sum(len(stored[1]) + len(metadata[1]) for stored, metadata, _ in entries)
        size += sum(len(write[2][1]) for write in writes) + sum(len(self._saver.blobs[key][1]) for key in self._blob_keys())
        return Stored(len(entries), len(namespaces), len(writes), size)
