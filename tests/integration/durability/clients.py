"""Clients that live through crashes: they send, follow, ask again, and write down what they were told.

A message is sent once. When the answer does not come, nobody knows whether it was taken; when it does, it was. Reading is repeated
until it succeeds, and so is an answer to a question: those may be given again.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

AGENTS = ("deep", "gated", "noting", "steered", "continued")
"""Graphs that are agents: their messages are all they are given."""
FINISHED = ("success", "error", "timeout", "interrupted")
PATIENCE_S = 240.0
"""Long: on a busy machine a server that lives for half a second may not get to answer for many lives."""
_PAUSE_S = 0.03


@dataclass(frozen=True)
class Said:
    """A message that was sent, and the run it became if that was told."""

    thread_id: str
    graph: str
    mark: str
    run_id: str | None


@dataclass(frozen=True)
class Event:
    seq: int
    event: str
    data: str


@dataclass
class Book:
    """What all clients of a test know. Lists are only added to."""

    said: list[Said] = field(default_factory=list)
    followed: dict[str, list[Event]] = field(default_factory=dict)
    answers: list[tuple[str, str]] = field(default_factory=list)
    """Thread and answer, as far as they were acknowledged."""
    copies: dict[str, str] = field(default_factory=dict)
    """Thread -> the one it is a copy of."""
    undone: set[str] = field(default_factory=set)
    """Threads on which somebody asked for a rollback."""
    rollbacks: int = 0
    """Those that met a run under way."""
    steered: int = 0
    """Messages that were sent to a run while it worked."""
    connections: int = 0
    """Those that brought events."""

    def threads(self, graph: str) -> list[str]:
        return list(dict.fromkeys(said.thread_id for said in self.said if said.graph == graph))


class Client:
    """One person at one connection."""

    def __init__(self, url: str, book: Book) -> None:
        self._http = httpx.Client(base_url=url, timeout=60)
        self._book = book

    def close(self) -> None:
        self._http.close()

    def say(self, graph: str, thread_id: str, **body: Any) -> Said:
        """Send one message, once."""
        mark = uuid.uuid4().hex
        message = {"role": "user", "content": mark, "id": mark}
        given = {"messages": [message]} if graph in AGENTS else {"messages": [message], "marks": [mark]}
        order = {"assistant_id": graph, "input": given, "if_not_exists": "create", **body}
        try:
            response = self._patiently(lambda: self._http.post(f"/threads/{thread_id}/runs", json=order), httpx.ConnectError)
        except httpx.TransportError:
            said = Said(thread_id, graph, mark, None)
        else:
            assert response.status_code == 200, response.text
            said = Said(thread_id, graph, mark, response.json()["run_id"])
        self._book.said.append(said)
        return said

    def steer(self, said: Said) -> Said | None:
        """Send one message to the run that another one became, as often as it takes; None if the run had ended before."""
        mark = uuid.uuid4().hex
        where = f"/threads/{said.thread_id}/runs/{said.run_id}/messages"
        body = {"message": {"id": mark, "content": mark}}
        response = self._patiently(lambda: self._http.post(where, json=body))
        if response.status_code == 409:
            assert response.json()["code"] == "NO_ACTIVE_RUN", response.text
            return None
        assert response.status_code == 202, response.text
        sent = Said(said.thread_id, said.graph, mark, response.json()["run_id"])
        self._book.said.append(sent)
        self._book.steered += 1
        return sent

    def answer(self, graph: str, thread_id: str, interrupt_id: str, answer: str) -> str:
        """Answer a question as often as it takes; gives the run."""
        order = {"assistant_id": graph, "command": {"resume": {interrupt_id: answer}}}
        response = self._patiently(lambda: self._http.post(f"/threads/{thread_id}/runs", json=order))
        assert response.status_code == 200, response.text
        self._book.answers.append((thread_id, answer))
        return str(response.json()["run_id"])

    def answer_otherwise(self, graph: str, thread_id: str, interrupt_id: str, answer: str) -> httpx.Response:
        order = {"assistant_id": graph, "command": {"resume": {interrupt_id: answer}}}
        return self._patiently(lambda: self._http.post(f"/threads/{thread_id}/runs", json=order))

    def approve(self, thread_id: str, interrupt_id: str) -> str | None:
        """Approve what is asked as often as it takes; gives the run, or None if it is not asked any more."""
        answer = {"decisions": [{"type": "approve"}]}
        order = {"assistant_id": "gated", "command": {"resume": {interrupt_id: answer}}}
        response = self._patiently(lambda: self._http.post(f"/threads/{thread_id}/runs", json=order))
        assert response.status_code in (200, 404, 409), response.text
        return str(response.json()["run_id"]) if response.status_code == 200 else None

    def copy(self, thread_id: str) -> str:
        """Copy a thread. A copy whose id did not arrive stays alone."""
        copied: dict[str, Any] = self._patiently(lambda: self._http.post(f"/threads/{thread_id}/copy")).json()
        self._book.copies[copied["thread_id"]] = thread_id
        return str(copied["thread_id"])

    def roll_back(self, thread_id: str, run_id: str) -> None:
        """Stop a run and wish that it had never been; nothing happens to one that has ended."""
        self._book.undone.add(thread_id)
        where = f"/threads/{thread_id}/runs/{run_id}"
        self._patiently(lambda: self._http.post(f"{where}/cancel", params={"action": "rollback", "wait": True}))
        self._book.rollbacks += self.get(where) is None

    def get(self, path: str) -> Any:
        """Read until it succeeds; None for what is not there."""
        response = self._patiently(lambda: self._http.get(path))
        assert response.status_code in (200, 404), response.text
        return response.json() if response.status_code == 200 else None

    def wait(self, thread_id: str, run_id: str) -> dict[str, Any]:
        """Until the run has ended."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            run: dict[str, Any] = self.get(f"/threads/{thread_id}/runs/{run_id}")
            if run["status"] in FINISHED:
                return run
            time.sleep(_PAUSE_S)
        raise AssertionError(f"run {run_id} is still {run['status']} after {PATIENCE_S:g} s")

    def settle(self, thread_id: str) -> dict[str, Any] | None:
        """Until nothing goes on on a thread; None if it was never made."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            thread: dict[str, Any] | None = self.get(f"/threads/{thread_id}")
            if thread is None or thread["status"] != "busy":
                return thread
            time.sleep(_PAUSE_S)
        raise AssertionError(f"thread {thread_id} is still busy after {PATIENCE_S:g} s")

    def follow(self, thread_id: str, run_id: str) -> list[Event]:
        """Everything a run says, to its end, coming back with Last-Event-ID after each cut."""
        events: list[Event] = []
        until = time.monotonic() + PATIENCE_S
        while not events or events[-1].event != "end":
            assert time.monotonic() < until, f"run {run_id} has no end after {PATIENCE_S:g} s: {events[-3:]}"
            try:
                events += self.events(thread_id, run_id, events[-1].seq if events else None)
                self._book.connections += 1
            except httpx.TransportError:
                time.sleep(_PAUSE_S)
        self._book.followed[run_id] = events
        return events

    def events(self, thread_id: str, run_id: str, after: int | None, most: int | None = None) -> list[Event]:
        """What one connection brings until it ends or is cut."""
        headers = {} if after is None else {"Last-Event-ID": str(after)}
        got: list[Event] = []
        try:
            with self._http.stream("GET", f"/threads/{thread_id}/runs/{run_id}/stream", headers=headers) as response:
                assert response.status_code == 200, response.read()
                for event in _frames(response.iter_lines()):
                    got.append(event)
                    if most is not None and len(got) == most:
                        break
        except httpx.TransportError:
            if not got:
                raise
        return got

    def _patiently(
        self, send: Callable[[], httpx.Response], again: type[httpx.TransportError] = httpx.TransportError
    ) -> httpx.Response:
        """Send until an answer comes. Without a connection nothing was sent, so that may always be tried again."""
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                return send()
            except again:
                if time.monotonic() > until:
                    raise
                time.sleep(_PAUSE_S)


def _frames(lines: Iterator[str]) -> Iterator[Event]:
    """Whole frames only: half a frame before a cut was not received."""
    parts: dict[str, str] = {}
    for line in lines:
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(": ")
            parts[name] = value
        elif parts:
            yield Event(int(parts["id"]), parts["event"], parts["data"])
            parts = {}
