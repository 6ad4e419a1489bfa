"""W9: a request can only narrow what its caller was given, by permissions or by the operator's table."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stepwell.backends.objects import ObjectBackend, memory_bucket
from stepwell.backends.objects.grants import ANY_ROOT, NO_ROOTS, Grants
from stepwell.errors import ConfigurationError, InvalidRequestError
from stepwell.testing import ScriptedModel, call, reply, say
from stepwell.workspace.agent import WRITE_OPERATIONS_APPROVAL, build_agent
from stepwell.workspace.grants import GrantTable
from stepwell.workspace.places import InBucket

ASK = {"messages": [("user", "go")]}
TABLE = {"ada": ["/acme/"], "bob": ["acme/plans", {"root": "/shared/", "access": "read"}], "*": ["/common/"]}


def config(root: str | None = None, **user: Any) -> dict[str, Any]:
    known = {"langgraph_auth_user": user} if user else {}
    return {"configurable": {"gcs_root_path": root, "thread_id": "1", **known}}


@pytest.fixture
def grants(tmp_path: Path) -> GrantTable:
    file = tmp_path / "grants.json"
    file.write_text(json.dumps(TABLE))
    return GrantTable.load(file)


def test_who_was_not_asked_may_use_every_root(grants: GrantTable):
    assert grants.of(config()) == ANY_ROOT
    assert grants.of(config(identity="local")) == ANY_ROOT
    assert grants.of(config(identity="anonymous", is_authenticated=False)) == ANY_ROOT


def test_a_user_has_what_the_table_says(grants: GrantTable):
    assert grants.of(config(identity="ada")) == Grants(("/acme/", "/common/"))
    assert grants.of(config(identity="bob")) == Grants(("/acme/plans/", "/common/"), ("/shared/",))


def test_a_user_whom_nobody_named_has_nothing():
    assert GrantTable().of(config(identity="eve")) == NO_ROOTS


def test_permissions_of_another_server_count_too():
    user = SimpleNamespace(
        identity="eve", is_authenticated=True, permissions=["workspace:/t1/", "workspace:/t2/:read", "other"]
    )
    given = GrantTable().of({"configurable": {"langgraph_auth_user": user}})
    assert given == Grants(("/t1/",), ("/t2/",))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"ada": 7}', '{"ada": ["/"]}', '{"ada": ["../x"]}', '{"ada": [{"root": "/x", "access": "all"}]}']
)
def test_a_table_that_cannot_be_used_is_an_error(tmp_path: Path, text: str):
    file = tmp_path / "grants.json"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match="STEPWELL_WORKSPACE_GRANTS") as caught:
        GrantTable.load(file)
    assert str(tmp_path) not in str(caught.value)
    with pytest.raises(ConfigurationError):
        GrantTable.load(tmp_path / "missing.json")


@pytest.mark.parametrize("root", ["/acme2/", "/", "/shared/", "/acme/../shared/", "/t1/"])
async def test_a_root_that_was_not_given_is_refused_before_a_model_is_asked(grants: GrantTable, root: str):
    graph = build_agent(ScriptedModel([]), InBucket(memory_bucket()), grants=grants)
    with pytest.raises(InvalidRequestError):
        await graph.ainvoke(ASK, config(root, identity="ada"))


@pytest.mark.parametrize("approvals", [{}, WRITE_OPERATIONS_APPROVAL], ids=["no approvals", "approvals"])
async def test_who_may_only_read_changes_nothing(grants: GrantTable, approvals: dict[str, Any]):
    """W9: several people share a workspace, some of them to read only. Nobody is asked to approve what is refused anyway."""
    bucket = memory_bucket()
    shared = ObjectBackend(bucket, "/shared/")
    await shared.awrite("/a.md", "one")
    heard = reply(lambda asked: asked.messages[-1].content)
    for change in (
        call("write_file", file_path="/b.md", content="x"),
        call("edit_file", file_path="/a.md", old_string="one", new_string="two"),
    ):
        scripts = {
            "workspace": [call("task", description="do it", subagent_type="gcs-filesystem"), heard],
            "gcs-filesystem": [call("read_file", file_path="/a.md"), change, heard],
        }
        model = ScriptedModel.by_agent(scripts)
        graph = build_agent(model, InBucket(bucket), grants=grants, approvals=approvals)
        final = await graph.ainvoke(ASK, config("/shared/", identity="bob"))
        assert "for reading only" in final["messages"][-1].content
        assert "one" in str(model.asked[2].messages)
    assert [row["path"] for row in await shared.aglob_info("**")] == ["/a.md"]
    assert await shared.aread("/a.md") == "     1\tone"


async def test_who_may_write_does(grants: GrantTable):
    bucket = memory_bucket()
    scripts = {
        "workspace": [call("task", description="do it", subagent_type="gcs-filesystem"), say("done")],
        "gcs-filesystem": [call("write_file", file_path="/b.md", content="x"), say("done")],
    }
    graph = build_agent(ScriptedModel.by_agent(scripts), InBucket(bucket), grants=grants, approvals={})
    await graph.ainvoke(ASK, config("/acme/plans/may/", identity="bob"))
    assert await ObjectBackend(bucket, "/acme/plans/may/").aread("/b.md") == "     1\tx"
