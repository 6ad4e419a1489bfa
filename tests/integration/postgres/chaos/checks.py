"""The promises that no fault may break, checked from outside when everything is quiet. Each check gives what is wrong, and nothing when
all is well.

```
messages   every acknowledged message stands once in its thread, with all that it led to; one that was refused never; one that was
           taken back wholly or not at all
subagents  none has failed, and their files are their parent's
ended      every run has ended, no thread is leased, no worker is left that holds anything
heard      what a reader put together from two servers is the log: no gap, nothing twice
attempts   an attempt says nothing after the next one has begun, and no checkpoint has two successors
effects    at most one effect for each key, and one call at most of a `once` tool
money      credits = charges + balance, and each answer that stands is charged once
```
The `Snapshot` is what the database holds, so that each check can be shown a broken one.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.integration.durability.oracle import Oracle
from tests.integration.postgres.chaos.graphs import STEPS, WORDS
from tests.integration.postgres.chaos.people import AGENTS, FINISHED, Book, Heard, Said

from stepwell.database.events.reading import BEGINNING, events_after
from stepwell.database.postgres.connection import PostgresConnection, connect

DONE = {
    "speaking": tuple("{mark} " + step for step in STEPS),
    "asking": ("{mark} before", "{mark} answer-{mark}", "{mark} after"),
}
"""What a message leaves in its thread when all its steps have been done, each once."""
_TABLES = {
    "runs": "SELECT run_id, thread_id, status, attempt, error, cancel_action FROM runs ORDER BY number",
    "threads": "SELECT thread_id, status, interrupts, lease_run, last_seq FROM threads",
    "checkpoints": "SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM checkpoints",
    "times": "SELECT run_id, seq, event, data, created_at FROM events ORDER BY run_id, seq",
    "sessions": "SELECT session_id, credits, spent, refunded, fees, reserved FROM payment_sessions",
    "entries": "SELECT session_id, kind, amount, key FROM payment_entries ORDER BY seq",
}
_UNDER_WAY = {
    "now": "SELECT clock_timestamp() AS now",
    "runs": "SELECT run_id, thread_id, assistant_id, status, attempt, crashes, cancel_action, updated_at FROM runs"
    " WHERE status IN ('pending', 'running') ORDER BY number",
    "threads": "SELECT thread_id, status, fence, lease_holder, lease_run, next_run FROM threads WHERE status = 'busy'",
    "workers": "SELECT * FROM workers",
}
Rows = list[dict[str, Any]]


@dataclass
class Snapshot:
    """What the database holds when all is quiet."""

    tables: dict[str, Rows]
    events: dict[str, list[Heard]]
    """Run -> what it said."""
    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Thread -> its values, as a server tells them."""


def take_snapshot(url: str) -> Snapshot:
    connection = connect(url)
    try:
        tables = {name: _rows(connection, sql) for name, sql in _TABLES.items()}
        events = {row["run_id"]: _events(connection, row["thread_id"], row["run_id"]) for row in tables["runs"]}
    finally:
        connection.close()
    return Snapshot(tables, events)


def under_way(url: str) -> dict[str, Rows]:
    """What has not ended yet, for whoever looks for the reason."""
    connection = connect(url)
    try:
        return {name: _rows(connection, sql) for name, sql in _UNDER_WAY.items()}
    finally:
        connection.close()


def _rows(connection: PostgresConnection, sql: str) -> Rows:
    return [{name: row[name] for name in row.keys()} for row in connection.execute(sql)]  # noqa: SIM118 - of a row, not a dict


def _events(connection: PostgresConnection, thread_id: str, run_id: str) -> list[Heard]:
    told = events_after(connection, thread_id, run_id, BEGINNING, 1_000_000)
    return [Heard(event.seq, event.event, json.loads(event.data)) for event in told]


def everything(snapshot: Snapshot, book: Book, oracle: Oracle, given: Sequence[tuple[str, str]]) -> list[str]:
    return [
        *messages_stand_once(snapshot, book),
        *everything_ended(snapshot),
        *readers_heard_the_log(snapshot, book),
        *attempts_follow_one_another(snapshot),
        *effects_happen_once(oracle),
        *money_adds_up(snapshot, book, given),
    ]


