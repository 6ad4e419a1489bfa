"""One thread of one graph, as a person at a terminal deals with it: send something, read what the run says, answer interrupts.

```
GraphSession    a graph in this process; its threads are kept in memory and end with the process      chat
EngineSession   an engine in this process over a file; the next process goes on with a killed run     research
RemoteSession   an assistant on a server, through LangGraph's client; the server keeps everything     chat, research
```
All three say the same things in the same JSON, so that a dialogue need not know where its graph runs. Nothing here prints or reads.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from stepwell.errors import RunError

TERMINAL = "terminal"
"""What this device is called where it claims something."""
CLAIM_S = 60
"""How long a claim lasts that nobody renews: an operation on a folder takes a moment."""


@dataclass(frozen=True, slots=True)
class StreamPart:
    """One part of a run's stream, as JSON: `updates` of a node, a piece of `messages`, `metadata` of the attempt."""

    mode: str
    namespace: tuple[str, ...]
    """Empty for the graph itself; the way to the subgraph that speaks otherwise."""
    data: Any


@dataclass(frozen=True)
class OpenInterrupt:
    """An interrupt that waits for an answer."""

    id: str
    value: Any


@dataclass(frozen=True)
class ThreadLine:
    """A thread in a listing."""

    thread_id: str
    about: str
    """Its state, or how it began."""


class RunFailedError(RunError):
    """A run ended with an error of its own; `kind` is the name of that error's class, `reason` what it says."""

    def __init__(self, kind: str, reason: str) -> None:
        self.kind = kind
        self.reason = reason
        super().__init__(f"{kind}: {reason}")


def read_part(event: str, data: Any) -> StreamPart:
    """A part from an event's name and data; `RunFailedError` for the one that says that the run failed."""
    mode, *namespace = event.split("|")
    if mode == "error":
        raise RunFailedError(str(data.get("error") or "Error"), str(data.get("message") or ""))
    return StreamPart(mode, tuple(namespace), data)


class Session(Protocol):
    """Its asynchronous methods belong to one event loop. A stream raises what its run raised, or `RunFailedError` in its place."""

    @property
    def thread_id(self) -> str: ...

    def send(self, input: Mapping[str, Any] | None, *, title: str = "") -> AsyncGenerator[StreamPart]:
        """Start a run; None goes on from the last checkpoint. A thread that begins with this is listed under `title`."""
        ...

    def answer(self, answers: Mapping[str, Any]) -> AsyncGenerator[StreamPart]:
        """Answer open interrupts by their ids; the run goes on."""
        ...

    def follow(self) -> AsyncGenerator[StreamPart]:
        """What runs that are under way still say; nothing if there is none."""
        ...

    async def stop(self) -> None:
        """End the run whose stream was just left, wherever it runs. `send(None)` goes on with it later."""
        ...

    async def values(self) -> Mapping[str, Any]:
        """The thread's state; empty before its first run."""
        ...

    async def interrupts(self) -> tuple[OpenInterrupt, ...]:
        """What waits for an answer, in the order in which it was asked."""
        ...

    async def claim(self, interrupt_id: str) -> str | None:
        """Say that this device is about to carry out what an interrupt asks, so that no other one does it too. Gives the id that the
        answer must carry; None where nobody else could. A `RunError` if another device was faster."""
        ...


class Conversations(Protocol):
    """The threads that one graph has with one person."""

    def new(self) -> Session:
        """A thread that does not exist yet; its first `send` makes it."""
        ...

    async def open(self, thread_id: str) -> Session:
        """A thread to continue; `NotFoundError` if there is none."""
        ...

    async def newest(self) -> list[ThreadLine]:
        """Threads that can be continued, the newest first."""
        ...
