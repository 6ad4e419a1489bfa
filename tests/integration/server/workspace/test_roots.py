"""Whose workspace a run works in: by who asks, and by nothing that a caller sends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.integration.server.workspace.conftest import Space, at, bucket_of, open_space, say

from stepwell.testing.objects import FakeObjectStore

NOT_OPEN = "This workspace root is not open to you"
BAD_ROOTS = [
    "/",
    "..",
    "/..",
    "/acme/../t10/",
    "t1\n",
    "/t1/\x00",
    "/t1/%2e%2e/t10/",
    "/t1/..%2ft10",
    "/t1\u2215..\u2215t10/",
    "\u2025",
    "a" * 600,
    "/t1\u200b/",
]
OTHERS = [
    "/t10/",
    "t10",
    "/t1x/",
    "/acme/main/",
    "/nobody/at/all/",
    "/T1/",
    "/ｔ1/",
]


async def test_each_caller_works_in_their_own(space: Space):
    """W9: no root is named: the caller's only one holds."""
    assert "/mine.md" in await space.said("tom", say("write_file", file_path="/mine.md", content="tom's"))
    assert "tom's" in await space.said("tom", say("read_file", file_path="/mine.md"))
    missing = await space.said("ten", say("read_file", file_path="/mine.md"))
    assert "tom's" not in missing
    assert "no file" in missing


async def test_a_company_shares_its_workspace_and_some_may_only_read(space: Space, store: FakeObjectStore):
    await space.said("ann", say("write_file", file_path="/plan.md", content="tea at four"))
    assert "tea at four" in await space.said("bob", say("read_file", file_path="/plan.md"), config=at("/acme/main/"))
    assert "tea at four" in await space.said("rob", say("read_file", file_path="/plan.md"))
    for order in (
        say("write_file", file_path="/new.md", content="x"),
        say("edit_file", file_path="/plan.md", old_string="four", new_string="five"),
    ):
        assert "for reading only" in await space.said("rob", order)
    assert store.contents.names("files") == ["acme/main/plan.md"]


async def test_a_root_in_a_request_only_narrows(space: Space, store: FakeObjectStore):
    """W9: below a root of mine; never beside it, above it, or at one that begins alike."""
    await space.said("tom", say("write_file", file_path="/a.md", content="x"), config=at("/t1/sub/"))
    assert store.contents.names("files") == ["t1/sub/a.md"]
    async with space.client("tom") as client:
        for root in OTHERS:
            with pytest.raises(Exception, match=NOT_OPEN) as refused:
                await client.runs.wait(None, "workspace", input=say("ls", path="/"), config=at(root))
            assert refused.value.response.status_code == 403, root
        for root in BAD_ROOTS:
            with pytest.raises(Exception, match="root") as refused:
                await client.runs.wait(None, "workspace", input=say("ls", path="/"), config=at(root))
            assert refused.value.response.status_code in (403, 422), root


async def test_who_has_several_names_one_and_who_has_none_gets_none(space: Space):
    for user, status, words in (("bob", 422, "/acme/main/, /acme/plans/"), ("nil", 403, "No workspace is open to you")):
        refused = await space.ask(user, "POST", "/runs/wait", json={"assistant_id": "workspace", "input": say("ls", path="/")})
        assert refused.status_code == status
        assert words in refused.json()["detail"]


@pytest.mark.parametrize(
    "sent",
    [
        {"config": {"configurable": {"langgraph_auth_workspace": {"root": "/t10/", "read_only": False}}}},
        {"context": {"langgraph_auth_workspace": {"root": "/t10/"}}},
        {"metadata": {"langgraph_auth_workspace": {"root": "/t10/"}}},
        {"input": {**say("read_file", file_path="/secret.md"), "gcs_root_path": "/t10/"}},
        {"command": {"update": {"gcs_root_path": "/t10/"}, "goto": "model"}},
    ],
    ids=["configurable", "context", "metadata", "input", "command"],
)
async def test_nothing_a_caller_sends_changes_what_was_pinned(space: Space, sent: dict[str, Any]):
    """W9"""
    await space.said("ten", say("write_file", file_path="/secret.md", content="ten's own"))
    body = {"assistant_id": "workspace", "input": say("read_file", file_path="/secret.md"), **sent}
    if "command" in sent:
        body["input"] = None
    response = await space.ask("tom", "POST", "/runs/wait", json=body)
    assert "ten's own" not in response.text
    thread = await space.ask("tom", "POST", "/threads", json={})
    response = await space.ask("tom", "POST", f"/threads/{thread.json()['thread_id']}/runs/wait", json=body)
    assert "ten's own" not in response.text


async def test_an_assistant_cannot_open_a_root_either(space: Space):
    await space.said("ten", say("write_file", file_path="/secret.md", content="ten's own"))
    async with space.client("tom") as client:
        made = await client.assistants.create("workspace", config=at("/t10/"))
        with pytest.raises(Exception, match=NOT_OPEN):
            await client.runs.wait(None, made["assistant_id"], input=say("read_file", file_path="/secret.md"))


