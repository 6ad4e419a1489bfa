"""A project with `store.index` and `store.ttl`, served: graphs and clients search by meaning, with MiniLM and without a key."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from tests.integration.server.conftest import listening

from stepwell.cli.compose import graphs_to_serve, open_server
from stepwell.errors import ConfigurationError
from stepwell.server.settings import ServerSettings
from stepwell.settings import Settings

EXAMPLE = Path(__file__).parents[2] / "examples/24_semantic_store/langgraph.json"
NOTES = [
    "The well in Abhaneri has 3,500 steps.",
    "My sister is allergic to peanuts.",
    "The bicycle's brakes squeak when it rains.",
]


@asynccontextmanager
async def serving(project: Path, folder: Path) -> AsyncIterator[LangGraphClient]:
    settings = Settings.load({"STEPWELL_DATA_DIR": str(folder)})
    opening = open_server(settings, ServerSettings(drain_s=1), graphs_to_serve(project), folder / "server.db")
    async with opening as opened, listening(opened.app) as url:
        client = get_client(url=url, api_key=None)
        try:
            yield client
        finally:
            await client.aclose()


def make_project(folder: Path, store: dict[str, Any], code: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "notebook.py").write_text(EXAMPLE.with_name("notebook.py").read_text())
    (folder / "letters.py").write_text(code)
    file = folder / "langgraph.json"
    file.write_text(json.dumps({"dependencies": ["."], "graphs": {"notebook": "./notebook.py:graph"}, "store": store}))
    return file


async def test_the_example_finds_notes_by_meaning(tmp_path: Path) -> None:
    async with serving(EXAMPLE, tmp_path) as client:
        thread = (await client.threads.create())["thread_id"]

        async def say(text: str) -> str:
            values = await client.runs.wait(thread, "notebook", input={"messages": [("user", text)]})
            return str(values["messages"][-1]["content"])

        for note in NOTES:
            assert await say(f"remember {note}") == "I will remember that."
        assert (await say("which snacks should we avoid at dinner?")).startswith(NOTES[1])
        assert (await say("what needs repairing?")).startswith(NOTES[2])
        found = (await client.store.search_items(["notes"], query="how deep is it?", limit=3))["items"]
        assert found[0]["value"]["text"] == NOTES[0]
        assert [item["score"] for item in found] == sorted((item["score"] for item in found), reverse=True)


LETTERS = """
def embed(texts):
    return [[float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
"""


async def test_a_changed_index_embeds_stored_items_again(tmp_path: Path) -> None:
    index = {"embed": "./letters.py:embed", "dims": 26}
    place = ["notes"]
    async with serving(make_project(tmp_path / "one", {}), tmp_path) as client:
        await client.store.put_item(place, "k", {"title": "qqq", "text": "zzz"})
    project = make_project(tmp_path / "two", {"index": {**index, "fields": ["title"]}}, LETTERS)
    async with serving(project, tmp_path) as client, asyncio.timeout(60):
        while not (found := (await client.store.search_items(place, query="q"))["items"]):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        assert found[0]["score"] == pytest.approx(1.0)
        await client.store.put_item(place, "own", {"title": "qqq", "text": "zzz"}, index=["text"])
        await client.store.put_item(place, "never", {"title": "qqq"}, index=False)
        assert [item["key"] for item in (await client.store.search_items(place, query="z"))["items"]] == ["own", "k"]


async def test_items_expire_after_the_projects_time_and_a_failing_embedding_is_a_sentence(tmp_path: Path) -> None:
    code = LETTERS + "    \ndef broken(texts):\n    raise OSError('secret')\n"
    soon = make_project(tmp_path / "one", {"ttl": {"default_ttl": 0.002, "refresh_on_read": False}}, code)
    async with serving(soon, tmp_path) as client, asyncio.timeout(60):
        await client.store.put_item(["notes"], "k", {"text": "zzz"})
        while await client.store.get_item(["notes"], "k"):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    broken = make_project(tmp_path / "two", {"index": {"embed": "./letters.py:broken", "dims": 26}}, code)
    async with serving(broken, tmp_path) as client:
        with pytest.raises(Exception, match=r"letters.py:broken' failed with OSError") as refused:
            await client.store.put_item(["notes"], "k", {"text": "zzz"})
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("store", "sentence"),
    [
        ({"path": "./letters.py:embed"}, "'store.path' in 'langgraph.json' names a store of the project's own"),
        ({"index": {"embed": "minilm", "dims": 384}}, "must name an embedding"),
        ({"index": {"embed": "stepwell:minilm", "dims": 100}}, "has 384 dimensions"),
        ({"index": {"embed": "openai:text-embedding-3-small"}}, "'store.index.dims' in 'langgraph.json' must be the number"),
        ({"index": {"embed": "./missing.py:embed", "dims": 3}}, "names the file 'missing.py', which does not exist"),
        (
            {"index": {"embed": "./letters.py:nothing", "dims": 3}},
            "names 'nothing' in 'letters.py', but nothing there has that name",
        ),
        ({"index": {"embed": "nobody:model", "dims": 3}}, "'store.index.embed' ('nobody:model') cannot be used"),
        ({"index": {"embed": "stepwell:minilm", "fields": [3]}}, "must be a list of fields"),
        ({"ttl": {"default_ttl": -1}}, "'store.ttl.default_ttl' in 'langgraph.json' must be a number of minutes above 0"),
        ({"ttl": {"refresh_on_read": "yes"}}, "must be true or false"),
        ({"foo": 1}, "'store.foo' in 'langgraph.json' is unknown. Known: index, ttl"),
        ({"ttl": {"default_tll": 5}}, "'store.ttl.default_tll' in 'langgraph.json' is unknown. Did you mean 'default_ttl'?"),
        ({"index": {"embed": "stepwell:minilm", "distance": "l2"}}, "'store.index.distance' in 'langgraph.json' is unknown"),
        ({"index": {"embed": "stepwell:other"}}, 'Stepwell\'s own is "stepwell:minilm"'),
        ({"index": {"embed": "stepwell:minilm", "fields": ["a[[b"]}}, "must be a list of fields"),
        ({"index": []}, "'store.index' in 'langgraph.json' must be an object"),
        ({"ttl": []}, "'store.ttl' in 'langgraph.json' must be an object"),
        ({"ttl": {"default_ttl": 5, "omit_expired": True}}, None),
        (None, None),
        ([], "'store' in 'langgraph.json' must be an object"),
        ("x", "'store' in 'langgraph.json' must be an object"),
    ],
)
async def test_what_cannot_be_honoured_is_refused_by_name_at_the_start(
    tmp_path: Path, store: Any, sentence: str | None
) -> None:
    project = make_project(tmp_path / "project", store, LETTERS)
    if sentence is None:
        graphs_to_serve(project)
        return
    with pytest.raises(ConfigurationError) as refused:
        async with serving(project, tmp_path):
            pass
    assert sentence in str(refused.value)
