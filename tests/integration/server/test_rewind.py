"""`POST /threads/{thread_id}/rewind`, on both databases: conversation and files of a served agent go back together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.integration.server.conftest import Server, serve

from stepwell import RewindMiddleware, create_deep_agent
from stepwell.backends import CompositeBackend, FilesystemBackend, StateBackend, StoreBackend
from stepwell.backends.protocol import DeleteResult
from stepwell.database.persistence import Persistence
from stepwell.testing import Asked, ScriptedModel, call
from stepwell.testing import say as reply


def write_what_is_said(asked: Asked) -> Any:
    """Carries out messages like `write /a.md text` or `delete /a.md`; everything else gets an answer."""
    if asked.messages[-1].type == "tool":
        return "done"
    words = asked.messages[-1].text.split()
    match words:
        case ["write", path, text]:
            return call("write_file", file_path=path, content=text, overwrite=True)
        case ["delete", path]:
            return call("delete", file_path=path)
    return "hello"


def build(folder: Path) -> Any:
    backend = CompositeBackend(
        StateBackend(), {"/disk/": FilesystemBackend(folder), "/kept/": StoreBackend(namespace=("files",))}
    )
    return create_deep_agent(ScriptedModel.answering(write_what_is_said), backend=backend, middleware=[RewindMiddleware()])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    return tmp_path / "files"


@pytest.fixture(params=["sqlite", "postgres"])
def persistence(request: pytest.FixtureRequest) -> Persistence | None:
    """None is the server's own choice, a file."""
    if request.param == "sqlite":
        return None
    from stepwell.database.postgres.persistence import PostgresPersistence

    return PostgresPersistence(request.getfixturevalue("postgres_url"))


async def say(server: Server, thread_id: str, text: str, agent: str = "agent", **more: Any) -> None:
    message = {"role": "user", "content": text, "id": text}
    result = await server.client.runs.wait(thread_id, agent, input={"messages": [message]}, **more)
    assert "__error__" not in result, result


async def humans(server: Server, thread_id: str) -> list[str]:
    values = (await server.client.threads.get_state(thread_id))["values"]
    return [message["content"] for message in values.get("messages", []) if message["type"] == "human"]


