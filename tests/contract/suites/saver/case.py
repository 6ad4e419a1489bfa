"""What every test of the saver suite stands on: savers for runs on threads, their methods, sync or async, and checkpoints to store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, CheckpointMetadata, CheckpointTuple, empty_checkpoint

Saver = BaseCheckpointSaver[Any]


class SaverCase:
    """Override `make_saver`, and `outdate` for savers that are bound to a lease."""

    def make_saver(self, thread_id: str, run_id: str) -> Saver:
        """A saver with which this run may write to this thread, from now on. All savers of one test share their storage."""
        raise NotImplementedError

    def outdate(self, thread_id: str) -> None:
        """Let another worker take the thread over."""
        raise NotImplementedError

    def make_reader(self) -> Saver:
        """A saver that may only read."""
        raise NotImplementedError

    @pytest.fixture
    def runner(self) -> Iterator[asyncio.Runner]:
        with asyncio.Runner() as runner:
            yield runner

    @pytest.fixture(params=["sync", "async"])
    def calls(self, runner: asyncio.Runner, request: pytest.FixtureRequest) -> SaverCalls:
        return SaverCalls(runner, request.param)


class SaverCalls:
    """The methods of a saver, sync or async."""

    def __init__(self, runner: asyncio.Runner, form: str) -> None:
        self._runner = runner
        self._form = form

    def __call__(self, saver: Saver, method: str, *args: Any, **options: Any) -> Any:
        if self._form == "sync":
            return getattr(saver, method)(*args, **options)
        return self._runner.run(getattr(saver, f"a{method}")(*args, **options))

    def graph(self, graph: Any, method: str, *args: Any, **options: Any) -> Any:
        """The same for a method of a compiled graph."""
        return self(graph, method, *args, **options)

    def listed(self, saver: Saver, config: RunnableConfig | None, **options: Any) -> list[CheckpointTuple]:
        if self._form == "sync":
            return list(saver.list(config, **options))

        async def collect() -> list[CheckpointTuple]:
            return [each async for each in saver.alist(config, **options)]

        return self._runner.run(collect())

    def inherited(self, saver: Saver, config: RunnableConfig, channels: list[str]) -> Any:
        """What the saver says incremental channels are rebuilt from."""
        return self(saver, "get_delta_channel_history", config=config, channels=channels)

    def inherited_by_walking(self, saver: Saver, config: RunnableConfig, channels: list[str]) -> Any:
        """The same by LangGraph's own walk from parent to parent."""
        if self._form == "sync":
            return BaseCheckpointSaver.get_delta_channel_history(saver, config=config, channels=channels)
        return self._runner.run(BaseCheckpointSaver.aget_delta_channel_history(saver, config=config, channels=channels))

    def store(
        self,
        saver: Saver,
        after: RunnableConfig,
        values: Mapping[str, Any],
        *,
        only_versions: tuple[str, ...] = (),
        **metadata: Any,
    ) -> RunnableConfig:
        """Put a checkpoint after the one (or on the thread) that a config names. Gives the config of the new one."""
        checkpoint = new_checkpoint(saver, values, only_versions)
        facts: CheckpointMetadata = {"source": "loop", "step": 0, "parents": {}}
        facts.update(metadata)  # type: ignore[typeddict-item]  # savers keep keys that LangGraph does not know
        stored: RunnableConfig = self(saver, "put", after, checkpoint, facts, checkpoint["channel_versions"])
        return stored


def new_checkpoint(saver: Saver, values: Mapping[str, Any], only_versions: tuple[str, ...] = ()) -> Checkpoint:
    """A checkpoint that is newer than all before. Incremental channels have a version in it and often no value."""
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = dict(values)
    version: Any = saver.get_next_version(None, None)
    checkpoint["channel_versions"] = dict.fromkeys([*values, *only_versions], version)
    return checkpoint


def at(thread_id: str, namespace: str = "", checkpoint_id: str | None = None) -> RunnableConfig:
    """A config that names a thread's latest checkpoint, or a certain one."""
    named = {"thread_id": thread_id, "checkpoint_ns": namespace}
    return {"configurable": {**named, "checkpoint_id": checkpoint_id} if checkpoint_id else named}


def id_of(config: RunnableConfig | None) -> str:
    assert config is not None
    checkpoint_id: str = config["configurable"]["checkpoint_id"]
    return checkpoint_id
