"""The tools `delete` and `move`: who has them, in which order changes of a turn happen, and what two who change at once lose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from stepwell.agent import create_deep_agent
from stepwell.backends import (
    BackendProtocol,
    CompositeBackend,
    DeleteResult,
    EditResult,
    FilesystemBackend,
    Listing,
    Matches,
    StateBackend,
    StoreBackend,
    SyncBackend,
    WriteResult,
)
from stepwell.backends.changes import delete, put, reduce_files
from stepwell.backends.changes import edit as edit_change
from stepwell.backends.text import version_of
from stepwell.errors import ConfigurationError
from stepwell.middleware.filesystem import FilesystemMiddleware
from stepwell.testing import ScriptedModel, call, calls, say

FILES = {"/a.md": "one", "/docs/b.md": "two", "/docs/deep/c.md": "three"}


def names_of(middleware: FilesystemMiddleware) -> list[str]:
    return [tool.name for tool in middleware.tools]


def run(*turns: Any, files: dict[str, str] | None = None, backend: Any = None, **more: Any) -> Any:
    agent = create_deep_agent(ScriptedModel([*turns, say("done")]), backend=backend, **more)
    return agent.invoke({"messages": "go", "files": files or {}})


def said(final: Any) -> list[str]:
    return [message.text for message in final["messages"] if message.type == "tool"]


def texts(final: Any) -> dict[str, str]:
    return {path: "\n".join(file["content"]) for path, file in final["files"].items()}


class ReadsAndWrites(SyncBackend):
    """A backend of somebody else, written before there were these verbs."""

    def ls_info(self, path: str) -> Any:
        return Listing()

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> str:
        return ""

    def grep_raw(self, pattern: str, path: str | None = None, glob: str | None = None) -> Any:
        return Matches()

    def glob_info(self, pattern: str, path: str = "/") -> Any:
        return Listing()

    def write(self, file_path: str, content: str, **options: Any) -> WriteResult:
        return WriteResult(path=file_path)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False, **options: Any) -> EditResult:
        return EditResult(path=file_path, occurrences=1)


def test_an_agent_deletes_and_moves():
    """D11: files in state."""
    final = run(call("delete", file_path="/docs"), call("move", source="/a.md", destination="/new/a.md"), files=FILES)
    assert said(final) == ["Deleted /docs (2 files).", "Moved /a.md to /new/a.md (1 file)."]
    assert texts(final) == {"/new/a.md": "one"}


async def test_an_agent_deletes_and_moves_in_async_code():
    turns = [call("delete", file_path="/docs"), call("move", source="/a.md", destination="/b.md"), say("done")]
    final = await create_deep_agent(ScriptedModel(turns)).ainvoke({"messages": "go", "files": FILES})
    assert texts(final) == {"/b.md": "one"}


def test_a_backend_without_the_verbs_has_no_such_tools():
    """A third party's backend goes on working."""
    assert names_of(FilesystemMiddleware(backend=ReadsAndWrites())) == [
        "ls",
        "read_file",
        "write_file",
        "edit_file",
        "glob",
        "grep",
    ]
    assert "delete" in ReadsAndWrites().delete("/a.md").error
    assert ReadsAndWrites().move("/a.md", "/b.md").error


def test_a_mount_without_the_verbs_answers_with_a_sentence():
    backend = CompositeBackend(StoreBackend(InMemoryStore()), {"/theirs/": ReadsAndWrites()})
    assert "delete" in names_of(FilesystemMiddleware(backend=backend))
    assert "'/theirs/a.md'" in str(backend.delete("/theirs/a.md").error)
    assert "'/theirs/a.md'" in str(backend.move("/theirs/a.md", "/a.md").error)


def test_only_the_listed_tools_are_offered():
    assert names_of(FilesystemMiddleware(tools=["read_file", "ls"])) == ["ls", "read_file"]
    mounted = FilesystemMiddleware(tools=["read_file", "ls"]).with_mounts({"/m/": StoreBackend(InMemoryStore())})
    assert names_of(mounted) == ["ls", "read_file"]


def test_an_unknown_tool_in_the_list_is_named():
    with pytest.raises(ConfigurationError, match=r"unknown tools: reed_file\. Its tools are: delete, .*write_file"):
        FilesystemMiddleware(tools=["reed_file", "ls"])


