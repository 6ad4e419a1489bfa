"""The invariants that no fault may break, checked from outside when everything is quiet. Each check gives what is wrong, and nothing when
all is well: messages stand once (I1), runs end and threads show it (I2), effects happen at most once (I4), files stay (I5), events have no
gap (I6), every tool call has one result (I7), and the database is sound (I8).
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.integration.durability.clients import AGENTS, Book, Client, Event, Said
from tests.integration.durability.oracle import Calls

from stepwell.database.events.reading import BEGINNING, events_after

STEPS = {
    "chat": ("{mark}",),
    "keyed": ("{mark} first", "{mark} second", "{mark} third"),
    "asking": ("{mark} before", "{mark} answer-{mark}", "{mark} after"),
    "nested": ("{mark} before", "{mark} answer-{mark}", "{mark} after"),
}
"""What a message leaves in its thread when all its steps have been done, each once."""


def messages_stand_once(client: Client, book: Book) -> Iterator[str]:
    """I1: every acknowledged message stands once in its thread, and so does what it led to; one nobody confirmed at most once."""
    threads: defaultdict[str, list[Said]] = defaultdict(list)
    for said in book.said:
        threads[said.thread_id].append(said)
    answered = {thread_id for thread_id, _ in book.answers}
    for thread_id, all_said in threads.items():
        state = client.get(f"/threads/{thread_id}/state")
        values = (state or {}).get("values") or {}
        marks = _human(values) if all_said[0].graph in AGENTS else Counter(values.get("marks", ()))
        for said in all_said:
            least = 1 if said.run_id and not (said.graph == "deep" and thread_id in book.undone) else 0
            if not least <= marks[said.mark] <= 1:
                yield f"I1: {said} stands {marks[said.mark]} times"
        origin = threads[book.copies[thread_id]] if thread_id in book.copies else []
        if foreign := marks.keys() - {said.mark for said in (*all_said, *origin)}:
            yield f"I1: thread {thread_id} holds messages nobody sent there: {foreign}"
        graph = all_said[0].graph
        wanted = [step.format(mark=mark) for mark in marks for step in STEPS.get(graph, ())]
        if (graph in ("chat", "keyed") or thread_id in answered) and sorted(values.get("done", ())) != sorted(wanted):
            yield f"I1: thread {thread_id} ({graph}) has done {sorted(values.get('done', ()))}, not {sorted(wanted)}"


def _human(values: dict[str, Any]) -> Counter[str]:
    return Counter(message["content"] for message in values.get("messages", ()) if message["type"] == "human")


def calls_have_results(client: Client, book: Book) -> Iterator[str]:
    """I7: every tool call has exactly one result; and the files that were written are there (I5)."""
    for thread_id in {*book.threads("deep"), *book.threads("noting"), *book.threads("steered")}:
        values = (client.get(f"/threads/{thread_id}/state") or {}).get("values") or {}
        messages = values.get("messages", [])
        called = Counter(call["id"] for message in messages for call in message.get("tool_calls") or ())
        results = Counter(message["tool_call_id"] for message in messages if message["type"] == "tool")
        if called != results or any(count != 1 for count in called.values()):
            yield f"I7: thread {thread_id} has calls {called} and results {results}"
        for mark in _human(values) if thread_id in book.threads("deep") else ():
            for name in (mark, f"{mark}-0", f"{mark}-1"):
                if f"/notes/{name}.md" not in values.get("files", {}):
                    yield f"I5: thread {thread_id} has lost /notes/{name}.md"


def effects_happen_once(oracle: Calls, book: Book) -> Iterator[str]:
    """I4: at most one effective effect per key, and one key per piece of work; a `once` tool is called once at most, also where
    its approval was rolled back and given again, or given on several copies of a thread."""
    yield from (f"I4: {name} was carried out {n} times" for name, n in oracle.effective("keyed").items() if n > 1)
    yield from (f"I4: once-tool ran {n} times for {name}" for name, n in oracle.asked("once").items() if n > 1)
    done = oracle.effective("keyed")
    for said in book.said:
        if said.graph == "keyed" and said.run_id:
            yield from (
                f"I4: {said.mark} {step} never happened"
                for step in ("first", "second", "third")
                if not done[f"{said.mark} {step}"]
            )


def effects_are_remembered(client: Client, oracle: Calls) -> Iterator[str]:
    """I4: whatever a `once` tool did or began is known to the operator, who can tell what became of it."""
    listed: dict[str, Any] = {}
    while page := client.get(f"/api/effects/all?known=true&limit=1000&offset={len(listed)}"):
        listed |= {effect["key"]: effect for effect in page}
    for call in oracle.calls("once"):
        if call.key not in listed:
            yield f"I4: {call} is forgotten"
        elif listed[call.key]["outcome"] not in ("done", "unknown"):
            yield f"I4: {call} happened and is listed as {listed[call.key]}"


def database_is_right(path: Path, book: Book) -> Iterator[str]:
    """I2, I6 and I8, read from the file of a server that has stopped."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        verdict = [row[0] for row in connection.execute("PRAGMA integrity_check")]
        if verdict != ["ok"]:
            yield f"I8: {verdict}"
        yield from _everything_ended(connection)
        yield from _messages_to_runs_are_taken(connection)
        yield from _threads_are_numbered(connection, book.undone)
        for run_id, events in book.followed.items():
            yield from _heard_all(connection, run_id, events)


