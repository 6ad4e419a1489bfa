"""The example of crons, as its page says: served as a project, with runs by a schedule and threads that expire."""

from __future__ import annotations

import asyncio
import runpy
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from langgraph_sdk import get_client
from tests.integration.server.conftest import listening

from stepwell.cli.compose import graphs_to_serve, open_server
from stepwell.runs.crons.scheduler import CronScheduler
from stepwell.server.settings import ServerSettings
from stepwell.settings import Settings

EXAMPLE = Path(__file__).parents[3] / "examples" / "23_crons"


class NextMonday:
    """Ten in the morning on a Monday that is still to come."""

    def now(self) -> datetime:
        today = datetime.now(UTC).replace(hour=10, minute=0, second=0, microsecond=0)
        return today + timedelta(days=7 - today.weekday())


async def test_the_reporter_reports_on_a_working_day(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    settings = Settings.load({"STEPWELL_DATA_DIR": str(tmp_path)})
    graphs = graphs_to_serve(EXAMPLE / "langgraph.json")
    show = runpy.run_path(str(EXAMPLE / "schedule.py"))["main"]
    async with (
        open_server(settings, ServerSettings(drain_s=1), graphs, tmp_path / "stepwell.db") as opened,
        listening(opened.app) as url,
    ):
        for _ in range(2):
            await asyncio.to_thread(show, url)
        persistence = opened.services.persistence
        scheduler = CronScheduler(persistence.crons, opened.services.engine, persistence.access, NextMonday())
        assert await scheduler.step() == 1
        await asyncio.to_thread(show, url)
        async with get_client(url=url, api_key=None) as client:
            (thread,) = await client.threads.search()
            (run,) = await client.runs.list(thread["thread_id"])
            await client.runs.join(thread["thread_id"], run["run_id"])
            thread = await client.threads.get(thread["thread_id"], include=["ttl"])
    assert thread["values"]["messages"][-1]["content"].startswith("What is new? Nothing new, says cron ")
    assert thread["ttl"]["ttl_minutes"] == 43200
    printed = capsys.readouterr().out
    assert printed.count("0 9 * * mon-fri (Europe/Berlin), next at ") == 3
    assert ": fired" in printed
