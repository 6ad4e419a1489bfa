"""A project with its own auth, served by a real process, and used with LangGraph's SDK."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient
from langgraph_sdk.errors import AuthenticationError, NotFoundError, PermissionDeniedError
from tests.integration.served.process import Server, serve

EXAMPLE = Path(__file__).parents[4] / "examples" / "22_auth" / "langgraph.json"
HELLO = {"messages": [("user", "hi")]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serve(tmp_path_factory.mktemp("served"), graphs=EXAMPLE) as running:
        yield running


Clients = Callable[[str], SyncLangGraphClient]


@pytest.fixture
def client(server: Server) -> Iterator[Clients]:
    with ExitStack() as opened:

        def make(name: str) -> SyncLangGraphClient:
            headers = {"Authorization": f"Bearer {name}-token"}
            return opened.enter_context(get_sync_client(url=server.url, api_key=None, headers=headers))

        yield make


def test_authenticate_decides_who_calls(server: Server, client: Clients) -> None:
    with pytest.raises(AuthenticationError) as refused:
        client("nobody").threads.create()
    assert "Unknown token" in str(refused.value)
    assert httpx.get(f"{server.url}/threads/{'0' * 32}").status_code == 401
    assert httpx.get(f"{server.url}/ok").status_code == 200
    assert "users     as 'auth.py:auth' of the project says" in server.output
    welcome = httpx.get(f"{server.url}/welcome", headers={"Authorization": "Bearer anna-token"})
    assert welcome.json() == {"text": "Welcome, anna"}
    assert httpx.get(f"{server.url}/welcome").status_code == 401


def test_a_filter_of_threads_is_part_of_every_query(client: Clients) -> None:
    anna, amir, bert = (client(name) for name in ("anna", "amir", "bert"))
    thread = anna.threads.create(metadata={"note": "hers"})
    thread_id = thread["thread_id"]
    assert thread["metadata"]["team"] == "red", "what the filter requires is stored with what is created"
    said = anna.runs.wait(thread_id, "agent", input=HELLO)
    assert said["messages"][-1]["content"] == "Hello anna of team red"
    assert amir.threads.get(thread_id)["metadata"]["note"] == "hers"
    assert amir.runs.wait(thread_id, "agent", input=HELLO)["messages"][-1]["content"] == "Hello amir of team red"
    assert [each["thread_id"] for each in amir.threads.search(metadata={"note": "hers"})] == [thread_id]
    assert bert.threads.search(metadata={"note": "hers"}) == []
    assert bert.threads.count(metadata={"note": "hers"}) == 0
    for attempt in (
        lambda: bert.threads.get(thread_id),
        lambda: bert.threads.get_state(thread_id),
        lambda: bert.threads.get_history(thread_id),
        lambda: bert.threads.update(thread_id, metadata={"team": "blue"}),
        lambda: bert.threads.update_state(thread_id, values=HELLO),
        lambda: bert.threads.copy(thread_id),
        lambda: bert.threads.delete(thread_id),
        lambda: bert.runs.create(thread_id, "agent", input=HELLO),
        lambda: bert.runs.list(thread_id),
        lambda: list(bert.runs.stream(thread_id, "agent", input=HELLO)),
    ):
        with pytest.raises(NotFoundError):
            attempt()


def test_metadata_cannot_move_a_thread_to_another_team(client: Clients) -> None:
    anna, bert = client("anna"), client("bert")
    planted = anna.threads.create(metadata={"team": "blue", "note": "planted"})
    assert planted["metadata"]["team"] == "red"
    assert anna.threads.update(planted["thread_id"], metadata={"team": "blue"})["metadata"]["team"] == "red"
    assert bert.threads.search(metadata={"note": "planted"}) == []


def test_a_thread_made_by_a_run_is_the_teams(client: Clients) -> None:
    anna, amir, bert = (client(name) for name in ("anna", "amir", "bert"))
    thread_id = "8e5f0e4e-6c0f-4f4a-9b51-08a2c4b2f001"
    anna.runs.wait(thread_id, "agent", input=HELLO, if_not_exists="create")
    assert amir.threads.get(thread_id)["metadata"]["team"] == "red"
    with pytest.raises(NotFoundError):
        bert.threads.get(thread_id)
    assert bert.runs.wait(None, "agent", input=HELLO)["messages"][-1]["content"] == "Hello bert of team blue"


def test_assistants_have_their_own_handlers(client: Clients) -> None:
    anna, amir = client("anna"), client("amir")
    made: Any = anna.assistants.create("agent", name="hers", metadata={"created_by": "amir"})
    assert made["metadata"]["created_by"] == "anna"
    assert [each["name"] for each in amir.assistants.search()] == ["agent"], "the server's own, and no other user's"
    with pytest.raises(NotFoundError):
        amir.assistants.get(made["assistant_id"])
    with pytest.raises(NotFoundError):
        amir.runs.create(None, made["assistant_id"], input=HELLO)
    assert anna.runs.wait(None, made["assistant_id"], input=HELLO)
    with pytest.raises(PermissionDeniedError) as refused:
        amir.assistants.delete(made["assistant_id"])
    assert "Ask Anna to delete it" in str(refused.value)
    anna.assistants.delete(made["assistant_id"])


def test_store_handlers_move_items_into_a_namespace(client: Clients) -> None:
    anna, bert = client("anna"), client("bert")
    anna.store.put_item(["notes"], "colour", {"is": "green"})
    assert anna.store.get_item(["notes"], "colour")["namespace"] == ["anna", "notes"]
    assert [each["key"] for each in anna.store.search_items(["notes"])["items"]] == ["colour"]
    assert anna.store.list_namespaces()["namespaces"] == [["anna", "notes"]]
    assert bert.store.search_items([])["items"] == []
    anna.store.delete_item(["notes"], "colour")
    assert anna.store.search_items([])["items"] == []