def _everything_ended(connection: sqlite3.Connection) -> Iterator[str]:
    for row in connection.execute("SELECT run_id, status, attempt, error, request FROM runs WHERE status <> 'success'"):
        yield f"I2: run {row['run_id']} is {row['status']} after {row['attempt']} attempts: {row['error']} {row['request'][:300]}"
    for row in connection.execute("SELECT thread_id, status, interrupts, lease_run FROM threads"):
        right = "idle" if row["interrupts"] == "[]" else "interrupted"
        if row["status"] != right or row["lease_run"] is not None:
            yield f"I2: thread {dict(row)} should be {right}"


def _messages_to_runs_are_taken(connection: sqlite3.Connection) -> Iterator[str]:
    for row in connection.execute("SELECT * FROM steering WHERE state NOT IN ('taken', 'enqueued')"):
        yield f"I1: the message {row['message_id']} to run {row['run_id']} is {row['state']}"


def _threads_are_numbered(connection: sqlite3.Connection, undone: set[str]) -> Iterator[str]:
    for row in connection.execute("SELECT thread_id, MIN(seq), MAX(seq), COUNT(*) FROM events GROUP BY thread_id"):
        # A run that was rolled back takes its events with it.
        if row[0] not in undone and (row[1] != 1 or row[2] != row[3]):
            yield f"I6: events of thread {row[0]} are not numbered from 1 without a gap: {tuple(row)}"
    for row in connection.execute("SELECT run_id FROM events WHERE event = 'end' GROUP BY run_id HAVING COUNT(*) <> 1"):
        yield f"I6: run {row[0]} has more than one end"


def _heard_all(connection: sqlite3.Connection, run_id: str, heard: list[Event]) -> Iterator[str]:
    thread = connection.execute("SELECT thread_id FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    told = events_after(connection, thread["thread_id"], run_id, BEGINNING, 1_000_000)
    kept = [Event(event.seq, event.event, bytes(event.data).decode()) for event in told]
    if heard != kept:
        numbers = ([event.seq for event in heard], [event.seq for event in kept])
        yield f"I6: the reader of run {run_id} heard {numbers[0]}, the journal holds {numbers[1]}"


def figures(path: Path) -> dict[str, Any]:
    """What the crashes met."""
    with closing(sqlite3.connect(path)) as connection:
        runs, again, most = connection.execute("SELECT COUNT(*), SUM(attempt > 1), MAX(attempt) FROM runs").fetchone()
        events = connection.execute("SELECT COUNT(*) FROM events").fetchone()[0]
        unknown = connection.execute("SELECT COUNT(*) FROM effects WHERE state = 'begun'").fetchone()[0]
    return {"runs": runs, "driven_again": again, "most_attempts": most, "events": events, "outcomes_unknown": unknown}
