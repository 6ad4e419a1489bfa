"""The gate of workspaces stands among those of other products."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from stepwell.backends.objects.grants import PINNED_ROOT, make_grants
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.database.types import Assistant
from stepwell.runs.gates import Arrival
from stepwell.runs.starting import Place, RunOrder
from stepwell.workspace.gate import Doorkeeper

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ASSISTANT = Assistant(assistant_id="a", graph_id="workspace", owner="ada", name="a", created_at=NOW, updated_at=NOW)


async def test_what_another_gate_has_pinned_stays(tmp_path: Path):
    async with EmbeddedPersistence(tmp_path / "a.db") as persistence:
        gate = Doorkeeper(persistence.records, asks_who=True, workspaces=("workspace",))
        pinned = Place({"langgraph_auth_other": "theirs"}, tenant="/other")
        arrival = Arrival("ada", "ada", "t", ASSISTANT, RunOrder("a"), make_grants(["/acme/"], []), pinned)
        place = (await gate.admit(arrival)).place
    assert (place.pinned["langgraph_auth_other"], place.pinned[PINNED_ROOT]["root"], place.tenant) == (
        "theirs",
        "/acme/",
        "/acme",
    )