def messages_stand_once(snapshot: Snapshot, book: Book) -> Iterator[str]:
    threads: defaultdict[str, list[Said]] = defaultdict(list)
    for said in book.said:
        threads[said.thread_id].append(said)
    for thread_id, all_said in threads.items():
        values = snapshot.states.get(thread_id, {})
        marks = _marks(values, all_said[0].graph)
        for said in all_said:
            least, most = _bounds(said, book)
            if not least <= marks[said.mark] <= most:
                yield f"messages: {said} stands {marks[said.mark]} times"
        if foreign := marks.keys() - {said.mark for said in all_said}:
            yield f"messages: thread {thread_id} holds messages nobody sent there: {foreign}"
        yield from _steps_done(thread_id, all_said, values, marks, book)


def _marks(values: Mapping[str, Any], graph: str) -> Counter[str]:
    if graph not in AGENTS:
        return Counter(values.get("marks", ()))
    return Counter(message["content"] for message in values.get("messages", ()) if message["type"] == "human")


def _bounds(said: Said, book: Book) -> tuple[int, int]:
    if said.refused:
        return 0, 0
    # One that was stopped before it began never came to its thread.
    stopped = said.run_id in book.cancelled or said.run_id in book.taken_back
    return int(said.run_id is not None and not stopped), 1


def _steps_done(
    thread_id: str, all_said: Sequence[Said], values: Mapping[str, Any], marks: Counter[str], book: Book
) -> Iterator[str]:
    graph, done = all_said[0].graph, Counter(values.get("done", ()))
    if twice := [step for step, count in done.items() if count > 1]:
        yield f"messages: thread {thread_id} has done twice: {twice}"
    answered = {thread for thread, _ in book.answers}
    for said in all_said:
        if said.run_id is None or said.run_id in book.cancelled or (graph == "asking" and thread_id not in answered):
            continue
        if said.run_id in book.taken_back and not marks[said.mark]:
            if left := [step for step in done if step.startswith(said.mark)]:
                yield f"messages: thread {thread_id} keeps a piece of what was taken back: {left}"
            continue
        for step in DONE.get(graph, ()):
            if not done[step.format(mark=said.mark)]:
                yield f"messages: thread {thread_id} has not done '{step.format(mark=said.mark)}': {dict(done)}"
    if graph in AGENTS:
        messages = values.get("messages", ())
        called = Counter(call["id"] for message in messages for call in message.get("tool_calls") or ())
        results = Counter(message["tool_call_id"] for message in messages if message["type"] == "tool")
        if called != results:
            yield f"messages: thread {thread_id} has calls {called} and results {results}"
        yield from _subagents_helped(thread_id, all_said, values)


def _subagents_helped(thread_id: str, all_said: Sequence[Said], values: Mapping[str, Any]) -> Iterator[str]:
    """No fault of the database is a subagent's answer, and what it wrote is in its parent's files."""
    for message in values.get("messages", ()):
        if message["type"] == "tool" and message.get("name") == "task" and message.get("status") == "error":
            yield f"subagents: thread {thread_id} was told: {message['content']}"
    for said in all_said if all_said[0].graph == "deep" else ():
        names = (said.mark, f"{said.mark}-0", f"{said.mark}-1") if said.run_id else ()
        for name in names:
            if f"/notes/{name}.md" not in values.get("files", {}):
                yield f"subagents: thread {thread_id} has lost /notes/{name}.md"


def everything_ended(snapshot: Snapshot) -> Iterator[str]:
    for row in snapshot.tables["runs"]:
        right = ("success", "interrupted") if row["cancel_action"] == "interrupt" else ("success",)
        if row["status"] not in right:
            yield f"ended: {row}"
        if row["status"] not in FINISHED:
            yield f"ended: run {row['run_id']} has not ended"
    for row in snapshot.tables["threads"]:
        if row["lease_run"] is not None or row["status"] == "busy":
            yield f"ended: {row}"


def readers_heard_the_log(snapshot: Snapshot, book: Book) -> Iterator[str]:
    for run_id, heard in book.followed.items():
        kept = snapshot.events.get(run_id, [])
        if heard != kept:
            yield f"heard: the reader of run {run_id} heard {_outline(heard)}, the log holds {_outline(kept)}"
    numbers: defaultdict[str, list[int]] = defaultdict(list)
    thread_of = {row["run_id"]: row["thread_id"] for row in snapshot.tables["runs"]}
    for run_id, events in snapshot.events.items():
        numbers[thread_of[run_id]] += [event.seq for event in events]
    with_gaps = {said.thread_id for said in book.said if said.run_id in book.taken_back}
    for thread_id, all_of_it in numbers.items():
        if thread_id not in with_gaps and sorted(all_of_it) != list(range(1, len(all_of_it) + 1)):
            yield f"heard: the events of thread {thread_id} are not numbered from 1 without a gap: {sorted(all_of_it)}"


