"""The saver suite: what is put is what is found."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME
from langgraph.types import Interrupt, Send
from tests.contract.suites.saver.case import SaverCalls, SaverCase, at, id_of, new_checkpoint

VALUES: dict[str, Any] = {
    "text": "Grüße, 世界 \x00 \U0001f600",
    "number": 2**40,
    "share": 0.1,
    "nothing": None,
    "yes": True,
    "bytes": b"\x00\xff",
    "nested": {"list": [1, [2, {"three": 3}]], "empty": {}},
    "set": {"a", "b"},
    "tuple": [1, 2],
    "moment": datetime(2026, 3, 29, 1, 30, tzinfo=UTC),
    "decimal": Decimal("0.10"),
    "uuid": UUID("12345678-1234-5678-1234-567812345678"),
    "messages": [
        HumanMessage("hello", id="1"),
        AIMessage("hi", id="2", tool_calls=[{"name": "t", "args": {"a": 1}, "id": "c"}]),
    ],
    "send": [Send("node", {"a": 1})],
}


class Unlisted:
    """A type that no list of allowed types names. Stored like a named tuple: by name, with its fields."""

    def __init__(self, field: str) -> None:
        self.field = field

    def _asdict(self) -> dict[str, str]:
        return {"field": self.field}


class StoringCases(SaverCase):
    def test_values_come_back_as_they_were(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r")
        config = calls.store(saver, at("t"), VALUES, step=3, parents={"": "p"})
        found = calls(saver, "get_tuple", config)
        assert found.checkpoint["channel_values"] == VALUES
        assert found.checkpoint["id"] == id_of(config)
        assert {"source": "loop", "step": 3, "parents": {"": "p"}}.items() <= found.metadata.items()
        assert found.parent_config is None
        assert found.pending_writes == []

    def test_a_type_that_is_not_on_the_list_stays_data(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r")
        calls.store(saver, at("t"), {"value": Unlisted("x")})
        assert calls(saver, "get_tuple", at("t")).checkpoint["channel_values"]["value"] == {"field": "x"}

    def test_a_type_can_be_put_on_the_list(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r").with_allowlist([(Unlisted.__module__, Unlisted.__name__)])
        calls.store(saver, at("t"), {"value": Unlisted("x")})
        value = calls(saver, "get_tuple", at("t")).checkpoint["channel_values"]["value"]
        assert isinstance(value, Unlisted)
        assert value.field == "x"

    def test_what_is_not_there_is_none(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r")
        assert calls(saver, "get_tuple", at("t")) is None
        config = calls.store(saver, at("t"), {})
        assert calls(saver, "get_tuple", at("other")) is None
        assert calls(saver, "get_tuple", at("t", "sub:1")) is None
        assert calls(saver, "get_tuple", at("t", "sub:1", id_of(config))) is None
        assert calls(saver, "get_tuple", at("t", "", "no-such-id")) is None
        assert calls.listed(saver, at("other")) == []

    def test_metadata_has_what_the_config_says_and_nothing_internal(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r")
        config: RunnableConfig = {
            "configurable": {**at("t")["configurable"], "user": "ada", "__secret": "x"},
            "metadata": {"tag": "blue", "many": [1]},
        }
        calls.store(saver, config, {}, step=7)
        metadata = calls(saver, "get_tuple", at("t")).metadata
        assert (metadata["user"], metadata["tag"], metadata["step"]) == ("ada", "blue", 7)
        assert not {"thread_id", "__secret", "many"} & metadata.keys()

    def test_without_an_id_the_latest_is_meant(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r")
        first = calls.store(saver, at("t"), {"n": 1})
        second = calls.store(saver, first, {"n": 2})
        assert id_of(calls(saver, "get_tuple", at("t")).config) == id_of(second)
        assert calls(saver, "get_tuple", first).checkpoint["channel_values"] == {"n": 1}

    def test_parents_lead_back_to_the_first(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r")
        config, stored = at("t"), []
        for n in range(5):
            config = calls.store(saver, config, {"n": n})
            stored.append(id_of(config))
        walked = []
        step: RunnableConfig | None = config
        while step is not None:
            walked.append(id_of(step))
            step = calls(saver, "get_tuple", step).parent_config
        assert walked == stored[::-1]

    def test_a_checkpoint_put_again_is_replaced(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r")
        checkpoint = new_checkpoint(saver, {"n": 1})
        versions = checkpoint["channel_versions"]
        calls(saver, "put", at("t"), checkpoint, {"step": 1}, versions)
        calls(saver, "put", at("t"), {**checkpoint, "channel_values": {"n": 2}}, {"step": 2}, versions)
        [only] = calls.listed(saver, at("t"))
        assert only.checkpoint["channel_values"] == {"n": 2}
        assert only.metadata["step"] == 2

    def test_versions_only_grow(self) -> None:
        saver = self.make_saver("t", "r")
        versions: list[Any] = []
        for _ in range(12):
            versions.append(saver.get_next_version(versions[-1] if versions else None, None))
        assert sorted(versions) == versions
        assert len(set(versions)) == 12


class WritesCases(SaverCase):
    def test_writes_come_in_the_order_in_which_they_are_applied(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r")
        config = calls.store(saver, at("t"), {})
        calls(saver, "put_writes", config, [("a", 1), ("b", 2)], "task-1", "~2")
        calls(saver, "put_writes", config, [("a", 3)], "task-3", "~1")
        calls(saver, "put_writes", config, [("a", 4)], "task-2", "~1")
        calls(saver, "put_writes", config, [("a", 5)], "task-9", "")
        assert calls(saver, "get_tuple", config).pending_writes == [
            ("task-9", "a", 5),
            ("task-2", "a", 4),
            ("task-3", "a", 3),
            ("task-1", "a", 1),
            ("task-1", "b", 2),
        ]

    def test_more_than_ten_writes_of_a_task_keep_their_order(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r")
        config = calls.store(saver, at("t"), {})
        calls(saver, "put_writes", config, [("a", n) for n in range(12)], "task", "")
        assert [value for _, _, value in calls(saver, "get_tuple", config).pending_writes] == list(range(12))

    def test_a_write_stands_as_it_was_first_written(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r")
        config = calls.store(saver, at("t"), {})
        calls(saver, "put_writes", config, [("a", 1)], "task")
        calls(saver, "put_writes", config, [("a", 2)], "task")
        assert calls(saver, "get_tuple", config).pending_writes == [("task", "a", 1)]

    def test_errors_questions_and_answers_are_replaced(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r")
        config = calls.store(saver, at("t"), {})
        question = (Interrupt("sure?", id="i"),)
        for channel, old, new in ((ERROR, "e1", "e2"), (INTERRUPT, (), question), (RESUME, ["a"], ["a", "b"])):
            calls(saver, "put_writes", config, [(channel, old)], "task")
            calls(saver, "put_writes", config, [(channel, new)], "task")
        written = {channel: value for _, channel, value in calls(saver, "get_tuple", config).pending_writes}
        assert written[ERROR] == "e2"
        assert tuple(written[INTERRUPT]) == question
        assert written[RESUME] == ["a", "b"]

    def test_an_answer_beside_a_plain_write_replaces_and_leaves_the_plain_one(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r")
        config = calls.store(saver, at("t"), {})
        calls(saver, "put_writes", config, [("a", 1), (RESUME, "old")], "task")
        calls(saver, "put_writes", config, [("a", 2), (RESUME, "new")], "task")
        assert sorted(calls(saver, "get_tuple", config).pending_writes) == [("task", RESUME, "new"), ("task", "a", 1)]

    def test_writes_may_come_before_their_checkpoint(self, calls: SaverCalls) -> None:
        saver = self.make_saver("t", "r")
        checkpoint = new_checkpoint(saver, {})
        calls(saver, "put_writes", at("t", "", checkpoint["id"]), [("a", 1)], "task")
        assert calls(saver, "get_tuple", at("t")) is None
        calls(saver, "put", at("t"), checkpoint, {}, {})
        assert calls(saver, "get_tuple", at("t")).pending_writes == [("task", "a", 1)]
