"""The product on a whole server, in this process: no socket, no model."""

import asyncio
import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import httpx
from project_name.agent import build, echo
from stepwell.cli import main
from stepwell.cli.compose import graphs_to_serve, open_server
from stepwell.server.settings import ServerSettings
from stepwell.settings import Settings
from stepwell.testing import ScriptedModel

RUN = {"assistant_id": "demo_agent", "input": {"messages": [{"role": "user", "content": "Hello"}]}}


class ProductTest(unittest.TestCase):
    def test_the_agent_answers(self):
        answered = build(ScriptedModel.answering(echo)).invoke({"messages": [("user", "Hello")]})
        self.assertTrue(answered["messages"][-1].text.startswith("You said: Hello"))

    def test_runs_are_counted_and_the_one_above_the_limit_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            database = Path(folder, "test.db")
            answered, counted = asyncio.run(run_and_count(database))
            self.assertEqual(answered.status_code, 200, answered.text)
            self.assertEqual(counted.json(), {"user": "local", "started": 1, "most": None})
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                main(["project-name", "local", "--most", "1", "--database-url", f"sqlite:///{database}"])
            self.assertEqual(said.getvalue(), "local: 1 runs started, 1 allowed\n")
            refused, counted = asyncio.run(run_and_count(database))
            self.assertEqual((refused.status_code, counted.json()["started"]), (429, 1))


async def run_and_count(database):
    """Start a server, ask its agent once, and read the count."""
    settings = Settings(data_dir=database.parent)
    async with (
        open_server(settings, ServerSettings.load({}, drain_s=0), graphs_to_serve(None, demo=True), database) as server,
        httpx.AsyncClient(transport=httpx.ASGITransport(server.app), base_url="http://127.0.0.1:8123", timeout=60) as http,
    ):
        return await http.post("/runs/wait", json=RUN), await http.get("/api/project_name")
