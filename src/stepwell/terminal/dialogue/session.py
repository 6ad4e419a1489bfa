"""One thread of one graph, as a person at a terminal uses it: send a message, read the run, answer interrupts.

```
GraphSession    a graph in this process; its threads live in memory and end with the process          chat
EngineSession   an engine in this process on a file; the next process resumes a killed run            research
RemoteSession   an assistant on a server, through LangGraph's client; the server stores everything    chat, research
```
All three yield the same JSON, so a dialogue need not know where its graph runs. They neither print nor read input.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from stepwell.errors import RunError

TERMINAL = "terminal"
"""Name of this device in claims."""
CLAIM_S = 60
"""How long a claim lasts. Operations on a folder are quick, so it is never renewed."""


@dataclass(frozen=True, slots=True)
class StreamPart:
    """One part of a run's stream, as JSON: `updates` of a node, a piece of `messages`, `metadata` of the attempt."""

    mode: str
    namespace: tuple[str, ...]
    """Empty for the graph itself; otherwise the path to the subgraph that speaks."""
    data: Any


@dataclass(frozen=True)
class OpenInterrupt:
    """An interrupt that waits for an answer."""

    id: str
    value: Any
    schema: Mapping[str, Any] | None = None
    """What its answer must look like, if it says so."""


@dataclass(frozen=True)
class ThreadLine:
    """A thread in a listing."""

    thread_id: str
    about: str
    """Its status and title."""


@dataclass(frozen=True)
class TaskLine:
    """A background task in a listing."""

    task_id: str
    agent_name: str
    status: str
    description: str = ""


@dataclass(frozen=True)
class SubAgentLine:
    """A task of a subagent in a listing."""

    task_id: str
    name: str
    about: str
    """The task, and how it stands."""


class RunFailedError(RunError):
    """A run failed; `kind` is the name of the error's class, `reason` its message."""

    def __init__(self, kind: str, reason: str) -> None:
        self.kind = kind
        self.reason = reason
        super().__init__(f"{kind}: {reason}")


def read_part(event: str, data: Any) -> StreamPart:
    """A part from an event's name and data; `RunFailedError` for an `error` event."""
    mode, *namespace = event.split("|")
    if mode == "error":
        raise failure_in(data)
    return StreamPart(mode, tuple(namespace), data)


def failure_in(error: Mapping[str, Any] | None) -> RunFailedError:
    """The failure of a run, from the error that its thread keeps."""
    error = error or {}
    return RunFailedError(str(error.get("error") or "Error"), str(error.get("message") or ""))


class Session(Protocol):
    """One thread; its asynchronous methods belong to one event loop. If a run fails, its stream raises the run's own exception or
    `RunFailedError`."""

    @property
    def thread_id(self) -> str: ...

    def send(self, input: Mapping[str, Any] | None, *, title: str = "") -> AsyncGenerator[StreamPart]:
        """Start a run; the input None continues from the last checkpoint. `title` becomes the title of a new thread."""
        ...

    def answer(self, answers: Mapping[str, Any]) -> AsyncGenerator[StreamPart]:
        """Answer open interrupts by their ids; the run resumes."""
        ...

    def follow(self) -> AsyncGenerator[StreamPart]:
        """The rest of the stream of active runs; nothing if there are none."""
        ...

    async def stop(self) -> None:
        """End the run whose stream was just left, wherever it runs. `send(None)` continues it later."""
        ...

    async def values(self) -> Mapping[str, Any]:
        """The thread's state; empty before its first run."""
        ...

    async def inputs(self) -> list[Mapping[str, Any]]:
        """The inputs of active runs, oldest first. `values` may not have them yet."""
        ...

    async def failure(self) -> RunFailedError | None:
        """How the thread's newest run failed; None if it did not."""
        ...

    async def interrupts(self) -> tuple[OpenInterrupt, ...]:
        """The open interrupts, oldest first."""
        ...

    async def tasks(self) -> list[TaskLine]:
        """The background tasks that the thread has started, oldest first."""
        ...

    async def stop_task(self, task_id: str) -> None:
        """Stop a background task; `NotFoundError` or another `RunError` if there is no such task."""
        ...

    def hear_tasks(self) -> AsyncGenerator[StreamPart]:
        """The runs in which the agent hears of tasks that have ended. A server starts them itself; they are followed."""
        ...

    async def subagents(self) -> list[SubAgentLine]:
        """The tasks that the thread's agent gave to subagents, oldest first."""
        ...

    async def subagent_messages(self, task_id: str) -> list[Mapping[str, Any]]:
        """What was said in a task, oldest first. `NotFoundError` or `RunError` if nothing is stored of it."""
        ...

    async def claim(self, interrupt_id: str) -> str | None:
        """Claim an interrupt that this device is about to carry out, so that no other device does so too. Returns the id that the answer
        must carry; None if no other device can reach the thread. `RunError` if another device was faster."""
        ...

    async def rewind(self, turn_id: str, *, dry_run: bool = False, force: bool = False) -> Mapping[str, Any]:
        """Take a turn back, with all after it; or only say what would happen. `RewindError` if that is not possible."""
        ...

    async def steer(self, text: str) -> None:
        """Send a message to the run whose stream is being read: it enters before the next model call. `RunError` if it cannot."""
        ...

    async def withdraw(self) -> list[str]:
        """Take back the messages to the run that its agent has not read; returns their texts, oldest first."""
        ...

    def hear_steered(self) -> AsyncGenerator[StreamPart]:
        """The runs that messages have become which came too late for theirs. Nothing if there are none."""
        ...

    async def aside(self, question: str) -> str:
        """The answer to a question about the conversation, of which the thread keeps nothing."""
        ...


class Conversations(Protocol):
    """One person's threads with one graph."""

    @property
    def configurable(self) -> dict[str, Any]:
        """What every run that starts from now on gets in its `configurable`. Change it in place."""
        ...

    def new(self) -> Session:
        """A thread that does not exist yet; its first `send` creates it."""
        ...

    async def open(self, thread_id: str) -> Session:
        """A thread to continue; `NotFoundError` if it does not exist."""
        ...

    async def newest(self) -> list[ThreadLine]:
        """Threads that can be continued, newest first."""
        ...
