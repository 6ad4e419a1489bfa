"""The product in examples/product does what its README says, on SQLite and on Postgres."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.support.postgres import PostgresCluster
from tests.support.products import installed, write_distribution

from stepwell.cli import main
from stepwell.cli.compose import graphs_to_serve, open_server
from stepwell.server.settings import ServerSettings
from stepwell.settings import Settings
from stepwell.terminal.database_place import database_place

EXAMPLE = Path(__file__).parents[2] / "examples" / "product"
RUN = {"assistant_id": "demo_agent", "input": {"messages": [{"role": "user", "content": "Hello"}]}}


@pytest.fixture
def allowance(tmp_path: Path) -> Iterator[None]:
    package = tmp_path / "src" / "stepwell_allowance"
    shutil.copytree(EXAMPLE / "src" / "stepwell_allowance", package, ignore=shutil.ignore_patterns("__pycache__"))
    with installed(write_distribution(package, (EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))):
        yield


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'allowance.db'}"
        return
    cluster: PostgresCluster = request.getfixturevalue("postgres_cluster")
    yield cluster.create("example_product")
    cluster.drop("example_product")


@pytest.mark.usefixtures("allowance")
def test_the_third_run_of_two_is_refused(tmp_path: Path, database_url: str, capsys: pytest.CaptureFixture[str]):
    async def ask() -> tuple[list[int], dict[str, object], str]:
        settings = Settings(data_dir=tmp_path)
        place = database_place(database_url, settings)
        graphs = graphs_to_serve(None, demo=True)
        async with (
            open_server(settings, ServerSettings.load({}, drain_s=0), graphs, place) as server,
            httpx.AsyncClient(transport=httpx.ASGITransport(server.app), base_url="http://127.0.0.1:8123", timeout=60) as http,
        ):
            unknown = await http.post("/runs/wait", json=RUN | {"assistant_id": "nobody"})
            answers = [await http.post("/runs/wait", json=RUN) for _ in range(3)]
            shown = (await http.get("/api/allowance")).json()
            return [unknown.status_code, *(each.status_code for each in answers)], shown, answers[-1].json()["detail"]

    chosen = ["--database-url", database_url]
    asyncio.run(_create(tmp_path, database_url))
    assert main(["allowance", "set", "local", "2", *chosen]) == 0
    codes, shown, told = asyncio.run(ask())
    assert codes == [404, 200, 200, 429]
    assert (shown["user"], shown["started"], shown["limit"]) == ("local", 2, 2)
    assert "You have started all the runs you may start today" in told
    capsys.readouterr()
    assert main(["allowance", "show", "local", *chosen]) == 0
    assert capsys.readouterr().out.startswith("local: 2 of 2 runs started today")


async def _create(folder: Path, database_url: str) -> None:
    settings = Settings(data_dir=folder)
    async with open_server(
        settings, ServerSettings.load({}, drain_s=0), graphs_to_serve(None), database_place(database_url, settings)
    ):
        pass