@pytest.fixture(params=["state", "store", "disk"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> BackendProtocol:
    made: dict[str, BackendProtocol] = {
        "state": StateBackend(),
        "store": StoreBackend(InMemoryStore()),
        "disk": FilesystemBackend(tmp_path),
    }
    return made[request.param]


def test_changes_of_a_turn_happen_in_the_order_of_their_calls(backend: BackendProtocol):
    """D13: a folder that is deleted or moved waits for what is written below it, and the other way round."""
    final = run(
        calls(
            call("write_file", file_path="/docs/a.md", content="first"),
            call("write_file", file_path="/docs/b.md", content="second"),
            call("move", source="/docs", destination="/old"),
            call("edit_file", file_path="/old/a.md", old_string="first", new_string="1"),
            call("delete", file_path="/old/b.md"),
            call("write_file", file_path="/docs/a.md", content="again"),
            call("move", source="/old/a.md", destination="/docs/a.md", overwrite=True),
        ),
        call("glob", pattern="**/*"),
        call("read_file", file_path="/docs/a.md"),
        backend=backend,
    )
    *changes, listed, shown = said(final)
    assert not [text for text in changes if text.startswith("Error")]
    assert listed == "/docs/a.md"
    assert shown == "     1\t1"


def test_a_refused_call_changes_nothing_for_those_after_it():
    final = run(
        calls(
            call("move", source="/a.md", destination="/docs/b.md"),
            call("delete", file_path="/none.md"),
            call("edit_file", file_path="/a.md", old_string="one", new_string="1"),
            call("edit_file", file_path="/docs/b.md", old_string="two", new_string="2"),
        ),
        files=FILES,
    )
    assert [text.startswith("Error") for text in said(final)] == [True, True, False, False]
    assert texts(final) == {"/a.md": "1", "/docs/b.md": "2", "/docs/deep/c.md": "three"}


def test_an_edit_that_meets_a_deletion_is_kept_aside():
    """D13: whoever comes first, the edit is not lost, and the model is told."""
    at, base = "2026-01-01T00:00:00Z", version_of("one")
    edited = edit_change("one", "mine", False, base=base, at=at)
    for updates in ([edited, delete(base=base, at=at)], [delete(base=base, at=at), edited]):
        files = reduce_files({}, [{"/a.md": "one"}, *({"/a.md": update} for update in updates)])
        assert {path: (file["content"], file["conflict_of"]) for path, file in files.items()} == {
            "/a.md.conflict-1": (["mine"], "/a.md")
        }


def test_a_file_that_is_written_again_after_its_deletion_stays():
    at = "2026-01-01T00:00:00Z"
    steps = [{"/a.md": delete(base=version_of("one"), at=at)}, {"/a.md": put("two", base=None, at=at)}]
    files = reduce_files({}, [{"/a.md": "one"}, *steps])
    assert [(path, file["content"]) for path, file in files.items()] == [("/a.md", ["two"])]


def test_a_deletion_that_comes_twice_is_no_error_of_the_state():
    """After a crash an update may be applied to a state that has it already."""
    gone = {"/a.md": delete(base=version_of("one"), at="")}
    assert reduce_files({}, [{"/a.md": "one"}, gone, gone]) == {}


def subagent(*turns: Any) -> Any:
    return ScriptedModel([*turns, say("cleared")])


def test_a_subagent_deletes_and_moves_its_parents_files():
    """D14: it sees them no more, and neither does the parent."""
    clerk = subagent(
        calls(call("delete", file_path="/docs/deep"), call("move", source="/a.md", destination="/b.md")),
        call("glob", pattern="**/*"),
        call("read_file", file_path="/a.md"),
    )
    spec = {"name": "clerk", "description": "clears up", "system_prompt": "Clear up.", "model": clerk}
    final = run(call("task", description="clear up", subagent_type="clerk"), files=FILES, subagents=[spec])
    assert texts(final) == {"/b.md": "one", "/docs/b.md": "two"}
    inside = [message.text for message in clerk.asked[-1].messages if message.type == "tool"]
    assert inside[2] == "/b.md\n/docs/b.md"
    assert inside[3].startswith("Error: no file '/a.md'")


def test_a_subagents_deletion_does_not_lose_the_others_edit():
    """D13: two subagents at once; the edit is beside, and the model is told of it."""
    clerk = subagent(call("delete", file_path="/a.md"))
    writer = subagent(call("edit_file", file_path="/a.md", old_string="one", new_string="one and mine"))
    specs = [
        {"name": name, "description": name, "system_prompt": name, "model": model}
        for name, model in (("clerk", clerk), ("writer", writer))
    ]
    turn = calls(
        call("task", description="write", subagent_type="writer"), call("task", description="clear", subagent_type="clerk")
    )
    final = run(turn, files={"/a.md": "one"}, subagents=specs)
    assert texts(final) == {"/a.md.conflict-1": "one and mine"}
    assert "Conflict: /a.md was changed by two at once" in "".join(said(final))


@pytest.mark.parametrize("wanted", [call("delete", file_path="/a.md"), call("move", source="/a.md", destination="/b.md")])
def test_both_can_be_approved(wanted: Any):
    agent = create_deep_agent(
        ScriptedModel([wanted, say("done")]), interrupt_on={"delete": True, "move": True}, checkpointer=InMemorySaver()
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    asked = agent.invoke({"messages": "go", "files": FILES}, config)
    assert len(asked["__interrupt__"]) == 1
    assert texts(asked) == FILES
    final = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
    assert "/a.md" not in texts(final)


def test_a_whole_file_is_moved_between_mounts(tmp_path: Path):
    """D11: copied, then deleted; what cannot be done is said, and nothing is lost."""
    store = StoreBackend(InMemoryStore())
    backend = CompositeBackend(StateBackend(), {"/disk/": FilesystemBackend(tmp_path), "/store/": store})
    final = run(
        call("move", source="/a.md", destination="/disk/a.md"),
        call("move", source="/docs", destination="/store/docs"),
        call("move", source="/disk/a.md", destination="/store/docs/b.md"),
        call("move", source="/store/docs", destination="/disk/back"),
        call("move", source="/disk", destination="/other"),
        call("delete", file_path="/store"),
        files=FILES,
        backend=backend,
    )
    answers = said(final)
    assert answers[:2] == ["Moved /a.md to /disk/a.md (1 file).", "Moved /docs to /store/docs (2 files)."]
    assert "exists already" in answers[2]
    assert answers[3] == "Moved /store/docs to /disk/back (2 files)."
    assert all("mounted at" in answer for answer in answers[4:])
    assert texts(final) == {}
    assert (tmp_path / "a.md").read_text() == "one"
    assert (tmp_path / "back/deep/c.md").read_text() == "three"
    assert store.glob_info("**") == []


def test_a_move_between_mounts_that_was_cut_off_is_finished(tmp_path: Path):
    """A process killed after the copy does not lose the run: the same call goes on where it was."""
    store = StoreBackend(InMemoryStore())
    backend = CompositeBackend(store, {"/disk/": FilesystemBackend(tmp_path)})
    backend.write("/a.md", "one")
    backend.write("/disk/a.md", "one")
    assert backend.move("/a.md", "/disk/a.md").error is None
    assert [row["path"] for row in backend.glob_info("**/*")] == ["/disk/a.md"]


def test_nothing_is_moved_into_state_from_where_it_is_safe(tmp_path: Path):
    """The state of a subagent that fails is dropped; a file that was deleted on disk meanwhile would be gone."""
    (tmp_path / "a").write_text("one")
    disk = FilesystemBackend(tmp_path)
    inner = CompositeBackend(StateBackend(), {"/e/": StateBackend()})
    backend = CompositeBackend(StateBackend(), {"/d/": disk, "/m/": StateBackend(), "/n/": inner})
    final = run(
        call("move", source="/d/a", destination="/x"),
        call("move", source="/d/a", destination="/m/x", overwrite=True),
        call("move", source="/d/a", destination="/n/e/x"),
        call("move", source="/m/y", destination="/n/e/y"),
        call("move", source="/n/e/y", destination="/d/y"),
        files={"/m/y": "mine"},
        backend=backend,
    )
    *refused, within, out = said(final)
    assert all("delete the old one in a later step" in answer for answer in refused)
    assert within.startswith("Moved")
    assert out.startswith("Moved")
    assert texts(final) == {}
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"a": "one", "y": "mine"}


class Undeletable(StoreBackend):
    """Deletes so many files, and no more."""

    left = 0

    def delete(self, file_path: str, *, expected_version: str | None = None) -> Any:
        if not self.left:
            return DeleteResult(error="Error: read-only.")
        self.left -= 1
        return super().delete(file_path, expected_version=expected_version)


def test_a_move_that_fails_puts_back_what_it_replaced(tmp_path: Path):
    source = Undeletable(InMemoryStore())
    backend = CompositeBackend(source, {"/disk/": FilesystemBackend(tmp_path)})
    source.write("/a", "new")
    (tmp_path / "a").write_text("old")
    assert backend.move("/a", "/disk/a", overwrite=True).error == "Error: read-only."
    assert backend.move("/a", "/disk/b", overwrite=True).error == "Error: read-only."
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"a": "old"}
    (tmp_path / "a").write_bytes(b"\xff\x00")
    assert "Delete it first" in str(backend.move("/a", "/disk/a", overwrite=True).error)
    assert (tmp_path / "a").read_bytes() == b"\xff\x00"


def test_a_folder_that_was_moved_halfway_is_moved_on(tmp_path: Path):
    """Cut off while it was copied, or while the old files were deleted; somebody else's folder is left alone."""
    source = Undeletable(InMemoryStore())
    backend = CompositeBackend(source, {"/disk/": FilesystemBackend(tmp_path)})
    for name in "abc":
        source.write(f"/docs/{name}", name)
    backend.write("/disk/docs/a", "a")
    source.left = 2
    assert backend.move("/docs", "/disk/docs").error == "Error: read-only."
    assert [row["path"] for row in source.glob_info("**/*")] == ["/docs/c"]
    source.left = 9
    assert backend.move("/docs", "/disk/docs").error is None
    assert {each.name: each.read_text() for each in (tmp_path / "docs").iterdir()} == {"a": "a", "b": "b", "c": "c"}
    source.write("/docs/a", "another", overwrite=True)
    assert "never replaced" in str(backend.move("/docs", "/disk/docs", overwrite=True).error)
    source.write("/docs/d", "more")
    assert "never replaced" in str(backend.move("/docs", "/disk/docs").error)
    assert (tmp_path / "docs/a").read_text() == "a"
