"""What clients may see of a run's configuration is the same wherever they look: in a thread's state and in a stream."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from stepwell.runs.run_config import checkpoint_place, public_metadata
from stepwell.runs.threads.snapshots import thread_state

from .streaming.stream_world import THREAD, two_nodes, watch

KEY = "sk-" + "a1B2c3D4" * 6
GIVEN = {
    "tenant": "acme",
    "note": f"use {KEY}",
    "openai_api_key": "hunter22",
    "__ours": 1,
    "langgraph_auth_user": "ann",
    "langgraph_request_id": "r1",
    "langgraph_path": "p",
    "lc_versions": "1",
    "writes": "one",
    "lease": "l",
    "fence": 7,
}


async def _seen() -> list[dict[str, Any]]:
    """What was given, as the thread's state shows it and as every event of a stream does that has metadata."""
    saver = InMemorySaver()
    seen = await watch(two_nodes(), "tasks events", saver=saver, metadata=GIVEN)
    graph = two_nodes().compile(checkpointer=saver)
    state = thread_state(await graph.aget_state({"configurable": {"thread_id": THREAD}}))
    shown = [state["metadata"], *(payload["metadata"] for name, payload in seen.events if "metadata" in payload)]
    return [{name: value for name, value in metadata.items() if name in GIVEN} for metadata in shown]


async def test_a_state_and_a_stream_show_the_same_metadata() -> None:
    in_state, *in_stream = await _seen()
    assert len(in_stream) > 4
    assert all(shown == in_state for shown in in_stream)


async def test_what_clients_must_not_see_is_neither_in_the_state_nor_in_a_stream() -> None:
    for shown in await _seen():
        assert shown.keys() == {"tenant", "note"}
        assert shown["tenant"] == "acme"
        assert KEY not in shown["note"]


def test_secrets_inside_of_values_are_left_out() -> None:
    one = {"name": "one", "api_key": "hunter22"}
    assert public_metadata({"service": one, "services": [one]}) == {"service": {"name": "one"}, "services": [{"name": "one"}]}


@pytest.mark.parametrize(
    "name",
    [
        "api_key",
        "OPENAI_API_KEY",
        "x-api-key",
        "github_token",
        "token",
        "db.password",
        "Authorization",
        "openaiApiKey",
        "accessToken",
        "clientSecret",
        "APIKey",
        "apikeys",
        "api_keys",
        "refreshTokens",
        "auth_header",
        "jwt",
        "passphrase",
    ],
)
def test_metadata_with_the_name_of_a_secret_is_left_out(name: str) -> None:
    assert public_metadata({name: "hidden", "step": 1}) == {"step": 1}


@pytest.mark.parametrize(
    "name", ["max_tokens", "maxTokens", "keyboard", "tokenizer", "secretary", "graph_id", "sort_key", "author", "header", "key"]
)
def test_metadata_with_a_harmless_name_stays(name: str) -> None:
    assert public_metadata({name: 1}) == {name: 1}


def test_bookkeeping_of_the_engine_is_left_out() -> None:
    metadata = {"__start": 1, "counters_since_delta_snapshot": {"messages": [1, 2]}, "run_id": "r"}
    assert public_metadata(metadata) == {"run_id": "r"}


def test_the_place_of_a_checkpoint_is_all_that_is_told_of_a_config() -> None:
    config = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": None, "user": "u"}, "tags": ["x"]}
    assert checkpoint_place(config) == {"thread_id": "t", "checkpoint_ns": ""}
