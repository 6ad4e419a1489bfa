"""T8: a tutor's argument over HTTP, in the forms that other programs read."""

from __future__ import annotations

import json
from pathlib import Path

from tests.integration.server.conftest import serve

from stepwell.tutor.agent import build
from stepwell.tutor.argument.exports import FORMS

QUESTION = "Should schools give marks?"


async def test_an_argument_is_exported_in_every_form(tmp_path: Path):
    async with serve(tmp_path, graphs={"deeptutor": build(None)}) as server:
        thread = (await server.client.threads.create())["thread_id"]
        place = f"/api/tutor/{thread}/argument"
        missing = await server.http.get(place)
        assert (missing.status_code, missing.headers["content-type"]) == (404, "application/problem+json")

        asked = {"messages": [{"role": "user", "content": QUESTION}]}
        await server.client.runs.wait(thread, "deeptutor", input=asked)
        written = {form: await server.http.get(place, params={"form": form}) for form in FORMS}
        assert {response.status_code for response in written.values()} == {200}
        assert all("attachment" in response.headers["content-disposition"] for response in written.values())
        assert written["md"].text.startswith(f"# {QUESTION}")
        assert json.loads(written["json"].text)["question"] == QUESTION
        assert written["mermaid"].text.startswith("flowchart")
        assert (await server.http.get(place, params={"form": "pdf"})).status_code == 422
