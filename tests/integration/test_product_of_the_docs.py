"""The package of docs/how-to/write-a-product.md, copied from the page, does what the page says, on SQLite and on Postgres."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from tests.support.postgres import PostgresCluster
from tests.support.products import installed, write_distribution

from stepwell.cli import main
from stepwell.cli.compose import graphs_to_serve, open_server
from stepwell.clock import SystemClock
from stepwell.database.keys_and_sessions import AccessRecords
from stepwell.database.moving.move import known_tables
from stepwell.server.login.api_keys import make_key
from stepwell.server.policy import routes_without_policy
from stepwell.server.settings import ServerSettings
from stepwell.settings import Settings
from stepwell.terminal.database_file import with_database
from stepwell.terminal.database_place import database_place

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "write-a-product.md"
FILE = re.compile(r"^```(?:toml|sql|python)\n((?:#|--) (\S+)\n.*?)^```$", re.MULTILINE | re.DOTALL)
RUN = {"assistant_id": "demo_agent", "input": {"messages": [{"role": "user", "content": "Hello"}]}}


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[None]:
    """The package, as pip would install it."""
    files = {name: text for text, name in FILE.findall(PAGE.read_text(encoding="utf-8"))}
    assert len(files) == 8
    for name, text in {**files, "src/stepwell_notes/__init__.py": ""}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    with installed(write_distribution(tmp_path / "src" / "stepwell_notes", files["pyproject.toml"])):
        yield


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'notes.db'}"
        return
    cluster: PostgresCluster = request.getfixturevalue("postgres_cluster")
    yield cluster.create("product_of_the_docs")
    cluster.drop("product_of_the_docs")


@asynccontextmanager
async def serving(folder: Path, url: str, variables: dict[str, str]) -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings(data_dir=folder)
    place = database_place(url, settings)
    async with (
        open_server(settings, ServerSettings.load(variables, drain_s=0), graphs_to_serve(None, demo=True), place) as server,
        httpx.AsyncClient(transport=httpx.ASGITransport(server.app), base_url="http://127.0.0.1:8123", timeout=60) as http,
    ):
        assert routes_without_policy(server.app) == []
        yield http


def key_of(url: str, user: str) -> dict[str, str]:
    made = make_key(user, operator=False, expires_in=None, now=SystemClock().now(), random_bytes=secrets.token_bytes)
    with_database(database_place(url, Settings()), lambda database: AccessRecords(database, SystemClock()).add_key(made.record))
    return {"x-api-key": made.text}


@pytest.mark.usefixtures("notes")
async def test_a_note_closes_its_thread_and_goes_where_the_thread_goes(database_url: str, tmp_path: Path) -> None:
    async with serving(tmp_path, database_url, {}) as http:
        thread = (await http.post("/threads", json={})).json()["thread_id"]
        assert (await http.get(f"/api/notes/{thread}")).json()["detail"].startswith(f"No note of thread '{thread}'")
        written = await http.put(f"/api/notes/{thread}", json={"text": "Done.", "closed": True})
        assert (await http.get(f"/api/notes/{thread}")).json() == written.json()
        refused = await http.post(f"/threads/{thread}/runs", json=RUN)
        assert (refused.status_code, refused.json()["detail"].partition(".")[0]) == (422, "This thread is closed")
        assert (await http.put(f"/api/notes/{thread}", json={"text": "a\0b"})).status_code == 422

        copy = (await http.post(f"/threads/{thread}/copy")).json()["thread_id"]
        assert (await http.get(f"/api/notes/{copy}")).json() == written.json()
        exported = (await http.get("/api/export")).text
        assert exported.count('"kind":"note"') == 2
        assert (await http.delete(f"/threads/{copy}")).status_code == 204
        assert (await http.get("/api/export")).text.count('"kind":"note"') == 1

        await http.put(f"/api/notes/{thread}", json={"text": "Not yet."})
        assert (await http.post(f"/threads/{thread}/runs/wait", json=RUN)).status_code == 200
    assert "notes" in {table.name for table in known_tables()}


@pytest.mark.usefixtures("notes")
def test_the_note_of_another_user_is_not_found(database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    anna, ben = (key_of(database_url, user) for user in ("anna", "ben"))

    async def visit() -> str:
        async with serving(tmp_path, database_url, {"STEPWELL_AUTH": "required"}) as http:
            thread = (await http.post("/threads", json={}, headers=anna)).json()["thread_id"]
            await http.put(f"/api/notes/{thread}", json={"text": "Done.", "closed": True}, headers=anna)
            assert (await http.get(f"/api/notes/{thread}")).status_code == 401
            note = {"text": "Mine."}
            assert (await http.get(f"/api/notes/{thread}", headers=ben)).status_code == 404
            assert (await http.put(f"/api/notes/{thread}", json=note, headers=ben)).status_code == 404
            assert (await http.post(f"/threads/{thread}/runs", json=RUN, headers=ben)).status_code == 404
            assert (await http.post(f"/threads/{thread}/runs", json=RUN, headers=anna)).status_code == 422
            return thread

    thread = asyncio.run(visit())
    assert main(["notes", thread, "--database-url", database_url]) == 0
    assert capsys.readouterr().out == "closed: Done.\n"
