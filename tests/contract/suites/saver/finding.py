"""The saver suite: lists, namespaces, and taking away."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from tests.contract.suites.saver.case import Saver, SaverCalls, SaverCase, at, id_of


def ids(found: list[CheckpointTuple]) -> list[str]:
    return [id_of(each.config) for each in found]


class FindingCases(SaverCase):
    @pytest.fixture
    def saver(self) -> Saver:
        return self.make_saver("t", "r")

    @pytest.fixture
    def chain(self, calls: SaverCalls, saver: Saver) -> list[RunnableConfig]:
        """Six checkpoints, oldest first. Every second one is an update."""
        configs = [at("t")]
        for n in range(6):
            source = "update" if n % 2 else "loop"
            mark: dict[str, Any] = {"mark": {"colour": "red", "at": [n]}} if n == 3 else {}
            configs.append(calls.store(saver, configs[-1], {"n": n}, source=source, step=n, **mark))
        return configs[1:]

    def test_the_newest_comes_first(self, calls: SaverCalls, saver: Saver, chain: list[RunnableConfig]) -> None:
        found = calls.listed(saver, at("t"))
        assert ids(found) == [id_of(config) for config in reversed(chain)]
        assert [each.checkpoint["channel_values"]["n"] for each in found] == [5, 4, 3, 2, 1, 0]
        assert [id_of(each.parent_config) for each in found[:-1]] == ids(found[1:])

    def test_lists_carry_the_writes_too(self, calls: SaverCalls, saver: Saver, chain: list[RunnableConfig]) -> None:
        calls(saver, "put_writes", chain[2], [("a", 1)], "task")
        writes = [each.pending_writes for each in calls.listed(saver, at("t"))]
        assert writes == [[], [], [], [("task", "a", 1)], [], []]

    def test_before_and_limit_cut_the_list(self, calls: SaverCalls, saver: Saver, chain: list[RunnableConfig]) -> None:
        newest = [id_of(config) for config in reversed(chain)]
        assert ids(calls.listed(saver, at("t"), limit=2)) == newest[:2]
        assert ids(calls.listed(saver, at("t"), before=chain[3])) == newest[3:]
        assert ids(calls.listed(saver, at("t"), before=chain[3], limit=2)) == newest[3:5]
        assert calls.listed(saver, at("t"), limit=0) == []
        assert calls.listed(saver, at("t"), before=chain[0]) == []

    def test_a_list_longer_than_any_page_is_complete(self, calls: SaverCalls, saver: Saver) -> None:
        config, stored = at("t"), []
        for n in range(150):
            config = calls.store(saver, config, {}, step=n)
            stored.append(id_of(config))
        assert ids(calls.listed(saver, at("t"))) == stored[::-1]
        assert ids(calls.listed(saver, at("t"), limit=140)) == stored[:9:-1]

    def test_a_config_with_an_id_means_that_one(self, calls: SaverCalls, saver: Saver, chain: list[RunnableConfig]) -> None:
        assert ids(calls.listed(saver, chain[2])) == [id_of(chain[2])]

    @pytest.mark.parametrize(
        ("condition", "steps"),
        [
            ({"source": "update"}, [5, 3, 1]),
            ({"source": "update", "step": 3}, [3]),
            ({"step": 0}, [0]),
            ({"mark": {"colour": "red", "at": [3]}}, [3]),
            ({"mark": None}, [5, 4, 2, 1, 0]),
            ({"source": "nothing"}, []),
            ({"step": "3"}, []),
            ({"no such-key.at all": 1}, []),
            ({}, [5, 4, 3, 2, 1, 0]),
        ],
    )
    def test_metadata_filters(
        self, calls: SaverCalls, saver: Saver, chain: list[RunnableConfig], condition: dict[str, object], steps: list[int]
    ) -> None:
        assert [each.metadata["step"] for each in calls.listed(saver, at("t"), filter=condition)] == steps

    def test_a_filter_is_applied_before_the_limit(self, calls: SaverCalls, saver: Saver, chain: list[RunnableConfig]) -> None:
        found = calls.listed(saver, at("t"), filter={"source": "update"}, limit=2)
        assert [each.metadata["step"] for each in found] == [5, 3]

    def test_namespaces_keep_apart(self, calls: SaverCalls, saver: Saver) -> None:
        root = calls.store(saver, at("t"), {"n": 1})
        child = calls.store(saver, at("t", "sub:1"), {"n": 2})
        calls(saver, "put_writes", child, [("a", 1)], "task")
        assert calls(saver, "get_tuple", at("t")).checkpoint["channel_values"] == {"n": 1}
        assert calls(saver, "get_tuple", at("t")).pending_writes == []
        assert calls(saver, "get_tuple", at("t", "sub:1")).checkpoint["channel_values"] == {"n": 2}
        assert ids(calls.listed(saver, at("t", "sub:1"))) == [id_of(child)]
        assert ids(calls.listed(saver, at("t"))) == [id_of(root)]
        everywhere = calls.listed(saver, {"configurable": {"thread_id": "t"}})
        assert sorted(ids(everywhere)) == sorted([id_of(root), id_of(child)])


class RemovingCases(SaverCase):
    def test_deleting_a_thread_leaves_others_alone(self, calls: SaverCalls) -> None:
        gone, kept = self.make_saver("t", "r"), self.make_saver("other", "r2")
        for saver, thread_id in ((gone, "t"), (kept, "other")):
            for namespace in ("", "sub:1"):
                config = calls.store(saver, at(thread_id, namespace), {"n": 1})
                calls(saver, "put_writes", config, [("a", 1)], "task")
        calls(gone, "delete_thread", "t")
        assert calls.listed(gone, {"configurable": {"thread_id": "t"}}) == []
        assert [each.pending_writes for each in calls.listed(kept, {"configurable": {"thread_id": "other"}})] == [
            [("task", "a", 1)]
        ] * 2

    def test_deleting_a_run_takes_back_what_it_wrote(self, calls: SaverCalls) -> None:
        first = self.make_saver("t", "run-1")
        before = calls.store(first, at("t"), {"n": 1})
        calls(first, "put_writes", before, [("a", 1)], "task-1")
        second = self.make_saver("t", "run-2")
        calls(second, "put_writes", before, [("a", 2)], "task-2")
        calls.store(second, before, {"n": 2})
        calls.store(second, at("t", "sub:1"), {"n": 3})
        calls(second, "delete_for_runs", ["run-2", "no-such-run"])
        [only] = calls.listed(second, {"configurable": {"thread_id": "t"}})
        assert only.checkpoint["channel_values"] == {"n": 1}
        assert only.pending_writes == [("task-1", "a", 1)]

    def test_a_copy_is_whole_and_lives_on_by_itself(self, calls: SaverCalls) -> None:
        source = self.make_saver("t", "r")
        config = at("t")
        for n in range(3):
            config = calls.store(source, config, {"n": n})
            calls(source, "put_writes", config, [("a", n)], "task")
        calls.store(source, at("t", "sub:1"), {"n": 9})
        target = self.make_saver("copy", "r2")
        calls(target, "copy_thread", "t", "copy")
        original: RunnableConfig = {"configurable": {"thread_id": "t"}}
        copy: RunnableConfig = {"configurable": {"thread_id": "copy"}}
        one, other = calls.listed(target, original), calls.listed(target, copy)
        assert [(each.checkpoint, each.metadata, each.pending_writes) for each in one] == [
            (each.checkpoint, each.metadata, each.pending_writes) for each in other
        ]
        assert {each.config["configurable"]["thread_id"] for each in other} == {"copy"}
        calls.store(target, at("copy", "", ids(other)[0]), {"n": 10})
        assert len(calls.listed(target, original)) == 4
        assert len(calls.listed(target, copy)) == 5