async def rewind(server: Server, thread_id: str, turn_id: str, **more: Any) -> Any:
    answer = await server.http.post(f"/threads/{thread_id}/rewind", json={"turn_id": turn_id, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_files_and_conversation_go_back(tmp_path: Path, folder: Path, persistence: Persistence | None) -> None:
    async with serve(tmp_path, graphs={"agent": build(folder)}, persistence=persistence) as server:
        thread_id = (await server.client.threads.create())["thread_id"]
        for text in ("write /disk/a.md one", "write /kept/a.md one", "write /a.md one", "write /disk/a.md two", "hello"):
            await say(server, thread_id, text)
        seen = await rewind(server, thread_id, "write /kept/a.md one", dry_run=True)
        assert seen["files_changed"] == ["/a.md", "/disk/a.md", "/kept/a.md"]
        assert (seen["can_rewind"], seen["rewind_id"]) == (True, None)
        assert seen["not_undone"] == [{"kind": "money", "what": "model calls", "times": 7}]
        assert len(await humans(server, thread_id)) == 5

        done = await rewind(server, thread_id, "write /kept/a.md one")
        assert (folder / "a.md").read_text() == "one"
        assert await humans(server, thread_id) == ["write /disk/a.md one"]
        assert (await server.client.threads.get(thread_id))["status"] == "idle"

        await say(server, thread_id, "write /disk/b.md new")
        assert await humans(server, thread_id) == ["write /disk/a.md one", "write /disk/b.md new"]

        await rewind(server, thread_id, done["rewind_id"])
        assert (folder / "a.md").read_text() == "two"
        assert not (folder / "b.md").exists()
        assert len(await humans(server, thread_id)) == 5


async def test_a_run_names_its_turn(tmp_path: Path, folder: Path) -> None:
    async with serve(tmp_path, graphs={"agent": build(folder)}) as server:
        thread_id = (await server.client.threads.create())["thread_id"]
        await say(server, thread_id, "write /disk/a.md one")
        turns = (await server.http.get(f"/threads/{thread_id}/turns")).json()["turns"]
        await rewind(server, thread_id, turns[0]["turn_id"])
        assert not (folder / "a.md").exists()


async def test_somebody_elses_change_is_reported(tmp_path: Path, folder: Path) -> None:
    async with serve(tmp_path, graphs={"agent": build(folder)}) as server:
        thread_id = (await server.client.threads.create())["thread_id"]
        await say(server, thread_id, "write /disk/a.md one")
        (folder / "a.md").write_text("mine")
        refused = await rewind(server, thread_id, "write /disk/a.md one")
        assert (refused["can_rewind"], refused["conflicts"]) == (False, ["/disk/a.md"])
        assert len(await humans(server, thread_id)) == 1
        await rewind(server, thread_id, "write /disk/a.md one", force=True)
        assert not (folder / "a.md").exists()


async def test_a_copy_of_the_thread_goes_back_by_itself(tmp_path: Path, folder: Path, persistence: Persistence | None) -> None:
    async with serve(tmp_path, graphs={"agent": build(folder)}, persistence=persistence) as server:
        thread_id = (await server.client.threads.create())["thread_id"]
        await say(server, thread_id, "write /disk/a.md one")
        await say(server, thread_id, "write /a.md one")
        copy = (await server.client.threads.copy(thread_id))["thread_id"]
        await say(server, copy, "hello")
        await rewind(server, copy, "write /disk/a.md one")
        assert not (folder / "a.md").exists()
        assert await humans(server, copy) == []
        assert len(await humans(server, thread_id)) == 2


async def test_a_fresh_copy_goes_back(tmp_path: Path, folder: Path, persistence: Persistence | None) -> None:
    async with serve(tmp_path, graphs={"agent": build(folder)}, persistence=persistence) as server:
        thread_id = (await server.client.threads.create())["thread_id"]
        await say(server, thread_id, "write /disk/a.md one")
        copy, orphan = [(await server.client.threads.copy(thread_id))["thread_id"] for _ in range(2)]
        await rewind(server, copy, "write /disk/a.md one")
        assert not (folder / "a.md").exists()
        assert (await humans(server, copy), len(await humans(server, thread_id))) == ([], 1)
        await server.client.threads.delete(thread_id)
        answer = await server.http.post(f"/threads/{orphan}/rewind", json={"turn_id": "write /disk/a.md one"})
        assert answer.status_code == 409
        assert "Send a message first" in answer.json()["detail"]


async def test_files_go_back_where_they_were_changed_after_the_assistant_changed(tmp_path: Path, folder: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    plain = create_deep_agent(ScriptedModel.answering(write_what_is_said))
    graphs = {"agent": build(folder), "other": build(other), "plain": plain}
    async with serve(tmp_path, graphs=graphs) as server:
        for second in ("other", "plain"):
            (folder / "a.md").write_text("mine")
            thread_id = (await server.client.threads.create())["thread_id"]
            await say(server, thread_id, "delete /disk/a.md")
            await say(server, thread_id, "hello", second)
            await rewind(server, thread_id, "delete /disk/a.md")
            assert (folder / "a.md").read_text() == "mine"
            assert list(other.iterdir()) == []

        thread_id = (await server.client.threads.create())["thread_id"]
        await say(server, thread_id, "delete /disk/a.md")
        await say(server, thread_id, "write /disk/b.md new", "other")
        answer = await server.http.post(f"/threads/{thread_id}/rewind", json={"turn_id": "delete /disk/a.md"})
        assert answer.status_code == 409
        assert "several assistants" in answer.json()["detail"]
        await rewind(server, thread_id, "write /disk/b.md new")
        assert not (other / "b.md").exists()


async def test_settings_that_do_not_decide_about_files_do_not_matter(tmp_path: Path, folder: Path) -> None:
    async with serve(tmp_path, graphs={"agent": build(folder)}) as server:
        thread_id = (await server.client.threads.create())["thread_id"]
        await say(server, thread_id, "write /disk/a.md one", config={"configurable": {"tone": "kind"}})
        await say(server, thread_id, "write /disk/a.md two", config={"configurable": {"tone": "dry"}})
        await rewind(server, thread_id, "write /disk/a.md one")
        assert not (folder / "a.md").exists()


async def test_pruned_and_deleted_threads_keep_no_before_images(
    tmp_path: Path, folder: Path, persistence: Persistence | None
) -> None:
    async with serve(tmp_path, graphs={"agent": build(folder)}, persistence=persistence) as server:
        kept = []
        for strategy in ("keep_latest", "delete"):
            thread_id = (await server.client.threads.create())["thread_id"]
            await say(server, thread_id, "write /disk/a.md one")
            await say(server, thread_id, "write /disk/a.md two")
            await server.http.post("/threads/prune", json={"thread_ids": [thread_id], "strategy": strategy})
            kept.append(await server.services.persistence.database.read(count_rows))
        assert kept == [(0, 0), (0, 0)]


def count_rows(connection: Any) -> tuple[int, int]:
    entries, images = (
        connection.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in ("file_journal", "file_images")
    )
    return entries, images


async def test_what_is_wrong_is_said(tmp_path: Path, folder: Path) -> None:
    plain = create_deep_agent(ScriptedModel.answering(write_what_is_said))
    async with serve(tmp_path, graphs={"agent": build(folder), "plain": plain}) as server:
        thread_id = (await server.client.threads.create())["thread_id"]

        async def problem(turn_id: str) -> tuple[int, str]:
            answer = await server.http.post(f"/threads/{thread_id}/rewind", json={"turn_id": turn_id})
            return answer.status_code, answer.json()["detail"]

        assert (await problem("a"))[0] == 409
        await server.client.runs.wait(thread_id, "plain", input={"messages": [{"role": "user", "content": "a", "id": "a"}]})
        status, words = await problem("a")
        assert status == 409
        assert "RewindMiddleware" in words
        await say(server, thread_id, "hello")
        status, words = await problem("other")
        assert status == 409
        assert "No turn 'other'" in words
        missing = await server.http.post("/threads/00000000-0000-0000-0000-000000000000/rewind", json={"turn_id": "a"})
        assert missing.status_code == 404


@pytest.mark.parametrize("forged", [{"x": 1}, {"turn_id": "hello", "rewind_id": "r", "head": "h"}], ids=str)
async def test_an_order_in_a_runs_input_is_refused(tmp_path: Path, folder: Path, forged: Any) -> None:
    def remake_for(config: dict[str, Any]) -> Any:
        return build(folder)

    async with serve(tmp_path, graphs={"agent": build(folder), "made": remake_for}) as server:
        thread_id = (await server.client.threads.create())["thread_id"]
        await say(server, thread_id, "hello")
        given = {"messages": [{"role": "user", "content": "again", "id": "again"}], "rewind": forged}
        for fields in ({"input": given}, {"command": {"update": given}}):
            body = {"assistant_id": "agent", **fields, "config": {"configurable": {"__stepwell_rewinds": True}}}
            answer = await server.http.post(f"/threads/{thread_id}/runs/wait", json=body)
            assert answer.status_code == 422, answer.text
            assert "cannot be sent as input" in answer.json()["detail"]
        later = await server.client.runs.wait(thread_id, "made", input=given, raise_error=False)
        assert "cannot be sent as input" in later["__error__"]["message"]
        await say(server, thread_id, "write /disk/a.md one")
        assert await humans(server, thread_id) == ["hello", "write /disk/a.md one"]
        await rewind(server, thread_id, "write /disk/a.md one")
        assert not (folder / "a.md").exists()


async def test_an_open_question_is_dropped(tmp_path: Path, folder: Path) -> None:
    agent = create_deep_agent(
        ScriptedModel.answering(write_what_is_said),
        backend=FilesystemBackend(folder),
        middleware=[RewindMiddleware()],
        interrupt_on={"write_file": True},
    )
    async with serve(tmp_path, graphs={"agent": agent}) as server:
        thread_id = (await server.client.threads.create())["thread_id"]
        await say(server, thread_id, "hello")
        await say(server, thread_id, "write /a.md one")
        assert (await server.client.threads.get(thread_id))["status"] == "interrupted"
        await rewind(server, thread_id, "write /a.md one")
        thread = await server.client.threads.get(thread_id)
        assert (thread["status"], thread["interrupts"]) == ("idle", {})
        assert await humans(server, thread_id) == ["hello"]


async def test_graphs_say_whether_they_can_go_back(tmp_path: Path, folder: Path) -> None:
    plain = create_deep_agent(ScriptedModel.answering(write_what_is_said))
    async with serve(tmp_path, graphs={"agent": build(folder), "plain": plain}) as server:
        listed = (await server.http.get("/api/graphs")).json()
        assert {each["graph_id"]: each["can_rewind"] for each in listed} == {"agent": True, "plain": False}


class Racing(FilesystemBackend):
    """Somebody changes a file right after the first look at it."""

    armed = False

    def download_files(self, paths: Any) -> Any:
        found = super().download_files(paths)
        if self.armed:
            self.armed = False
            (self.root / "a.md").write_text("mine")
        return found


async def test_a_change_between_look_and_run_leaves_everything_as_it_is(tmp_path: Path, folder: Path) -> None:
    backend = Racing(folder)
    agent = create_deep_agent(ScriptedModel.answering(write_what_is_said), backend=backend, middleware=[RewindMiddleware()])
    async with serve(tmp_path, graphs={"agent": agent}) as server:
        thread_id = (await server.client.threads.create())["thread_id"]
        await say(server, thread_id, "write /a.md one")
        backend.armed = True
        report = await rewind(server, thread_id, "write /a.md one")
        assert not report["can_rewind"]
        assert (folder / "a.md").read_text() == "mine"
        assert await humans(server, thread_id) == ["write /a.md one"]
        assert (await server.client.threads.get(thread_id))["status"] == "idle"
        await say(server, thread_id, "hello")
        assert await humans(server, thread_id) == ["write /a.md one", "hello"]


@pytest.mark.parametrize("name", ["simple_agent", "demo_agent"])
async def test_the_agents_that_come_with_the_package_go_back(tmp_path: Path, name: str) -> None:
    from stepwell.demo.agent import build_demo
    from stepwell.demo.simple import build as build_simple

    graph = build_simple(ScriptedModel.answering(write_what_is_said)) if name == "simple_agent" else build_demo()
    async with serve(tmp_path, graphs={"agent": graph}) as server:
        thread_id = (await server.client.threads.create())["thread_id"]
        await say(server, thread_id, "write /a.md one")
        assert (await rewind(server, thread_id, "write /a.md one"))["can_rewind"]
        assert await humans(server, thread_id) == []


class Locked(FilesystemBackend):
    """A folder whose files cannot be deleted for a while."""

    locked = False

    def delete(self, file_path: str, **options: Any) -> Any:
        return DeleteResult(error=f"Error: '{file_path}' is locked.") if self.locked else super().delete(file_path, **options)


async def test_a_rewind_that_stops_leaves_the_conversation_and_the_thread(tmp_path: Path, folder: Path) -> None:
    backend = Locked(folder)
    agent = create_deep_agent(ScriptedModel.answering(write_what_is_said), backend=backend, middleware=[RewindMiddleware()])
    async with serve(tmp_path, graphs={"agent": agent}) as server:
        thread_id = (await server.client.threads.create())["thread_id"]
        await say(server, thread_id, "write /a.md one")
        backend.locked = True
        report = await rewind(server, thread_id, "write /a.md one")
        assert not report["can_rewind"]
        assert "'/a.md' is locked." in report["problem"]
        assert report["rewind_id"] in report["problem"]
        await say(server, thread_id, "hello")
        assert await humans(server, thread_id) == ["write /a.md one", "hello"]
        backend.locked = False
        assert (await rewind(server, thread_id, "write /a.md one"))["can_rewind"]
        assert not (folder / "a.md").exists()


async def test_unknown_fields_are_refused(tmp_path: Path, folder: Path) -> None:
    async with serve(tmp_path, graphs={"agent": build(folder)}) as server:
        thread_id = (await server.client.threads.create())["thread_id"]
        await say(server, thread_id, "hello")
        answer = await server.http.post(f"/threads/{thread_id}/rewind", json={"turn_id": "hello", "dryRun": True})
        assert answer.status_code == 422
        assert "dryRun" in answer.text
        assert await humans(server, thread_id) == ["hello"]


async def test_a_busy_thread_says_what_to_do(tmp_path: Path, folder: Path) -> None:
    model = ScriptedModel(["hello", replace(reply("late"), delay_s=60)])
    agent = create_deep_agent(model, backend=FilesystemBackend(folder), middleware=[RewindMiddleware()])
    async with serve(tmp_path, graphs={"agent": agent}) as server:
        thread_id = (await server.client.threads.create())["thread_id"]
        await say(server, thread_id, "hello")
        given = {"messages": [{"role": "user", "content": "wait"}]}
        run = await server.client.runs.create(thread_id, "agent", input=given)
        answer = await server.http.post(f"/threads/{thread_id}/rewind", json={"turn_id": "hello"})
        assert answer.status_code == 409
        assert "Wait for it or cancel it, and send the rewind again." in answer.json()["detail"]
        await server.client.runs.cancel(thread_id, run["run_id"], wait=True)
