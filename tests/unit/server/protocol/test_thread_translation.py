"""From the journal to the streaming protocol: each event, and which subscription wants it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from stepwell.database.types import RunEvent
from stepwell.server.protocol.bodies import EventsQuery, InputRespond, RunStart
from stepwell.server.protocol.subscription import Subscription
from stepwell.server.protocol.translation import translate


def event(name: str, data: Any) -> RunEvent:
    return RunEvent(5, "t", "r", name, orjson.dumps(data))


def framed(name: str, data: Any) -> dict[str, Any] | None:
    """The event as a client reads it."""
    found = translate(event(name, data))
    if found is None:
        return None
    lines = found.frame(1000).decode().split("\n")
    assert lines[:2] == ["id: 5", f"event: {found.method}"]
    assert lines[3:] == ["", ""]
    read: dict[str, Any] = orjson.loads(lines[2].removeprefix("data: "))
    assert (read["type"], read["seq"], read["event_id"], read["params"]["timestamp"]) == ("event", 5, "5", 1000)
    return read


@pytest.mark.parametrize(
    ("name", "data", "method", "namespace", "expected"),
    [
        ("metadata", {"run_id": "r", "attempt": 1}, "lifecycle", [], {"event": "running", "run_id": "r"}),
        ("end", {"run_id": "r", "status": "success"}, "lifecycle", [], {"event": "completed", "run_id": "r"}),
        ("end", {"status": "success", "paused": True}, "lifecycle", [], {"event": "interrupted", "run_id": "r"}),
        ("end", {"status": "interrupted"}, "lifecycle", [], {"event": "completed", "run_id": "r", "reason": "stopped"}),
        ("error", {"error": "E", "message": "m"}, "lifecycle", [], {"event": "failed", "run_id": "r", "error": "m"}),
        (
            "lifecycle",
            {"event": "started", "namespace": ["a:1"]},
            "lifecycle",
            ["a:1"],
            {"event": "started", "namespace": ["a:1"]},
        ),
        ("values|a:1|b:2", {"n": 1}, "values", ["a:1", "b:2"], {"n": 1}),
        ("values", {"n": 1, "__interrupt__": []}, "values", [], {"n": 1}),
        ("values", {"n": '"__interrupt__"'}, "values", [], {"n": '"__interrupt__"'}),
        ("updates", {"node": {"n": 1}}, "updates", [], {"node": "node", "values": {"n": 1}}),
        ("updates", {"a": 1, "b": 2}, "updates", [], {"values": {"a": 1, "b": 2}}),
        ("custom", [1], "custom", [], {"payload": [1]}),
        ("custom", {"name": "p", "n": 1}, "custom", [], {"name": "p", "n": 1, "payload": {"name": "p", "n": 1}}),
        ("protocol/input|a:1", {"interrupt_id": "i"}, "input.requested", ["a:1"], {"interrupt_id": "i"}),
        ("protocol/tasks", {"id": "t", "result": {}}, "tasks", [], {"id": "t", "result": {}}),
        (
            "tools",
            {"event": "on_tool_start", "toolCallId": "c", "name": "look", "input": {"at": 1}},
            "tools",
            [],
            {"event": "tool-started", "tool_call_id": "c", "tool_name": "look", "input": {"at": 1}},
        ),
        (
            "tools",
            {"event": "on_tool_error", "toolCallId": "c", "name": "look", "error": "no"},
            "tools",
            [],
            {"event": "tool-error", "tool_call_id": "c", "tool_name": "look", "message": "no"},
        ),
    ],
)
def test_an_event_becomes_one_of_the_protocol(name: str, data: Any, method: str, namespace: list[str], expected: Any) -> None:
    found = framed(name, data)
    assert found is not None
    assert (found["method"], found["params"]["namespace"], found["params"]["data"]) == (method, namespace, expected)


def test_a_message_event_keeps_its_node() -> None:
    found = framed("protocol/messages|a:1", {"node": "talk", "data": {"event": "message-finish"}})
    assert found is not None
    assert (found["method"], found["params"]["node"], found["params"]["data"]) == (
        "messages",
        "talk",
        {"event": "message-finish"},
    )


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("end", {"status": "error"}),
        ("end", {"status": "timeout"}),
        ("values", {"__interrupt__": []}),
        ("updates", {"__interrupt__": []}),
        ("messages", [{}, {}]),
        ("messages/partial", []),
        ("checkpoints", {}),
        ("debug", {}),
        ("something new", {}),
    ],
)
def test_other_events_become_nothing(name: str, data: Any) -> None:
    assert framed(name, data) is None


@pytest.mark.parametrize(
    ("asked", "namespace", "wanted"),
    [
        ({}, "", True),
        ({}, "a:1 b:2", True),
        ({"depth": 0}, "a:1 b:2", True),
        ({"namespaces": [[]], "depth": 0}, "", True),
        ({"namespaces": [[]], "depth": 0}, "a:1", False),
        ({"namespaces": [[]], "depth": 1}, "a:1", True),
        ({"namespaces": [["a"]]}, "a:1 b:2", True),
        ({"namespaces": [["a:1"]]}, "a:1", True),
        ({"namespaces": [["a:2"]]}, "a:1", False),
        ({"namespaces": [["a"]]}, "ab:1", False),
        ({"namespaces": [["a", "b"]]}, "a:1", False),
        ({"namespaces": [["x"], ["a"]], "depth": 0}, "a:1", True),
        ({"namespaces": [["a"]], "depth": 0}, "a:1 b:2", False),
    ],
)
def test_namespaces_and_depth(asked: dict[str, Any], namespace: str, wanted: bool) -> None:
    subscription = EventsQuery.model_validate({"channels": ["values"], **asked}).subscription()
    assert subscription.wants("values", tuple(namespace.split())) is wanted


def test_a_named_custom_event_is_wanted_by_its_name_and_by_all() -> None:
    assert Subscription(frozenset({"custom"})).wants("custom:p", ())
    assert Subscription(frozenset({"custom:p"})).wants("custom:p", ())
    assert not Subscription(frozenset({"custom:q"})).wants("custom:p", ())
    assert not Subscription(frozenset({"custom:p"})).wants("custom", ())


def test_both_sdks_words_for_the_strategy_are_taken() -> None:
    for name in ("multitask_strategy", "multitaskStrategy"):
        assert RunStart.model_validate({"assistant_id": "a", name: "reject"}).multitask_strategy == "reject"


def test_one_answer_and_several_are_a_map_of_ids() -> None:
    assert InputRespond.model_validate({"interrupt_id": "i", "response": None}).answers() == {"i": None}
    several = [{"interrupt_id": name, "namespace": [], "response": name} for name in "ij"]
    assert InputRespond.model_validate({"responses": several}).answers() == {"i": "i", "j": "j"}
