"""W9: who may only read a workspace changes nothing in it, whichever method a tool calls, and however the grant was given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from langchain.tools import ToolRuntime
from langchain_core.tools import tool

from stepwell import get_gcs_root_path, set_gcs_root_path
from stepwell.backends.objects import gcs_root_path, memory_bucket
from stepwell.backends.objects.root import OpenedRoot
from stepwell.testing import ScriptedModel, call, say
from stepwell.workspace.agent import build_agent
from stepwell.workspace.grants import GrantTable
from stepwell.workspace.places import InBucket, InFolder, Place

ROOT = "/shared/"
CHANGES: Mapping[str, tuple[Any, ...]] = {
    "write": ("/new.md", "x"),
    "edit": ("/a.md", "one", "two"),
    "delete": ("/a.md",),
    "move": ("/a.md", "/b.md"),
    "upload_files": ([("/a.md", b"two")],),
    "write_whole": ("/a.md", b"two"),
}
READS = {"ls_info", "read", "grep_raw", "glob_info", "download_files", "read_whole", "offers"}


async def change_everything(files: Any) -> list[str]:
    """Calls every method that could change something; fails for one that nobody has thought of."""
    names = {name for name, _ in inspect.getmembers(files, callable) if not name.startswith("_")}
    both = {*CHANGES, *(f"a{name}" for name in CHANGES)}
    assert names <= both | READS | {f"a{name}" for name in READS}, "is it a change?"
    said = []
    for name in sorted(both & names):
        result = getattr(files, name)(*CHANGES.get(name, CHANGES.get(name[1:], ())))
        result = await result if inspect.isawaitable(result) else result
        said += [name] if not (result[0] if isinstance(result, list) else result).error else []
    return said


def meddler(workspace: Any) -> Any:
    """The factory of a subagent whose tool tries to change files, with the files it is given and with those it opens itself."""

    @tool
    async def meddle(runtime: ToolRuntime) -> str:
        """Change what can be changed."""
        given, opened = workspace.files(runtime), workspace.place.at(get_gcs_root_path())
        return f"changed by {await change_everything(given)} and {await change_everything(opened)}"

    return {"name": "meddler", "description": "meddles", "system_prompt": "You meddle.", "tools": [meddle]}


@pytest.fixture(params=["bucket", "folder"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return InBucket(memory_bucket()) if request.param == "bucket" else InFolder(tmp_path)


def by_table(folder: Path) -> tuple[GrantTable, dict[str, Any]]:
    (folder / "grants.json").write_text('{"bob": [{"root": "/shared/", "access": "read"}]}')
    return GrantTable.load(folder / "grants.json"), {"langgraph_auth_user": {"identity": "bob"}, "gcs_root_path": ROOT}


def by_permission(folder: Path) -> tuple[GrantTable, dict[str, Any]]:
    user = {"identity": "bob", "permissions": ["workspace:/shared/:read"]}
    return GrantTable(), {"langgraph_auth_user": user, "gcs_root_path": ROOT}


def by_pin(folder: Path) -> tuple[GrantTable, dict[str, Any]]:
    return GrantTable(), {"langgraph_auth_workspace": {"root": ROOT, "read_only": True}}


@pytest.mark.parametrize("given", [by_table, by_permission, by_pin])
async def test_no_method_changes_what_may_only_be_read(
    place: Place, tmp_path: Path, given: Callable[[Path], tuple[GrantTable, dict[str, Any]]]
):
    files = place.at(ROOT)
    await files.awrite("/a.md", "one")
    grants, configurable = given(tmp_path)
    scripts = {
        "workspace": [call("task", description="go", subagent_type="meddler"), say("done")],
        "meddler": [call("meddle"), say("done")],
    }
    model = ScriptedModel.by_agent(scripts)
    graph = build_agent(model, place, subagents=[f"{__name__}:meddler"], grants=grants)
    await graph.ainvoke({"messages": [("user", "go")]}, {"configurable": configurable})
    assert "changed by [] and []" in str(model.asked[2].messages)
    assert await files.aread("/a.md") == "     1\tone"
    assert [row["path"] for row in await files.aglob_info("**")] == ["/a.md"]


async def test_a_backend_that_was_made_before_changes_nothing_in_a_call_that_may_only_read(place: Place):
    made_before = place.at(ROOT)
    await made_before.awrite("/a.md", "one")
    with gcs_root_path(OpenedRoot(ROOT, read_only=True)):
        set_gcs_root_path("/elsewhere/")
        assert await change_everything(made_before) == []
        assert await change_everything(place.at("/elsewhere/")) == []
        made_there = place.at(ROOT)
    assert await change_everything(made_there) == [], "nor does one that outlives the call"
