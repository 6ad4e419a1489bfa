"""Skills and memory files of a served agent: a stored thread knows what is there now, on SQLite and on Postgres."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.server.conftest import serve
from tests.support.skill_files import write_skill

from stepwell import FilesystemBackend, create_deep_agent
from stepwell.database.persistence import Persistence
from stepwell.testing import ScriptedModel, repeat, say

GO = {"messages": [{"role": "user", "content": "go"}]}


@pytest.fixture(params=["sqlite", "postgres"])
def persistence(request: pytest.FixtureRequest) -> Persistence | None:
    """None is the server's own choice, a file."""
    if request.param == "sqlite":
        return None
    from stepwell.database.postgres.persistence import PostgresPersistence

    return PostgresPersistence(request.getfixturevalue("postgres_url"))


async def test_a_stored_thread_sees_todays_skills_and_memory(tmp_path: Path, persistence: Persistence | None):
    files = tmp_path / "files"
    write_skill(files, "one")
    (files / "AGENTS.md").write_text("Old.", encoding="utf-8")
    model = ScriptedModel(repeat(say("done"), times=4))
    agent = create_deep_agent(model, backend=FilesystemBackend(files), skills=["/skills"], memory=["/AGENTS.md"])
    async with serve(tmp_path, graphs={"skilled": agent}, persistence=persistence) as server:
        thread = (await server.client.threads.create())["thread_id"]
        for _ in range(2):
            await server.client.runs.wait(thread, "skilled", input=GO)
        assert model.asked[0].system == model.asked[1].system
        assert "Old." in model.last_asked.system

        write_skill(files, "two")
        (files / "AGENTS.md").write_text("New.", encoding="utf-8")
        await server.client.runs.wait(thread, "skilled", input={**GO, "pinned_skills": ["two"]})
        assert "- **two**: Does two." in model.last_asked.system
        assert "New." in model.last_asked.system
        assert model.last_asked.human.startswith('<skill name="two"')
        thread_values = (await server.client.threads.get(thread))["values"]
        state_values = (await server.client.threads.get_state(thread))["values"]
        assert sorted(thread_values) == sorted(state_values) == ["files", "messages", "pinned_skills", "summary"]
        streamed = [
            part.data.keys()
            async for part in server.client.runs.stream(thread, "skilled", input=GO, stream_mode=["values"])
            if part.event == "values"
        ]
        assert set().union(*streamed) == {"files", "messages", "pinned_skills", "summary"}
        schemas = await server.client.assistants.get_schemas((await server.client.assistants.search())[0]["assistant_id"])
        assert "pinned_skills" in schemas["input_schema"]["properties"]
        assert "skills_metadata" not in schemas["state_schema"]["properties"]
