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
told       of every call of a `once` tool, in the main agent and in each subagent, its thread says what became of it: paid, and then it
           was paid exactly once; or that nobody knows, and then the journal does not know either
money      credits = charges + balance, and each answer that stands is charged once
```
They look at `Evidence`, which is read from files and the database (`checker`), and count what they have compared: a check that found
nothing to look at has proved nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.integration.durability.oracle import Calls
from tests.integration.postgres.chaos.book import AGENTS, FINISHED, Book, Heard, Said
from tests.integration.postgres.chaos.graphs import LONG_STEP, STEPS, WORDS
from tests.integration.postgres.chaos.snapshot import Rows, Snapshot

DONE = {
    "speaking": tuple("{mark} " + step for step in STEPS),
    "slow": ("{mark} " + LONG_STEP,),
    "asking": ("{mark} before", "{mark} answer-{mark}", "{mark} after"),
}
"""What a message leaves in its thread when all its steps have been done, each once."""
UNKNOWN = "the outcome of this call is unknown"


@dataclass
class Evidence:
    """All that is known of a chaos run when it is over."""

    snapshot: Snapshot
    book: Book
    oracle: Calls
    answers: Sequence[tuple[str, str]]
    """All that a model which is paid for has answered, with the thread."""
    compared: Counter[str] = field(default_factory=Counter)

    def rows(self, table: str) -> Rows:
        return self.snapshot.tables[table]


def everything(evidence: Evidence) -> list[str]:
    """What is wrong."""
    return [
        *messages_stand_once(evidence),
        *everything_ended(evidence),
        *readers_heard_the_log(evidence),
        *attempts_follow_one_another(evidence),
        *effects_happen_once(evidence),
        *effects_are_told(evidence),
        *money_adds_up(evidence),
    ]


def messages_stand_once(evidence: Evidence) -> Iterator[str]:
    book, compared = evidence.book, evidence.compared
    threads: defaultdict[str, list[Said]] = defaultdict(list)
    for said in book.said:
        threads[said.thread_id].append(said)
    for thread_id, all_said in threads.items():
        values = book.states.get(thread_id, {})
        marks = _marks(values, all_said[0].graph)
        for said in all_said:
            compared["messages"] += 1
            least, most = _bounds(said, book)
            if not least <= marks[said.mark] <= most:
                yield f"messages: {said} stands {marks[said.mark]} times"
        if foreign := marks.keys() - {said.mark for said in all_said}:
            yield f"messages: thread {thread_id} holds messages nobody sent there: {foreign}"
        yield from _steps_done(thread_id, all_said, values, marks, evidence)


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
    thread_id: str, all_said: Sequence[Said], values: Mapping[str, Any], marks: Counter[str], evidence: Evidence
) -> Iterator[str]:
    book, compared = evidence.book, evidence.compared
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
            compared[f"steps_{graph}"] += 1
            if not done[step.format(mark=said.mark)]:
                yield f"messages: thread {thread_id} has not done '{step.format(mark=said.mark)}': {dict(done)}"
    if graph in AGENTS:
        messages = values.get("messages", ())
        called = Counter(call["id"] for message in messages for call in message.get("tool_calls") or ())
        results = Counter(message["tool_call_id"] for message in messages if message["type"] == "tool")
        if called != results:
            yield f"messages: thread {thread_id} has calls {called} and results {results}"
        compared["tool_calls"] += called.total()
        yield from _subagents_helped(thread_id, all_said, values, compared)


def _subagents_helped(
    thread_id: str, all_said: Sequence[Said], values: Mapping[str, Any], compared: Counter[str]
) -> Iterator[str]:
    """No fault of the database is a subagent's answer, and what it wrote is in its parent's files."""
    for message in values.get("messages", ()):
        if message["type"] == "tool" and message.get("name") == "task" and message.get("status") == "error":
            yield f"subagents: thread {thread_id} was told: {message['content']}"
    for said in all_said if all_said[0].graph == "deep" else ():
        names = (said.mark, f"{said.mark}-0", f"{said.mark}-1") if said.run_id else ()
        for name in names:
            compared["files"] += 1
            if f"/notes/{name}.md" not in values.get("files", {}):
                yield f"subagents: thread {thread_id} has lost /notes/{name}.md"


def everything_ended(evidence: Evidence) -> Iterator[str]:
    for row in evidence.rows("runs"):
        evidence.compared["runs"] += 1
        right = ("success", "interrupted") if row["cancel_action"] == "interrupt" else ("success",)
        if row["status"] not in right:
            yield f"ended: {row}"
        if row["status"] not in FINISHED:
            yield f"ended: run {row['run_id']} has not ended"
    for row in evidence.rows("threads"):
        evidence.compared["threads"] += 1
        if row["lease_run"] is not None or row["status"] == "busy":
            yield f"ended: {row}"


def readers_heard_the_log(evidence: Evidence) -> Iterator[str]:
    snapshot, book, compared = evidence.snapshot, evidence.book, evidence.compared
    for run_id, heard in book.followed.items():
        compared["streams"] += 1
        kept = snapshot.events.get(run_id, [])
        if heard != kept:
            yield f"heard: the reader of run {run_id} heard {_outline(heard)}, the log holds {_outline(kept)}"
    numbers: defaultdict[str, list[int]] = defaultdict(list)
    thread_of = {row["run_id"]: row["thread_id"] for row in evidence.rows("runs")}
    for run_id, events in snapshot.events.items():
        numbers[thread_of[run_id]] += [event.seq for event in events]
    with_gaps = {said.thread_id for said in book.said if said.run_id in book.taken_back}
    for thread_id, all_of_it in numbers.items():
        compared["events"] += len(all_of_it)
        if thread_id not in with_gaps and sorted(all_of_it) != list(range(1, len(all_of_it) + 1)):
            yield f"heard: the events of thread {thread_id} are not numbered from 1 without a gap: {sorted(all_of_it)}"


def _outline(events: Sequence[Heard]) -> str:
    return " ".join(f"{event.seq}:{event.event}" for event in events)


def attempts_follow_one_another(evidence: Evidence) -> Iterator[str]:
    attempts = {row["run_id"]: row["attempt"] for row in evidence.rows("runs")}
    for run_id, events in evidence.snapshot.events.items():
        begun = [event.data["attempt"] for event in events if event.event == "metadata"]
        evidence.compared["attempts"] += len(begun)
        if begun != sorted(set(begun)) or (begun and begun[-1] > attempts[run_id]):
            yield f"attempts: run {run_id} began {begun} of {attempts[run_id]} attempts"
        if [event.event for event in events].count("end") > 1:
            yield f"attempts: run {run_id} has more than one end"
        yield from _executions_stay_in_their_attempt(run_id, events)
    yield from _checkpoints_are_a_line(evidence)


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


def _checkpoints_are_a_line(evidence: Evidence) -> Iterator[str]:
    successors: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for row in evidence.rows("checkpoints"):
        if row["checkpoint_ns"] == "" and row["parent_checkpoint_id"]:
            successors[row["thread_id"], row["parent_checkpoint_id"]].append(row["checkpoint_id"])
    for (thread_id, parent), several in successors.items():
        evidence.compared["checkpoints"] += 1
        if len(several) > 1:
            yield f"attempts: in thread {thread_id} checkpoint {parent} is followed by {several}"


def effects_happen_once(evidence: Evidence) -> Iterator[str]:
    keyed, once = evidence.oracle.effective("keyed"), evidence.oracle.asked("once")
    evidence.compared["keyed_effects"] += len(keyed)
    evidence.compared["once_effects"] += len(once)
    yield from (f"effects: {name} was carried out {n} times" for name, n in keyed.items() if n > 1)
    yield from (f"effects: once-tool ran {n} times for {name}" for name, n in once.items() if n > 1)
    journal = {row["key"]: row["state"] for row in evidence.rows("effects")}
    for call in evidence.oracle.calls("once"):
        if journal.get(call.key) not in ("begun", "done"):
            yield f"effects: {call} happened, and the journal has it as {journal.get(call.key)}"
    happened = {call.key for call in evidence.oracle.calls("once")}
    for row in evidence.rows("effects"):
        if row["state"] == "done" and row["key"] not in happened:
            yield f"effects: {row} is recorded and has never happened"


def effects_are_told(evidence: Evidence) -> Iterator[str]:
    once = evidence.oracle.asked("once")
    begun = Counter(row["thread_id"] for row in evidence.rows("effects") if row["state"] == "begun")
    for thread_id in dict.fromkeys(said.thread_id for said in evidence.book.said if said.graph == "deep"):
        values, doubts = evidence.book.states.get(thread_id, {}), 0
        told = _told(values)
        wanted = [name for mark in _marks(values, "deep") for name in (mark, f"{mark}-0", f"{mark}-1")]
        if sorted(name for _, name, _ in told) != sorted(wanted):
            yield f"told: thread {thread_id} should tell once of each of {wanted}: {told}"
        for who, name, text in told:
            evidence.compared[f"told_by_{who}"] += 1
            if UNKNOWN in text:
                doubts += 1
            elif f"paid {name}" not in text or once[name] != 1:
                yield f"told: thread {thread_id} says of {name} '{text}', which happened {once[name]} times"
        if doubts != begun[thread_id]:
            yield f"told: thread {thread_id} doubts {doubts} payments, the journal {begun[thread_id]}: {told}"


def _told(values: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """What a thread says of its payments: who paid, for what, and the result."""
    messages = values.get("messages", ())
    calls = {call["id"]: call["args"] for message in messages for call in message.get("tool_calls") or ()}
    results = [(message, calls.get(message["tool_call_id"], {})) for message in messages if message["type"] == "tool"]
    return [
        ("main", args.get("mark", ""), message["content"])
        if message.get("name") == "pay"
        else ("subagent", args.get("description", ""), message["content"])
        for message, args in results
        if message.get("name") in ("pay", "task")
    ]


def money_adds_up(evidence: Evidence) -> Iterator[str]:
    book, compared = evidence.book, evidence.compared
    sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
    charged: Counter[str] = Counter()
    for row in evidence.rows("entries"):
        sums[row["session_id"]][row["kind"]] += row["amount"]
        charged[row["key"].partition(":")[0]] += {"charge": 1, "void": -1}.get(row["kind"], 0)
    for row in evidence.rows("sessions"):
        compared["sessions"] += 1
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
        stands = _answers(book.states.get(thread_id, {}))
        owed = sum(1 for thread, name in evidence.answers if thread == thread_id and name in stands)
        compared["answers"] += owed
        if charged[thread_id] != owed:
            yield f"money: thread {thread_id} has {owed} answers and was charged {charged[thread_id]} times"


def _answers(values: Mapping[str, Any]) -> set[str]:
    messages = values.get("messages", ())
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    planned = {todo["content"] for call in calls for todo in call["args"].get("todos", ())}
    return planned | {message["content"] for message in messages if message["type"] == "ai" and message["content"]}
