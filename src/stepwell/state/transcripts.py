"""What subagents said, and what they were given: read from the checkpoints that their calls have left in the thread.

```
thread ── "" ─────────────── the agent's own checkpoints
       └─ "tools:<task>" ─── one namespace per call of a subagent; the metadata of its checkpoints names the subagent and the call
```
A subagent's graph is nested in its parent's, so it is stored without our doing, in any saver. A call keeps its namespace when it is
interrupted, resumed or driven again. The id of a task is the id of the call that began it. Retention deletes the namespaces of calls that
have ended (`stepwell.state.compact`); their ids have then expired.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from stepwell.backends.steps import Steps, arun_steps, run_steps
from stepwell.state.messages import reduce_messages
from stepwell.state.stored_values import Reading, Saver, areading_from, reading_from, stored_values

NAME = "subagent"
"""The key of a subagent's name in the metadata of its checkpoints."""
CALL_ID = "subagent_call_id"
CONTINUES = "subagent_continues"
"""The key of the task that a call continues."""
MESSAGES = "messages"
_TASK_MESSAGE = "task-"
_CARRIED = (MESSAGES, "summary", "todos", "loaded_tools")
_START = "__start__"


@dataclass(frozen=True, slots=True)
class Transcript:
    """A subagent's messages, oldest first, and the other state with which a later call continues."""

    task_id: str
    name: str
    messages: Sequence[BaseMessage]
    state: Mapping[str, Any] = field(default_factory=dict)
    continues: str | None = None
    checkpoint_id: str | None = None

    @property
    def own(self) -> Sequence[BaseMessage]:
        """The messages from the first task on. A fork's conversation begins with its parent's."""
        return self.messages[own_start(self.messages) :]

    @property
    def task(self) -> str:
        """What the subagent was asked, in this call."""
        wanted = task_message_id(self.task_id)
        given = (message for message in self.messages if message.id == wanted)
        return next(given, self.messages[0]).text if self.messages else ""


def task_message_id(call_id: str) -> str:
    """The id of the message that gives a subagent its task; the same each time the call is driven."""
    return f"{_TASK_MESSAGE}{call_id}"


def own_start(messages: Sequence[Any]) -> int:
    """Where a subagent's own messages begin: at its first task, after what a fork has seen of its parent's conversation."""
    ids = (getattr(message, "id", None) or "" for message in messages)
    return next((place for place, found in enumerate(ids) if found.startswith(_TASK_MESSAGE)), 0)


def read_transcript(saver: Saver, thread_id: str, task_id: str) -> Transcript | None:
    """What a subagent has said and done so far; None if the thread has nothing stored under this id."""
    return run_steps(_read(thread_id, task_id), reading_from(saver))


async def aread_transcript(saver: Saver, thread_id: str, task_id: str) -> Transcript | None:
    """The same from async code."""
    return await arun_steps(_read(thread_id, task_id), areading_from(saver))


def list_transcripts(saver: Saver, thread_id: str) -> list[Transcript]:
    """All that a thread has stored of its subagents, oldest first. Reads the thread's whole history."""
    return run_steps(_read_all(thread_id), reading_from(saver))


async def alist_transcripts(saver: Saver, thread_id: str) -> list[Transcript]:
    """The same from async code."""
    return await arun_steps(_read_all(thread_id), areading_from(saver))


def transcript_at(saved: CheckpointTuple) -> Steps[Reading, Transcript]:
    """The transcript at a checkpoint of a subagent, with what its unfinished step has written so far."""
    values, _ = yield from stored_values(saved, _CARRIED)
    begun = saved.checkpoint["channel_values"].get(_START)
    given = begun.get(MESSAGES) if isinstance(begun, Mapping) else None
    written = [value for _, channel, value in saved.pending_writes or () if channel == MESSAGES]
    before = values.pop(MESSAGES, None)
    messages = reduce_messages(before if isinstance(before, list) else [], [*([given] if given else []), *written])
    facts: Mapping[str, Any] = saved.metadata
    return Transcript(
        task_id=str(facts.get(CALL_ID) or ""),
        name=str(facts.get(NAME) or ""),
        messages=messages,
        state=values,
        continues=facts.get(CONTINUES),
        checkpoint_id=saved.config["configurable"].get("checkpoint_id"),
    )


@dataclass(frozen=True, slots=True)
class _ListCheckpoints:
    thread_id: str
    metadata: dict[str, Any] | None = None

    def on(self, saver: Saver) -> list[CheckpointTuple]:
        return list(saver.list(self._config(), filter=self.metadata))

    async def aon(self, saver: Saver) -> list[CheckpointTuple]:
        return [saved async for saved in saver.alist(self._config(), filter=self.metadata)]

    def _config(self) -> RunnableConfig:
        return {"configurable": {"thread_id": self.thread_id}}  # no namespace: all of them


def _read(thread_id: str, task_id: str) -> Steps[Reading, Transcript | None]:
    found: list[CheckpointTuple] = yield _ListCheckpoints(thread_id, {CALL_ID: task_id})
    newest = _newest_by_task(found).get(task_id)
    return None if newest is None else (yield from transcript_at(newest))


def _read_all(thread_id: str) -> Steps[Reading, list[Transcript]]:
    found: list[CheckpointTuple] = yield _ListCheckpoints(thread_id)
    transcripts = []
    for saved in sorted(_newest_by_task(found).values(), key=_began):
        transcripts.append((yield from transcript_at(saved)))
    return transcripts


def _newest_by_task(found: Iterable[CheckpointTuple]) -> dict[str, CheckpointTuple]:
    """Each call's newest checkpoint. A graph inside of a subagent has the same metadata, but lies deeper. A call that was made again, on a
    branch of the thread, has several namespaces; the newest counts."""
    newest: dict[str, CheckpointTuple] = {}
    for saved in found:
        call_id = saved.metadata.get(CALL_ID)
        if not saved.config["configurable"].get("checkpoint_ns") or not isinstance(call_id, str):
            continue
        known = newest.get(call_id)
        if known is None or _order(saved) > _order(known):
            newest[call_id] = saved
    return newest


def _order(saved: CheckpointTuple) -> tuple[int, str]:
    named = saved.config["configurable"]
    return -depth_of(named["checkpoint_ns"]), named["checkpoint_id"]


def depth_of(namespace: str) -> int:
    """How many graphs a namespace is inside of. Counters among its parts tell calls in one task apart."""
    return sum(not part.isdigit() for part in namespace.split("|"))


def _began(saved: CheckpointTuple) -> str:
    parents = saved.metadata.get("parents") or {}
    return str(min(parents.values(), default=""))
