"""Each promise of the chaos test can be seen to be broken: a sound world passes, and one with a single wrong thing in it does not."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.integration.durability.oracle import Call, Oracle
from tests.integration.postgres.chaos import checks
from tests.integration.postgres.chaos.checks import Snapshot
from tests.integration.postgres.chaos.people import Book, Heard, Said


@dataclass
class World:
    """A thread that spoke once, with a second attempt, and one that paid for an answer."""

    oracle: Oracle
    book: Book = field(default_factory=Book)
    snapshot: Snapshot = field(default_factory=lambda: Snapshot({}, {}, {}))
    given: list[tuple[str, str]] = field(default_factory=lambda: [("paid", "an answer")])

    def wrong(self) -> list[str]:
        return checks.everything(self.snapshot, self.book, self.oracle, self.given)


def _word(seq: int, execution: str, word: int) -> Heard:
    return Heard(seq, "custom", {"execution": execution, "step": "first", "word": word})


def _run(run_id: str, thread_id: str, **fields: Any) -> dict[str, Any]:
    known = {"run_id": run_id, "thread_id": thread_id, "status": "success", "attempt": 1, "error": None, "cancel_action": None}
    return known | fields


@pytest.fixture
def oracle() -> Iterator[Oracle]:
    with Oracle() as opened:
        yield opened


@pytest.fixture
def world(oracle: Oracle) -> World:
    made, done = World(oracle), [f"m {step}" for step in ("first", "second", "third")]
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
        "sessions": [session],
        "entries": [
            {"session_id": "s", "kind": "credit", "amount": 100, "key": "opening:0"},
            {"session_id": "s", "kind": "charge", "amount": 5, "key": "paid:1"},
        ],
    }
    made.snapshot.states = {
        "spoken": {"marks": ["m"], "done": done},
        "paid": {"messages": [{"type": "human", "content": "n"}, {"type": "ai", "content": "an answer"}]},
    }
    made.book.said = [Said("spoken", "speaking", "m", "r"), Said("paid", "sold", "n", "p")]
    made.book.followed = {"r": copy.deepcopy(said)}
    for step in done:
        made.oracle.note(Call(step, f"key of {step}", "keyed"))
    made.oracle.note(Call("m", "key", "once"))
    return made


def test_a_sound_world_passes(world: World) -> None:
    assert world.wrong() == []


def test_what_was_taken_back_is_gone_or_was_done_by_then(world: World) -> None:
    world.book.taken_back.add("r")
    assert world.wrong() == []
    world.snapshot.states["spoken"] = {"marks": [], "done": []}
    assert world.wrong() == []


def _lose_message(world: World) -> None:
    world.snapshot.states["spoken"]["marks"] = []


def _double_message(world: World) -> None:
    world.snapshot.states["spoken"]["marks"] *= 2


def _keep_refused_message(world: World) -> None:
    world.book.said[0] = world.book.said[0]._replace(run_id=None, refused=True)


def _do_step_twice(world: World) -> None:
    world.snapshot.states["spoken"]["done"].append("m second")


def _skip_step(world: World) -> None:
    world.snapshot.states["spoken"]["done"].remove("m second")


def _take_back_half(world: World) -> None:
    world.book.taken_back.add("r")
    world.snapshot.states["spoken"]["marks"] = []


def _take_back_a_step(world: World) -> None:
    world.book.taken_back.add("r")
    _skip_step(world)


def _leave_call_open(world: World) -> None:
    world.snapshot.states["paid"]["messages"][1]["tool_calls"] = [{"id": "c", "args": {}}]


def _delegate(world: World, **result: Any) -> None:
    """An agent that handed its work to a subagent."""
    call = {"type": "ai", "content": "", "tool_calls": [{"id": "c", "args": {}}]}
    answer = {"type": "tool", "name": "task", "tool_call_id": "c", "content": "helped", "status": "success"} | result
    files = {f"/notes/{name}.md": {} for name in ("d", "d-0", "d-1")}
    world.snapshot.states["deep"] = {"messages": [{"type": "human", "content": "d"}, call, answer], "files": files}
    world.book.said.append(Said("deep", "deep", "d", "d"))


def test_a_subagent_that_helped_passes(world: World) -> None:
    _delegate(world)
    assert world.wrong() == []


def _fail_subagent(world: World) -> None:
    _delegate(world, status="error", content="Error: the subagent failed")


def _lose_subagents_file(world: World) -> None:
    _delegate(world)
    del world.snapshot.states["deep"]["files"]["/notes/d-1.md"]


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


def _repeat_once(world: World) -> None:
    world.oracle.note(Call("m", "key", "once"))


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
    _repeat_once: "effects",
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