def _outline(events: Sequence[Heard]) -> str:
    return " ".join(f"{event.seq}:{event.event}" for event in events)


def attempts_follow_one_another(snapshot: Snapshot) -> Iterator[str]:
    attempts = {row["run_id"]: row["attempt"] for row in snapshot.tables["runs"]}
    for run_id, events in snapshot.events.items():
        begun = [event.data["attempt"] for event in events if event.event == "metadata"]
        if begun != sorted(set(begun)) or (begun and begun[-1] > attempts[run_id]):
            yield f"attempts: run {run_id} began {begun} of {attempts[run_id]} attempts"
        if [event.event for event in events].count("end") > 1:
            yield f"attempts: run {run_id} has more than one end"
        yield from _executions_stay_in_their_attempt(run_id, events)
    yield from _checkpoints_are_a_line(snapshot)


def _executions_stay_in_their_attempt(run_id: str, events: Sequence[Heard]) -> Iterator[str]:
    attempt, words = 0, defaultdict[str, list[tuple[int, int]]](list)
    for event in events:
        if event.event == "metadata":
            attempt += 1
        elif event.event == "custom" and "execution" in event.data:
            words[event.data["execution"]].append((attempt, event.data["word"]))
    for execution, said in words.items():
        if len({attempt for attempt, _ in said}) > 1 or [word for _, word in said] != list(range(WORDS))[: len(said)]:
            yield f"attempts: an execution ({execution}) of run {run_id} spoke in attempts and words {said}"


def _checkpoints_are_a_line(snapshot: Snapshot) -> Iterator[str]:
    successors: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for row in snapshot.tables["checkpoints"]:
        if row["checkpoint_ns"] == "" and row["parent_checkpoint_id"]:
            successors[row["thread_id"], row["parent_checkpoint_id"]].append(row["checkpoint_id"])
    for (thread_id, parent), several in successors.items():
        if len(several) > 1:
            yield f"attempts: in thread {thread_id} checkpoint {parent} is followed by {several}"


def effects_happen_once(oracle: Oracle) -> Iterator[str]:
    yield from (f"effects: {name} was carried out {n} times" for name, n in oracle.effective("keyed").items() if n > 1)
    yield from (f"effects: once-tool ran {n} times for {name}" for name, n in oracle.asked("once").items() if n > 1)


def money_adds_up(snapshot: Snapshot, book: Book, given: Sequence[tuple[str, str]]) -> Iterator[str]:
    """`given` are all answers that a model gave, with their thread."""
    sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
    charged: Counter[str] = Counter()
    for row in snapshot.tables["entries"]:
        sums[row["session_id"]][row["kind"]] += row["amount"]
        charged[row["key"].partition(":")[0]] += {"charge": 1, "void": -1}.get(row["kind"], 0)
    for row in snapshot.tables["sessions"]:
        balance = row["credits"] - row["spent"] - row["refunded"] - row["fees"]
        of_it = sums[row["session_id"]]
        if (
            balance < 0
            or row["reserved"]
            or of_it["credit"] != row["credits"]
            or of_it["charge"] - of_it["void"] != row["spent"]
        ):
            yield f"money: {row} with entries {dict(of_it)}"
    for thread_id in {said.thread_id for said in book.said if said.graph == "sold"}:
        stands = _answers(snapshot.states.get(thread_id, {}))
        owed = sum(1 for thread, name in given if thread == thread_id and name in stands)
        if charged[thread_id] != owed:
            yield f"money: thread {thread_id} has {owed} answers and was charged {charged[thread_id]} times"


def _answers(values: Mapping[str, Any]) -> set[str]:
    messages = values.get("messages", ())
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    planned = {todo["content"] for call in calls for todo in call["args"].get("todos", ())}
    return planned | {message["content"] for message in messages if message["type"] == "ai" and message["content"]}


def recoveries(snapshot: Snapshot) -> list[float]:
    """Seconds between the last word of an attempt and the first of the next one, by the database's clock, in order."""
    found, run_id, last = [], None, 0.0
    for row in snapshot.tables["times"]:
        if row["run_id"] == run_id and row["event"] == "metadata":
            found.append(row["created_at"] - last)
        run_id, last = row["run_id"], row["created_at"]
    return sorted(found)
