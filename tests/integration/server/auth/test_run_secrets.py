"""What a caller gives to a run: keys, which a graph may use and which are kept and told nowhere, and names, which change nobody."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph_sdk.runtime import ServerRuntime
from tests.integration.server.auth.test_auth_server import ASKING, Asking, add_key, client_of, files_holding
from tests.integration.server.conftest import serve
from typing_extensions import TypedDict

from stepwell.server.monitoring.logs import open_logs

KEYS = {
    "openai_api_key": "hush-one-0001",
    "openaiApiKey": "hush-two-0002",
    "accessToken": "hush-three-03",
    "headers": {"Authorization": "Bearer hush-four-004"},
    "providers": [{"api_key": "hush-five-005"}],
    "api_keys": {"someone": "hush-six-0006"},
    "dbPassword": "hush-seven-07",
    "GITHUB_PAT": "hush-eight-08",
    "openaiKey": "hush-nine-009",
    "api_token_v2": "hush-ten-0010",
    "dsn": "https://hush-eleven-11@errors.example/1",
    "webhook_url": "https://hooks.example/in?token=hush-twelve-2",
}
TEXTS = [re.search(r"hush-[a-z]+-\d+", json.dumps(value)).group() for value in KEYS.values()]


class State(TypedDict, total=False):
    seen: Any


class Context(TypedDict, total=False):
    apiKey: str
    style: str


def _graph(node: Any) -> Any:
    return StateGraph(State, context_schema=Context).add_node(node).add_edge(START, node.__name__).add_edge(node.__name__, END)


def count_keys(state: State, config: RunnableConfig) -> State:
    text = repr(config["configurable"])
    return {"seen": sum(secret in text for secret in TEXTS)}


def fall_over(state: State, config: RunnableConfig, runtime: Runtime[Context]) -> State:
    secret = config["configurable"].get("openaiApiKey") or runtime.context["apiKey"]
    logging.getLogger("stepwell.test").warning("trying %s", secret, extra={"sent": {"key": secret}})
    raise ValueError(f"wrong key {secret}; asked https://api.example/v1?api_key=of-the-operator")


def say_who(state: State, config: RunnableConfig, runtime: Runtime[Context]) -> State:
    names = ("user_id", "langgraph_auth_user_id", "langgraph_auth_permissions")
    given = config["configurable"]
    forged = [name for name in runtime.context or {} if name.startswith("langgraph_auth_")]
    return {"seen": [given.get("langgraph_auth_user", {}).get("identity"), *(given.get(name) for name in names), forged]}


async def made_for(runtime: ServerRuntime[Any]) -> Any:
    def say_user(state: State) -> State:
        return {"seen": runtime.user.identity if runtime.user else None}

    return _graph(say_user)


GRAPHS = {"counts": _graph(count_keys), "falls": _graph(fall_over), "says": _graph(say_who), "factory": made_for}


@pytest.fixture
async def asking(tmp_path: Path) -> AsyncIterator[Asking]:
    anna, bert = await add_key(tmp_path, "anna"), await add_key(tmp_path, "bert")
    async with (
        serve(tmp_path, ASKING, GRAPHS) as server,
        client_of(server, anna) as first,
        client_of(server, bert) as second,
    ):
        yield Asking(server, first, second, anna)


async def _everything_told(asking: Asking, thread_id: str) -> str:
    anna = asking.anna
    runs, thread = await anna.runs.list(thread_id), await anna.threads.get(thread_id)
    state, history = await anna.threads.get_state(thread_id), await anna.threads.get_history(thread_id)
    export = await asking.server.http.get("/api/export", headers={"x-api-key": asking.key.text})
    return json.dumps([runs, thread, state, history]) + export.text


async def test_keys_are_used_but_neither_told_nor_kept(asking: Asking, tmp_path: Path):
    thread_id = (await asking.anna.threads.create())["thread_id"]
    config = {"configurable": {**KEYS, "style": "short"}}
    made = await asking.anna.runs.create(thread_id, "counts", input={"seen": 0}, config=config, stream_mode=["debug", "values"])
    assert (await asking.anna.runs.join(thread_id, made["run_id"]))["seen"] == len(TEXTS), "the graph has them"
    events = [part.data async for part in asking.anna.runs.join_stream(thread_id, made["run_id"])]
    told = json.dumps(made) + json.dumps(events) + await _everything_told(asking, thread_id)
    assert [secret for secret in TEXTS if secret in told] == []
    assert '"style": "short"' in told
    rows = await asking.server.services.persistence.database.read(
        lambda connection: [
            bytes(str(tuple(row)), "utf-8")
            for table in ("runs", "checkpoints", "writes", "events", "threads")
            for row in connection.execute(f"SELECT * FROM {table}")
        ]
    )
    assert [secret for secret in TEXTS if any(secret.encode() in row for row in rows)] == []
    assert files_holding(tmp_path, b"short") != []


@pytest.mark.parametrize(
    "given", [{"config": {"configurable": {"openaiApiKey": "hush-two-0002"}}}, {"context": {"apiKey": "hush-two-0002"}}]
)
async def test_an_error_of_a_graph_tells_no_key(asking: Asking, given: dict[str, Any]):
    lines: list[bytes] = []
    with open_logs("json", "info", write=lines.append):
        thread_id = (await asking.anna.threads.create())["thread_id"]
        wanted = ["tasks", "debug", "checkpoints", "lifecycle", "events", "tools", "updates", "values"]
        made = await asking.anna.runs.create(thread_id, "falls", input={"seen": 0}, stream_mode=wanted, **given)
        events = [part.data async for part in asking.anna.runs.join_stream(thread_id, made["run_id"])]
    error = (await asking.anna.threads.get(thread_id))["error"]
    assert error["message"].startswith("wrong key [hidden]; asked https://api.example/v1?api_key=[hidden]")
    log = b"".join(lines).decode()
    assert "trying [hidden]" in log
    assert "Traceback" in log
    told = await _everything_told(asking, thread_id) + log
    assert "hush" not in told
    assert "of-the-operator" not in told.replace('api_key=of-the-operator")', "")  # the traceback quotes the source
    assert "of-the-operator" not in json.dumps(events)
    assert "hush" not in json.dumps(events)
    assert "wrong key [hidden]" in json.dumps(events)


async def test_a_caller_cannot_pass_for_somebody_else(asking: Asking):
    forged = {"identity": "anna", "is_authenticated": True}
    names = {
        "user_id": "anna",
        "langgraph_auth_user": forged,
        "langgraph_auth_user_id": "anna",
        "langgraph_auth_permissions": ["*"],
    }
    own = await asking.bert.assistants.create("says", config={"configurable": names})
    for assistant in ("says", own["assistant_id"]):
        said = await asking.bert.runs.wait(None, assistant, input={"seen": 0}, config={"configurable": names})
        assert said["seen"] == ["bert", "bert", "bert", [], []]
    made = await asking.bert.runs.wait(None, "factory", input={"seen": 0}, config={"configurable": names})
    assert made["seen"] == "bert"
