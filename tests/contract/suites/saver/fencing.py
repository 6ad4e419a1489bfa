"""The saver suite: a saver belongs to a lease. Whoever was overtaken changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.contract.suites.saver.case import Saver, SaverCalls, SaverCase, at, new_checkpoint

from stepwell.errors import ConfigurationError, LeaseLostError

Change = Callable[[SaverCalls, Saver, str], Any]

CHANGES: dict[str, Change] = {
    "put": lambda calls, saver, thread: calls(saver, "put", at(thread), new_checkpoint(saver, {"n": 2}), {}, {}),
    "put in a subgraph": lambda calls, saver, thread: calls(
        saver, "put", at(thread, "sub:1"), new_checkpoint(saver, {"n": 2}), {}, {}
    ),
    "put_writes": lambda calls, saver, thread: calls(saver, "put_writes", at(thread, "", "1"), [("a", 1)], "task"),
    "delete_thread": lambda calls, saver, thread: calls(saver, "delete_thread", thread),
    "copy_thread": lambda calls, saver, thread: calls(saver, "copy_thread", "source", thread),
    "prune": lambda calls, saver, thread: calls(saver, "prune", [thread]),
    "delete_for_runs": lambda calls, saver, thread: calls(saver, "delete_for_runs", ["r"]),
}


class FencingCases(SaverCase):
    def contents(self, calls: SaverCalls, thread_id: str = "t") -> list[Any]:
        return calls.listed(self.make_reader(), {"configurable": {"thread_id": thread_id}})

    @pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
    def test_whoever_was_overtaken_changes_nothing(self, calls: SaverCalls, change: Change) -> None:
        calls.store(self.make_saver("source", "r0"), at("source"), {"n": 0})
        saver = self.make_saver("t", "r")
        calls.store(saver, at("t"), {"n": 1})
        before = self.contents(calls)
        self.outdate("t")
        with pytest.raises(LeaseLostError, match="'t'"):
            change(calls, saver, "t")
        assert self.contents(calls) == before

    @pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
    def test_a_saver_without_a_lease_only_reads(self, calls: SaverCalls, change: Change) -> None:
        calls.store(self.make_saver("t", "r"), at("t"), {"n": 1})
        before = self.contents(calls)
        with pytest.raises(ConfigurationError, match="only reads"):
            change(calls, self.make_reader(), "t")
        assert self.contents(calls) == before

    @pytest.mark.parametrize("change", list(CHANGES.values())[:-1], ids=list(CHANGES)[:-1])
    def test_a_lease_is_for_one_thread(self, calls: SaverCalls, change: Change) -> None:
        calls.store(self.make_saver("t", "r"), at("t"), {"n": 1})
        before = self.contents(calls)
        with pytest.raises(ConfigurationError, match="'t'"):
            change(calls, self.make_saver("mine", "r2"), "t")
        assert self.contents(calls) == before

    def test_runs_of_other_threads_are_not_deleted(self, calls: SaverCalls) -> None:
        calls.store(self.make_saver("t", "r"), at("t"), {"n": 1})
        calls(self.make_saver("mine", "r2"), "delete_for_runs", ["r"])
        assert len(self.contents(calls)) == 1

    def test_the_copy_that_knows_a_graphs_types_has_the_same_lease(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r").with_allowlist([("some.module", "Name")])
        calls.store(saver, at("t"), {"n": 1})
        self.outdate("t")
        with pytest.raises(LeaseLostError):
            calls.store(saver, at("t"), {"n": 2})
