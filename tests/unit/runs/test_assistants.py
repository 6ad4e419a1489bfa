"""Assistants over the real records in SQLite: defaults, versions, and the one configuration that has two names."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from stepwell.database.records.repository import Repository
from stepwell.database.records.types import AssistantFilter, Page
from stepwell.database.sqlite.database import Database
from stepwell.database.types import SYSTEM
from stepwell.errors import AccessError, AlreadyExistsError, InvalidRequestError, NotFoundError
from stepwell.runs.assistants import Assistants, default_assistant_id
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.graphs.sources import GraphSource


class Words(TypedDict, total=False):
    word: str


def _make(config: RunnableConfig) -> Any:
    name = config["configurable"].get("node", "say")
    return StateGraph(Words).add_node(name, lambda state: {}).add_edge(START, name)


class Ticking:
    """A clock that moves on by a second whenever it is asked."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "runs.sqlite")
    yield database
    database.close()


def serving(database: Database, *graphs: str) -> Assistants:
    registry = GraphRegistry({name: GraphSource.of(_make, f"does {name}") for name in graphs})
    clock = Ticking()
    return Assistants(Repository(database, clock), registry, clock, lambda: str(uuid4()))


@pytest.fixture
async def assistants(database: Database) -> Assistants:
    made = serving(database, "talk", "plan")
    await made.install_defaults()
    return made


def test_the_id_of_a_default_assistant_never_changes() -> None:
    assert default_assistant_id("agent") == "3a517aab-be7d-52a1-9327-807ee7646115"


async def test_another_projects_graphs_on_the_same_database_are_not_listed(database: Database, assistants: Assistants) -> None:
    await assistants.create("ada", graph_id="plan", name="Ada's planner")
    desk = serving(database, "desk")
    await desk.install_defaults()

    shown = [found.name for found in await desk.search("ada", AssistantFilter(), Page(limit=10))]

    assert sorted(shown) == ["Ada's planner", "desk"]
    assert await desk.count("ada", AssistantFilter()) == 2
    assert await assistants.count("ada", AssistantFilter()) == 3


async def test_every_graph_has_an_assistant_of_the_server(assistants: Assistants) -> None:
    found = await assistants.resolve("ada", "talk")

    assert (found.assistant_id, found.graph_id, found.name, found.owner) == (
        default_assistant_id("talk"),
        "talk",
        "talk",
        SYSTEM,
    )
    assert (found.metadata, found.description, found.version) == ({"created_by": "system"}, "does talk", 1)
    assert await assistants.resolve("ada", found.assistant_id.upper()) == found
    assert await assistants.count("ada", AssistantFilter(metadata={"created_by": "system"})) == 2


async def test_defaults_are_installed_once_and_stay_as_the_operator_left_them(
    assistants: Assistants, database: Database
) -> None:
    changed = await assistants.update(None, "talk", name="Talk to me")

    again = serving(database, "talk", "plan", "more")
    await again.install_defaults()

    assert await again.get("ada", "talk") == changed
    assert await again.count(None, AssistantFilter()) == 3


async def test_an_assistant_whose_graph_is_gone_can_be_seen_but_not_run(assistants: Assistants, database: Database) -> None:
    later = serving(database, "plan")
    await later.install_defaults()

    assert (await later.get("ada", "talk")).graph_id == "talk"
    for use in (later.resolve, later.schemas, later.graph, later.subgraphs):
        with pytest.raises(NotFoundError, match=r"No graph 'talk'\. Served are: plan\."):
            await use("ada", default_assistant_id("talk"))


@pytest.mark.parametrize("name", ["nobody", "", "\0", "067fbd83-5ed1-4d51-8992-0a3d3a780367"])
async def test_an_unknown_assistant_is_not_found_and_the_graphs_are_named(assistants: Assistants, name: str) -> None:
    with pytest.raises(NotFoundError, match=r"or a graph that is served: plan, talk\."):
        await assistants.resolve("ada", name)


async def test_nobody_but_the_operator_changes_an_assistant_of_the_server(assistants: Assistants) -> None:
    with pytest.raises(AccessError):
        await assistants.update("ada", "talk", name="mine")
    with pytest.raises(AccessError):
        await assistants.delete("ada", "talk")
    await assistants.delete(None, "talk")
    with pytest.raises(NotFoundError):
        await assistants.get("ada", "talk")


async def test_an_assistant_belongs_to_who_made_it(assistants: Assistants) -> None:
    mine = await assistants.create("ada", graph_id="talk")
    shared = await assistants.create(None, graph_id="talk", name="for all")

    assert (mine.name, mine.owner, shared.owner) == ("Untitled", "ada", SYSTEM)
    assert await assistants.get("bob", shared.assistant_id) == shared
    with pytest.raises(NotFoundError):
        await assistants.get("bob", mine.assistant_id)


