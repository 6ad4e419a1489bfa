"""Every call of the Python SDK's `assistants` and `store`, against a real server."""

from __future__ import annotations

import uuid

import pytest
from langgraph_sdk.errors import ConflictError, NotFoundError, UnprocessableEntityError
from tests.integration.server.conftest import Server


async def test_every_graph_has_an_assistant_of_the_system(server: Server) -> None:
    found = await server.client.assistants.search(metadata={"created_by": "system"}, limit=50)
    assert {assistant["graph_id"] for assistant in found} == {"echo", "asks", "fails", "ticks"}
    by_name = await server.client.assistants.get("echo")
    assert by_name in found


async def test_an_assistant_is_created_changed_versioned_and_deleted(server: Server) -> None:
    assistants = server.client.assistants
    made = await assistants.create(
        "echo", {"configurable": {"tone": "dry"}}, metadata={"team": "a"}, name="Dry", description="says little"
    )
    changed = await assistants.update(made["assistant_id"], name="Dryer", metadata={"year": 1})
    assert (changed["version"], changed["name"], changed["metadata"]) == (2, "Dryer", {"team": "a", "year": 1})
    versions = await assistants.get_versions(made["assistant_id"])
    assert [version["version"] for version in versions] == [2, 1]
    assert (await assistants.set_latest(made["assistant_id"], 1))["name"] == "Dry"
    assert await assistants.count(metadata={"team": "a"}) == 1
    await assistants.delete(made["assistant_id"])
    with pytest.raises(NotFoundError, match=made["assistant_id"]):
        await assistants.get(made["assistant_id"])


async def test_an_id_that_is_taken_is_a_conflict_unless_told_otherwise(server: Server) -> None:
    assistant_id = str(uuid.uuid4())
    made = await server.client.assistants.create("echo", assistant_id=assistant_id)
    with pytest.raises(ConflictError):
        await server.client.assistants.create("echo", assistant_id=assistant_id)
    assert await server.client.assistants.create("echo", assistant_id=assistant_id, if_exists="do_nothing") == made


async def test_a_search_says_where_the_next_page_begins(server: Server) -> None:
    first = await server.client.assistants.search(limit=3, response_format="object")
    assert first["next"] == "3"
    last = await server.client.assistants.search(limit=3, offset=3, response_format="object")
    assert last["next"] is None
    assert len(first["assistants"]) + len(last["assistants"]) == 4


async def test_a_search_gives_only_the_fields_that_were_asked_for(server: Server) -> None:
    found = await server.client.assistants.search(select=["name", "version"], sort_by="name", sort_order="asc")
    assert found[0] == {"name": "asks", "version": 1}


async def test_schemas_graph_and_subgraphs_describe_the_graph(server: Server) -> None:
    schemas = await server.client.assistants.get_schemas("echo")
    assert schemas["graph_id"] == "echo"
    assert "messages" in schemas["input_schema"]["properties"]
    graph = await server.client.assistants.get_graph("echo", xray=True)
    assert {node["id"] for node in graph["nodes"]} == {"__start__", "hear", "answer", "__end__"}
    assert await server.client.assistants.get_subgraphs("echo", recurse=True) == {}


async def test_a_graph_that_is_not_served_is_named_in_the_refusal(server: Server) -> None:
    with pytest.raises((NotFoundError, UnprocessableEntityError), match="nowhere"):
        await server.client.assistants.create("nowhere")


async def test_items_are_kept_found_and_forgotten(server: Server) -> None:
    store = server.client.store
    await store.put_item(["users", "ada"], "likes", {"drink": "tea", "lc": 1, "type": "constructor", "id": ["a"]})
    item = await store.get_item(["users", "ada"], "likes")
    assert item["value"] == {"drink": "tea", "lc": 1, "type": "constructor", "id": ["a"]}
    assert item["namespace"] == ["users", "ada"]
    found = await store.search_items(["users"], filter={"drink": "tea"})
    assert [each["key"] for each in found["items"]] == ["likes"]
    assert await store.list_namespaces(prefix=["users"]) == {"namespaces": [["users", "ada"]]}
    await store.delete_item(["users", "ada"], "likes")
    assert await store.get_item(["users", "ada"], "likes") is None