@pytest.fixture
async def waiting(tmp_path: Path, store: FakeObjectStore):
    """A thread of bob's in `/acme/main/` that waits for an approval."""
    users = {"bob": ["/acme/main/", "/acme/plans/"]}
    async with open_space(tmp_path, bucket_of(store), users, approvals=True) as space, space.client("bob") as client:
        thread = (await client.threads.create())["thread_id"]
        order = say("write_file", file_path="/a.md", content="approved")
        await client.runs.wait(thread, "workspace", input=order, config=at("/acme/main/"))
        (asked,) = (await client.threads.get(thread))["interrupts"].values()
        yield client, thread, {asked[0]["id"]: {"decisions": [{"type": "approve"}]}}


async def test_a_run_that_goes_on_stays_in_its_root(waiting, store: FakeObjectStore):
    """The thread's root need not be named again, and another one is refused though it is open to the caller."""
    client, thread, answer = waiting
    other = await client.runs.wait(
        thread, "workspace", command={"resume": answer}, config=at("/acme/plans/"), raise_error=False
    )
    assert "belongs to another workspace" in str(other)
    assert store.contents.names("files") == []


async def test_an_answer_without_a_root_goes_on_where_the_thread_is(waiting, store: FakeObjectStore):
    client, thread, answer = waiting
    final = await client.runs.wait(thread, "workspace", command={"resume": answer})
    assert "/a.md" in final["messages"][-1]["content"]
    assert store.contents.names("files") == ["acme/main/a.md"]


async def test_a_changed_state_does_not_change_the_root(waiting, store: FakeObjectStore):
    client, thread, _ = waiting
    await client.threads.update_state(thread, {"gcs_root_path": "/acme/plans/"}, as_node="__start__")
    again = await client.runs.wait(thread, "workspace", input=say("ls", path="/"), config=at("/acme/main/"), raise_error=False)
    assert "belongs to another workspace" in str(again)
    assert store.contents.names("files") == []


async def test_a_copy_of_a_thread_has_its_root(waiting, store: FakeObjectStore):
    client, thread, answer = waiting
    await client.runs.wait(thread, "workspace", command={"resume": answer})
    copy = (await client.threads.copy(thread))["thread_id"]
    refused = await client.runs.wait(copy, "workspace", input=say("ls", path="/"), config=at("/acme/plans/"), raise_error=False)
    assert "belongs to another workspace" in str(refused)


async def test_an_older_checkpoint_has_its_root(waiting, store: FakeObjectStore):
    client, thread, answer = waiting
    await client.runs.wait(thread, "workspace", command={"resume": answer})
    history = await client.threads.get_history(thread, limit=50)
    older = next(state for state in history if state["values"].get("gcs_root_path"))
    refused = await client.runs.wait(
        thread,
        "workspace",
        input=say("write_file", file_path="/b.md", content="x"),
        config=at("/acme/plans/"),
        checkpoint=older["checkpoint"],
        raise_error=False,
    )
    assert "belongs to another workspace" in str(refused)
    assert store.contents.names("files") == ["acme/main/a.md"]


async def test_nobody_is_asked_about_a_change_that_is_refused(tmp_path: Path, store: FakeObjectStore):
    """Who may only read is told so at once, and is not asked to approve what cannot happen."""
    users = {"rob": ([], ["/acme/main/"]), "ann": ["/acme/main/"]}
    async with open_space(tmp_path, bucket_of(store), users, approvals=True) as space:
        for user, waits in (("rob", False), ("ann", True)):
            async with space.client(user) as client:
                thread = (await client.threads.create())["thread_id"]
                order = say("write_file", file_path="/a.md", content="x")
                final = await client.runs.wait(thread, "workspace", input=order)
                assert bool((await client.threads.get(thread))["interrupts"]) is waits
            assert ("for reading only" in str(final)) is not waits
    assert store.contents.names("files") == []


async def test_a_reader_cannot_approve_a_write(tmp_path: Path, store: FakeObjectStore):
    """Two keys of one person, one of them to read only: what is approved with that one is not carried out."""
    users = {"eve": ["/acme/main/"]}
    async with open_space(tmp_path, bucket_of(store), users, approvals=True) as writing, writing.client("eve") as client:
        thread = (await client.threads.create())["thread_id"]
        await client.runs.wait(thread, "workspace", input=say("write_file", file_path="/a.md", content="x"))
        (asked,) = (await client.threads.get(thread))["interrupts"].values()
    reading = open_space(tmp_path, bucket_of(store), {"eve": ([], ["/acme/main/"])}, approvals=True)
    async with reading as space, space.client("eve") as client:
        answer = {asked[0]["id"]: {"decisions": [{"type": "approve"}]}}
        final = await client.runs.wait(thread, "workspace", command={"resume": answer})
    assert "for reading only" in final["messages"][-1]["content"]
    assert store.contents.names("files") == []