async def test_an_id_can_be_chosen_once(assistants: Assistants) -> None:
    chosen = str(uuid4())
    first = await assistants.create("ada", graph_id="talk", assistant_id=chosen.upper(), name="first")

    assert first.assistant_id == chosen
    assert await assistants.create("ada", graph_id="plan", assistant_id=chosen, if_exists="do_nothing") == first
    with pytest.raises(AlreadyExistsError):
        await assistants.create("ada", graph_id="talk", assistant_id=chosen)
    with pytest.raises(InvalidRequestError, match="'mine' is not a UUID"):
        await assistants.create("ada", graph_id="talk", assistant_id="mine")


async def test_a_graph_that_is_not_served_is_refused(assistants: Assistants) -> None:
    mine = await assistants.create("ada", graph_id="talk")

    with pytest.raises(NotFoundError, match="No graph 'gone'"):
        await assistants.create("ada", graph_id="gone")
    with pytest.raises(NotFoundError, match="No graph 'gone'"):
        await assistants.update("ada", mine.assistant_id, graph_id="gone")


@pytest.mark.parametrize("given", [{"config": {"configurable": {"a": 1}}}, {"context": {"a": 1}}])
async def test_context_and_configurable_say_the_same(assistants: Assistants, given: dict[str, Any]) -> None:
    made = await assistants.create("ada", graph_id="talk", **given)
    assert (made.config, made.context) == ({"configurable": {"a": 1}}, {"a": 1})

    tagged = await assistants.update("ada", made.assistant_id, config={"tags": ["t"]})
    assert (tagged.config, tagged.context) == ({"tags": ["t"], "configurable": {"a": 1}}, {"a": 1})

    moved = await assistants.update("ada", made.assistant_id, context={"b": 2})
    assert (moved.config, moved.context) == ({"tags": ["t"], "configurable": {"b": 2}}, {"b": 2})

    replaced = await assistants.update("ada", made.assistant_id, config={"configurable": {"c": 3}})
    assert (replaced.config, replaced.context) == ({"configurable": {"c": 3}}, {"c": 3})

    emptied = await assistants.update("ada", made.assistant_id, context={})
    assert (emptied.config, emptied.context) == ({}, {})


async def test_context_and_configurable_together_are_refused(assistants: Assistants) -> None:
    both: dict[str, Any] = {"config": {"configurable": {"a": 1}}, "context": {"a": 1}}
    mine = await assistants.create("ada", graph_id="talk")

    with pytest.raises(InvalidRequestError, match="Send only 'context'"):
        await assistants.create("ada", graph_id="talk", **both)
    with pytest.raises(InvalidRequestError, match="Send only 'context'"):
        await assistants.update("ada", mine.assistant_id, **both)
    with pytest.raises(InvalidRequestError, match="must be an object"):
        await assistants.create("ada", graph_id="talk", config={"configurable": [1]})


async def test_every_update_is_a_version_that_can_be_made_current_again(assistants: Assistants) -> None:
    first = await assistants.create("ada", graph_id="talk", context={"a": 1}, metadata={"k": 1}, description="d")
    second = await assistants.update("ada", first.assistant_id, metadata={"j": 2}, context={"a": 2}, name="Two")
    assert (second.version, second.metadata, second.description) == (2, {"k": 1, "j": 2}, "d")
    assert second.created_at == first.created_at < second.updated_at

    back = await assistants.set_latest("ada", first.assistant_id, 1)
    assert (back.version, back.context, back.metadata, back.name) == (1, {"a": 1}, {"k": 1}, "Untitled")

    third = await assistants.update("ada", first.assistant_id, metadata={"after": True})
    assert (third.version, third.context, third.metadata) == (3, {"a": 1}, {"k": 1, "after": True})
    versions = await assistants.versions("ada", first.assistant_id, {}, Page())
    assert [one.version for one in versions] == [3, 2, 1]
    with pytest.raises(NotFoundError):
        await assistants.set_latest("ada", first.assistant_id, 99)


async def test_updates_at_once_do_not_lose_each_others_metadata(assistants: Assistants) -> None:
    made = await assistants.create("ada", graph_id="talk")

    await asyncio.gather(*(assistants.update("ada", made.assistant_id, metadata={f"k{n}": n}) for n in range(20)))

    assert (await assistants.get("ada", made.assistant_id)).metadata == {f"k{n}": n for n in range(20)}


async def test_descriptions_are_of_the_graph_as_the_assistant_configures_it(assistants: Assistants) -> None:
    mine = await assistants.create("ada", graph_id="talk", context={"node": "whisper"})

    drawing = await assistants.graph("ada", mine.assistant_id)
    schemas = await assistants.schemas("ada", "talk")

    assert [node["id"] for node in drawing["nodes"]] == ["__start__", "whisper", "__end__"]
    assert (schemas["graph_id"], schemas["input_schema"]["title"]) == ("talk", "Words")
    assert await assistants.subgraphs("ada", mine.assistant_id) == {}
