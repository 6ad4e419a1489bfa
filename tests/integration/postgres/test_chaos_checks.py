"""Each promise of the chaos test can be seen to be broken: a sound world passes, and one with a single wrong thing in it does not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.integration.durability.oracle import Call, Calls
from tests.integration.postgres.chaos.book import Book, Heard, Said, read_book
from tests.integration.postgres.chaos.checker import check
from tests.integration.postgres.chaos.checks import UNKNOWN, Evidence, everything
from tests.integration.postgres.chaos.snapshot import Snapshot


@dataclass
class World:
    """A thread that spoke once, with a second attempt, one that paid for an answer, and one whose subagents paid too."""

    oracle: Calls
    book: Book = field(default_factory=Book)
    snapshot: Snapshot = field(default_factory=lambda: Snapshot({}, {}))
    given: list[tuple[str, str]] = field(default_factory=lambda: [("paid", "an answer")])

    def wrong(self) -> list[str]:
        return everything(Evidence(self.snapshot, self.book, self.oracle, self.given))


def _word(seq: int, execution: str, word: int) -> Heard:
    return Heard(seq, "custom", {"execution": execution, "step": "first", "word": word})


def _run(run_id: str, thread_id: str, **fields: Any) -> dict[str, Any]:
    known = {"run_id": run_id, "thread_id": thread_id, "status": "success", "attempt": 1, "error": None, "cancel_action": None}
    return known | fields


@pytest.fixture
def world(tmp_path: Path) -> World:
    made, done = World(Calls(tmp_path / "oracle")), [f"m {step}" for step in ("first", "second", "third")]
    said = [
        *(Heard(1, "metadata", {"attempt": 1}), _word(2, "e1", 0), _word(3, "e1", 1)),
        *(Heard(4, "metadata", {"attempt": 2}), _word(5, "e2", 0), Heard(6, "end", {"status": "success"})),
    ]
    made.snapshot.events = {"r": said, "p": [Heard(1, "metadata", {"attempt": 1}), Heard(2, "end", {})]}
    thread = {"status": "idle", "interrupts": "[]", "lease_run": None, "last_seq": 6}
    session = {"session_id": "s", "credits": 100, "spent": 5, "refunded": 0, "fees": 1, "reserved": 0}
    made.snapshot.tables = {
        "runs": [_run("r", "spoken", attempt=2), _run("p", "paid")],
        "threads": [{"thread_id": "spoken", **thread}, {"thread_id": "paid", **thread}],
        "checkpoints": [
            {"thread_id": "spoken", "checkpoint_ns": "", "checkpoint_id": one, "parent_checkpoint_id": before}
            for one, before in (("1", None), ("2", "1"), ("3", "2"))
        ],
        "times": [],
        "effects": [],
        "sessions": [session],
        "entries": [
            {"session_id": "s", "kind": "credit", "amount": 100, "key": "opening:0"},
            {"session_id": "s", "kind": "charge", "amount": 5, "key": "paid:1"},
        ],
    }
    made.book.states = {
        "spoken": {"marks": ["m"], "done": done},
        "paid": {"messages": [{"type": "human", "content": "n"}, {"type": "ai", "content": "an answer"}]},
    }
    made.book.said = [Said("spoken", "speaking", "m", "r"), Said("paid", "sold", "n", "p")]
    made.book.followed = {"r": copy.deepcopy(said)}
    for step in done:
        made.oracle.note(Call(step, f"key of {step}", "keyed"))
    _delegate(made)
    return made


def _delegate(world: World) -> None:
    """An agent that paid, and handed the rest of its work to two subagents, which paid too."""
    calls = [
        {"id": "c", "name": "pay", "args": {"mark": "d"}},
        *({"id": f"c-{number}", "name": "task", "args": {"description": f"d-{number}"}} for number in range(2)),
    ]
    messages: list[dict[str, Any]] = [
        {"type": "human", "content": "d"},
        {"type": "ai", "content": "", "tool_calls": calls},
        {"type": "tool", "name": "pay", "tool_call_id": "c", "content": "paid d", "status": "success"},
    ]
    for number in range(2):
        content = f"helped with d-{number}: paid d-{number}"
        messages.append(
            {"type": "tool", "name": "task", "tool_call_id": f"c-{number}", "content": content, "status": "success"}
        )
    names = ("d", "d-0", "d-1")
    world.book.states["deep"] = {"messages": messages, "files": {f"/notes/{name}.md": {} for name in names}}
    world.book.said.append(Said("deep", "deep", "d", "d"))
    for name in names:
        effect = {"thread_id": "deep", "key": f"key of {name}", "tool": "pay", "state": "done", "result": f"paid {name}"}
        world.snapshot.tables["effects"].append(effect)
        world.oracle.note(Call(name, f"key of {name}", "once"))


def _result(world: World, call: str) -> dict[str, Any]:
    """Of a call of the agent that delegates."""
    results = [message for message in world.book.states["deep"]["messages"] if message.get("tool_call_id") == call]
    return results[0]


def _forget_calls(world: World, name: str) -> None:
    lines = world.oracle.path.read_text().splitlines(keepends=True)
    world.oracle.path.write_text("".join(line for line in lines if f'"name": "{name}"' not in line))


def test_a_sound_world_passes(world: World) -> None:
    assert world.wrong() == []


def test_what_was_taken_back_is_gone_or_was_done_by_then(world: World) -> None:
    world.book.taken_back.add("r")
    assert world.wrong() == []
    world.book.states["spoken"] = {"marks": [], "done": []}
    assert world.wrong() == []


def _lose_message(world: World) -> None:
    world.book.states["spoken"]["marks"] = []


def _double_message(world: World) -> None:
    world.book.states["spoken"]["marks"] *= 2


def _keep_refused_message(world: World) -> None:
    world.book.said[0] = world.book.said[0]._replace(run_id=None, refused=True)


def _do_step_twice(world: World) -> None:
    world.book.states["spoken"]["done"].append("m second")


def _skip_step(world: World) -> None:
    world.book.states["spoken"]["done"].remove("m second")


def _take_back_half(world: World) -> None:
    world.book.taken_back.add("r")
    world.book.states["spoken"]["marks"] = []


def _take_back_a_step(world: World) -> None:
    world.book.taken_back.add("r")
    _skip_step(world)


def _leave_call_open(world: World) -> None:
    world.book.states["paid"]["messages"][1]["tool_calls"] = [{"id": "c", "args": {}}]


@pytest.mark.parametrize("happened", [True, False])
@pytest.mark.parametrize(("call", "name", "place"), [("c", "d", 0), ("c-1", "d-1", 2)], ids=["main agent", "subagent"])
def test_a_doubt_that_the_journal_shares_passes(world: World, call: str, name: str, place: int, happened: bool) -> None:
    _result(world, call)["content"] = f"Error: {UNKNOWN}"
    world.snapshot.tables["effects"][place] |= {"state": "begun", "result": None}
    if not happened:
        _forget_calls(world, name)
    assert world.wrong() == []


def _fail_subagent(world: World) -> None:
    _result(world, "c-0")["status"] = "error"


def _lose_subagents_file(world: World) -> None:
    del world.book.states["deep"]["files"]["/notes/d-1.md"]


def _never_end(world: World) -> None:
    world.snapshot.tables["runs"][0]["status"] = "running"


def _give_up(world: World) -> None:
    world.snapshot.tables["runs"][0]["status"] = "error"


def _leave_lease(world: World) -> None:
    world.snapshot.tables["threads"][0]["lease_run"] = "r"


def _miss_event(world: World) -> None:
    del world.book.followed["r"][2]


def _hear_event_twice(world: World) -> None:
    world.book.followed["r"].insert(2, world.book.followed["r"][2])


def _number_with_gap(world: World) -> None:
    world.snapshot.events["p"][1] = Heard(3, "end", {})


def _speak_after_next_attempt(world: World) -> None:
    for events in (world.snapshot.events["r"], world.book.followed["r"]):
        events[4] = _word(5, "e1", 2)


def _repeat_attempt(world: World) -> None:
    for events in (world.snapshot.events["r"], world.book.followed["r"]):
        events[3] = Heard(4, "metadata", {"attempt": 1})


def _end_twice(world: World) -> None:
    for events in (world.snapshot.events["r"], world.book.followed["r"]):
        events.append(Heard(7, "end", {}))


def _fork_checkpoints(world: World) -> None:
    row = world.snapshot.tables["checkpoints"][2]
    world.snapshot.tables["checkpoints"].append({**row, "checkpoint_id": "4"})


def _repeat_effect(world: World) -> None:
    world.oracle.note(Call("m first", "another key", "keyed"))


def _repeat_once_in_doubt(world: World) -> None:
    _result(world, "c-1")["content"] = f"Error: {UNKNOWN}"
    world.snapshot.tables["effects"][2] |= {"state": "begun", "result": None}
    world.oracle.note(Call("d-1", "key of d-1", "once"))


def _forget_effect(world: World) -> None:
    world.oracle.note(Call("e", "key of e", "once"))


def _record_what_never_happened(world: World) -> None:
    row = {"thread_id": "other", "key": "key of e", "tool": "pay", "state": "done", "result": "paid e"}
    world.snapshot.tables["effects"].append(row)


def _doubt_what_is_known(world: World) -> None:
    _result(world, "c")["content"] = f"Error: {UNKNOWN}"


def _let_a_subagent_doubt_what_is_known(world: World) -> None:
    _result(world, "c-0")["content"] = f"helped with d-0: Error: {UNKNOWN}"


def _be_sure_of_what_nobody_knows(world: World) -> None:
    world.snapshot.tables["effects"][1] |= {"state": "begun", "result": None}


def _say_nothing_of_a_payment(world: World) -> None:
    _result(world, "c-0")["content"] = "helped with d-0"


def _charge_twice(world: World) -> None:
    world.snapshot.tables["entries"].append({"session_id": "s", "kind": "charge", "amount": 5, "key": "paid:2"})
    world.snapshot.tables["sessions"][0]["spent"] = 10


def _lose_charge(world: World) -> None:
    del world.snapshot.tables["entries"][1]
    world.snapshot.tables["sessions"][0]["spent"] = 0


def _lose_credit(world: World) -> None:
    world.snapshot.tables["sessions"][0]["credits"] = 99


def _keep_reserved(world: World) -> None:
    world.snapshot.tables["sessions"][0]["reserved"] = 5


BROKEN: dict[Callable[[World], None], str] = {
    _lose_message: "messages",
    _double_message: "messages",
    _keep_refused_message: "messages",
    _do_step_twice: "messages",
    _skip_step: "messages",
    _take_back_half: "messages",
    _take_back_a_step: "messages",
    _leave_call_open: "messages",
    _fail_subagent: "subagents",
    _lose_subagents_file: "subagents",
    _never_end: "ended",
    _give_up: "ended",
    _leave_lease: "ended",
    _miss_event: "heard",
    _hear_event_twice: "heard",
    _number_with_gap: "heard",
    _speak_after_next_attempt: "attempts",
    _repeat_attempt: "attempts",
    _end_twice: "attempts",
    _fork_checkpoints: "attempts",
    _repeat_effect: "effects",
    _repeat_once_in_doubt: "effects",
    _forget_effect: "effects",
    _record_what_never_happened: "effects",
    _doubt_what_is_known: "told",
    _let_a_subagent_doubt_what_is_known: "told",
    _be_sure_of_what_nobody_knows: "told",
    _say_nothing_of_a_payment: "told",
    _charge_twice: "money",
    _lose_charge: "money",
    _lose_credit: "money",
    _keep_reserved: "money",
}


@pytest.mark.parametrize("break_it", BROKEN, ids=lambda each: each.__name__.strip("_"))
def test_each_broken_promise_is_seen(world: World, break_it: Callable[[World], None]) -> None:
    break_it(world)
    wrong = world.wrong()
    assert wrong
    assert {one.partition(":")[0] for one in wrong} == {BROKEN[break_it]}


def test_a_book_is_read_as_it_was_written(tmp_path: Path) -> None:
    book = Book(tmp_path / "book")
    book.say(Said("t", "deep", "m", None, refused=True))
    book.follow("r", [Heard(1, "metadata", {"attempt": 1})])
    book.answer("t", "yes")
    book.cancel("r")
    book.take_back("s")
    book.read_state("t", {"marks": ["m"]})
    book.path = None
    assert read_book(tmp_path / "book") == book


def test_the_checker_in_its_own_process_finds_a_doubled_call_in_the_oracles_file(postgres_url: str, tmp_path: Path) -> None:
    book, oracle = tmp_path / "book", Calls(tmp_path / "oracle")
    book.touch()
    with psycopg.connect(postgres_url) as connection:
        connection.execute("INSERT INTO effects (origin, key, run_id, state, created_at) VALUES ('o', 'o/k', 'r', 'begun', 0)")
    oracle.note(Call("m", "o/k", "once"))
    assert check(book, oracle.path, tmp_path / "answers", postgres_url).wrong == []
    oracle.note(Call("m", "o/k", "once"))
    verdict = check(book, oracle.path, tmp_path / "answers", postgres_url)
    assert verdict.wrong == ["effects: once-tool ran 2 times for m"]
    assert verdict.compared["once_effects"] == 1
