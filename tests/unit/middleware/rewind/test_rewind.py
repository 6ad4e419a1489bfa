"""Files and conversation go back together, to where a turn of the user began."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from stepwell import (
    AsyncSubAgentMiddleware,
    FilesystemMiddleware,
    HooksMiddleware,
    RewindMiddleware,
    SendBack,
    arewind,
    create_deep_agent,
    rewind,
)
from stepwell.backends import BrowserBackend, CompositeBackend, FilesystemBackend, StateBackend
from stepwell.backends.folder_device import FolderDevice
from stepwell.backends.objects import ObjectBackend, memory_bucket
from stepwell.backends.protocol import WriteResult
from stepwell.errors import ConfigurationError, InvalidRequestError, RewindError
from stepwell.middleware.rewind.reports import count_lines
from stepwell.testing import ScriptedModel, call, calls
from stepwell.tools.rewind.folder import FolderJournals
from stepwell.tools.rewind.journal import Entry, MemoryJournal

THREAD: Any = {"configurable": {"thread_id": "t"}}


def build(script: list[Any], backend: Any = None, **options: Any) -> Any:
    keeping = options.pop("keeping", None) or RewindMiddleware()
    return create_deep_agent(
        ScriptedModel(script), backend=backend, middleware=[keeping], checkpointer=InMemorySaver(), **options
    )


def say(agent: Any, text: str) -> Any:
    return agent.invoke({"messages": [HumanMessage(text, id=text)]}, THREAD)


def texts(agent: Any) -> list[str]:
    return [
        message.text for message in agent.get_state(THREAD).values["messages"] if isinstance(message, HumanMessage | AIMessage)
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    return tmp_path / "files"


def test_a_turn_and_all_after_it_are_taken_back(folder: Path) -> None:
    (folder / "a.md").write_text("one\n")
    script = [
        call("edit_file", file_path="/a.md", old_string="one", new_string="two"),
        "first",
        calls(call("write_file", file_path="/b.md", content="new"), call("delete", file_path="/a.md")),
        "second",
    ]
    agent = build(script, FilesystemBackend(folder))
    say(agent, "m1")
    say(agent, "m2")
    assert not (folder / "a.md").exists()

    seen = rewind(agent, THREAD, "m2", dry_run=True)
    assert seen["can_rewind"]
    assert seen["files_changed"] == ["/a.md", "/b.md"]
    assert (seen["insertions"], seen["deletions"]) == (1, 1)
    assert (folder / "b.md").exists(), "a dry run changes nothing"

    rewind(agent, THREAD, "m2")
    assert (folder / "a.md").read_text() == "two\n"
    assert not (folder / "b.md").exists()
    assert texts(agent) == ["m1", "", "first"]

    rewind(agent, THREAD, "m1")
    assert (folder / "a.md").read_text() == "one\n"
    assert agent.get_state(THREAD).values.get("messages", []) == []


def test_a_rewind_can_be_undone(folder: Path) -> None:
    agent = build([call("write_file", file_path="/a.md", content="x"), "done"], FilesystemBackend(folder))
    say(agent, "m1")
    report = rewind(agent, THREAD, "m1")
    assert not (folder / "a.md").exists()
    rewind(agent, THREAD, str(report["rewind_id"]))
    assert (folder / "a.md").read_text() == "x"
    assert texts(agent) == ["m1", "", "done"]


def test_the_conversation_goes_on_after_a_rewind(folder: Path) -> None:
    script = [
        call("write_file", file_path="/a.md", content="x"),
        "one",
        call("write_file", file_path="/a.md", content="y"),
        "two",
    ]
    agent = build(script, FilesystemBackend(folder))
    say(agent, "m1")
    rewind(agent, THREAD, "m1")
    say(agent, "m2")
    assert texts(agent) == ["m2", "", "two"]
    assert (folder / "a.md").read_text() == "y"
    rewind(agent, THREAD, "m2")
    assert not (folder / "a.md").exists()


def test_files_in_state_go_back_with_the_checkpoint(folder: Path) -> None:
    script = [
        calls(call("write_file", file_path="/a.md", content="x"), call("write_file", file_path="/disk/a.md", content="x")),
        "one",
        calls(
            call("edit_file", file_path="/a.md", old_string="x", new_string="y"),
            call("edit_file", file_path="/disk/a.md", old_string="x", new_string="y"),
        ),
        "two",
    ]
    agent = build(script, CompositeBackend(StateBackend(), {"/disk/": FilesystemBackend(folder)}))
    say(agent, "m1")
    say(agent, "m2")
    report = rewind(agent, THREAD, "m2")
    assert report["files_changed"] == ["/a.md", "/disk/a.md"]
    assert agent.get_state(THREAD).values["files"]["/a.md"]["content"] == ["x"]
    assert (folder / "a.md").read_text() == "x"


def test_somebody_elses_change_is_not_undone_without_force(folder: Path) -> None:
    agent = build([call("write_file", file_path="/a.md", content="x"), "done"], FilesystemBackend(folder))
    say(agent, "m1")
    (folder / "a.md").write_text("mine")
    report = rewind(agent, THREAD, "m1")
    assert not report["can_rewind"]
    assert report["conflicts"] == ["/a.md"]
    assert "force" in str(report["problem"])
    assert (folder / "a.md").read_text() == "mine"
    assert texts(agent) == ["m1", "", "done"]
    forced = rewind(agent, THREAD, "m1", force=True)
    assert not (folder / "a.md").exists()
    rewind(agent, THREAD, str(forced["rewind_id"]))
    assert (folder / "a.md").read_text() == "mine"


def test_a_change_between_two_of_ours_is_a_conflict_too(folder: Path) -> None:
    script = [
        call("write_file", file_path="/a.md", content="x"),
        "one",
        call("write_file", file_path="/a.md", content="z", overwrite=True),
        "two",
    ]
    agent = build(script, FilesystemBackend(folder))
    say(agent, "m1")
    (folder / "a.md").write_text("mine")
    say(agent, "m2")
    assert rewind(agent, THREAD, "m1", dry_run=True)["conflicts"] == ["/a.md"]
    assert rewind(agent, THREAD, "m2")["can_rewind"]
    assert (folder / "a.md").read_text() == "mine"


def test_folders_that_were_deleted_or_moved_come_back(folder: Path) -> None:
    (folder / "docs" / "deep").mkdir(parents=True)
    (folder / "docs" / "a.md").write_text("a")
    (folder / "docs" / "deep" / "b.md").write_text("b")
    (folder / "docs" / "picture.png").write_bytes(b"\x89PNG\xff\xfe")
    script = [call("move", source="/docs", destination="/papers"), call("delete", file_path="/papers"), "done"]
    agent = build(script, FilesystemBackend(folder))
    say(agent, "m1")
    assert list(folder.iterdir()) == []
    report = rewind(agent, THREAD, "m1")
    assert report["files_changed"] == ["/docs/a.md", "/docs/deep/b.md", "/docs/picture.png"]
    assert (folder / "docs" / "deep" / "b.md").read_text() == "b"
    assert (folder / "docs" / "picture.png").read_bytes() == b"\x89PNG\xff\xfe"
    rewind(agent, THREAD, str(report["rewind_id"]))
    assert not [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("is_mounted", [False, True])
def test_a_script_that_was_deleted_or_moved_can_be_run_again(folder: Path, is_mounted: bool) -> None:
    (folder / "bin").mkdir()
    for name in ("bin/a.sh", "b.sh", "c.sh"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    disk, root = FilesystemBackend(folder), "/disk" if is_mounted else ""
    script = [
        call("edit_file", file_path=f"{root}/b.sh", old_string="sh", new_string="bash", replace_all=True),
        call("delete", file_path=f"{root}/bin"),
        call("delete", file_path=f"{root}/b.sh"),
        call("move", source=f"{root}/c.sh", destination=f"{root}/d.sh"),
        "done",
    ]
    agent = build(script, CompositeBackend(StateBackend(), {"/disk/": disk}) if is_mounted else disk)
    say(agent, "m1")
    assert [path.name for path in folder.iterdir()] == ["d.sh"]
    report = rewind(agent, THREAD, "m1")
    for name in ("bin/a.sh", "b.sh", "c.sh"):
        assert (folder / name).read_text() == "#!/bin/sh\n"
        assert (folder / name).stat().st_mode & 0o777 == 0o755
    rewind(agent, THREAD, str(report["rewind_id"]))
    assert (folder / "d.sh").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("is_mounted", [False, True])
def test_links_in_a_deleted_folder_are_listed(folder: Path, is_mounted: bool) -> None:
    (folder / "docs" / "deep").mkdir(parents=True)
    (folder / "docs" / "a.md").write_text("a")
    (folder / "docs" / "deep" / "link").symlink_to("../a.md")
    disk, root = FilesystemBackend(folder), "/disk" if is_mounted else ""
    backend = CompositeBackend(StateBackend(), {"/disk/": disk}) if is_mounted else disk
    agent = build([call("delete", file_path=f"{root}/docs"), "done"], backend)
    say(agent, "m1")
    report = rewind(agent, THREAD, "m1")
    assert report["not_undone"] == [{"kind": "file", "what": f"delete {root}/docs/deep/link, a link", "times": 1}]
    assert (folder / "docs" / "a.md").read_text() == "a"


def test_a_file_comes_back_where_the_agent_made_a_folder(folder: Path) -> None:
    (folder / "a").write_text("a file")
    script = [call("delete", file_path="/a"), call("write_file", file_path="/a/b.md", content="x"), "done"]
    agent = build(script, FilesystemBackend(folder))
    say(agent, "m1")
    rewind(agent, THREAD, "m1")
    assert (folder / "a").read_text() == "a file"


def test_changes_of_subagents_are_taken_back(folder: Path) -> None:
    script = [
        call("task", description="write", subagent_type="general-purpose"),
        call("write_file", file_path="/a.md", content="x"),
        "written",
        "done",
    ]
    agent = build(script, FilesystemBackend(folder))
    say(agent, "m1")
    assert (folder / "a.md").exists()
    rewind(agent, THREAD, "m1")
    assert not (folder / "a.md").exists()


def test_agents_that_share_an_instance_keep_their_own_files(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "diary.md").write_text("mine")
    keeping = RewindMiddleware()
    build(["hello"], FilesystemBackend(folder), keeping=keeping)
    agent = build([call("delete", file_path="/diary.md"), "done"], FilesystemBackend(other), keeping=keeping)
    say(agent, "m1")
    rewind(agent, THREAD, "m1")
    assert (other / "diary.md").read_text() == "mine"
    assert list(folder.iterdir()) == []


def subagent(backend: Any, **more: Any) -> Any:
    own = [FilesystemMiddleware(backend=backend), *more.pop("middleware", [])]
    script = [call("delete", file_path="/a.md"), "deleted"]
    return {
        "name": "s",
        "description": "d",
        "system_prompt": "p",
        "model": ScriptedModel(script),
        "middleware": own,
        **more,
    }


def test_a_change_in_a_subagents_own_files_is_listed_and_made_nowhere_else(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("theirs")
    script = [call("task", description="x", subagent_type="s"), "done"]
    for sub in (subagent(FilesystemBackend(other)), subagent(FilesystemBackend(other), middleware=[RewindMiddleware()])):
        (other / "a.md").write_text("theirs")
        agent = build(script, FilesystemBackend(folder), subagents=[sub])
        say(agent, "m1")
        assert not (other / "a.md").exists()
        report = rewind(agent, THREAD, "m1")
        assert report["files_changed"] == []
        assert report["not_undone"] == [{"kind": "file", "what": "delete /a.md, in a subagent's own files", "times": 1}]
        assert list(folder.iterdir()) == []


def test_a_subagents_own_tools_over_the_same_folder_go_back(folder: Path) -> None:
    (folder / "a.md").write_text("ours")
    script = [call("task", description="x", subagent_type="s"), "done"]
    agent = build(script, FilesystemBackend(folder), subagents=[subagent(FilesystemBackend(folder))])
    say(agent, "m1")
    assert not (folder / "a.md").exists()
    rewind(agent, THREAD, "m1")
    assert (folder / "a.md").read_text() == "ours"


def test_what_cannot_be_undone_is_listed(folder: Path) -> None:
    @tool
    def send_mail(to: str) -> str:
        """Send a mail."""
        return "sent"

    agent = build([call("send_mail", to="a"), call("send_mail", to="b"), "done"], FilesystemBackend(folder), tools=[send_mail])
    say(agent, "m1")
    assert rewind(agent, THREAD, "m1", dry_run=True)["not_undone"] == [{"kind": "effect", "what": "send_mail", "times": 2}]


def test_background_tasks_are_listed(folder: Path) -> None:
    ended = threading.Event()
    script = {
        "main": [call("start_async_task", description="Write it", subagent_type="w"), "started"],
        "w": [call("write_file", file_path="/a.md", content="x"), "written"],
    }
    background = AsyncSubAgentMiddleware(
        async_subagents=[{"name": "w", "description": "d", "system_prompt": "p"}], notify=lambda *_: ended.set()
    )
    agent = create_deep_agent(
        ScriptedModel.by_agent(script),
        backend=FilesystemBackend(folder),
        middleware=[RewindMiddleware(), background],
        checkpointer=InMemorySaver(),
    )
    say(agent, "m1")
    assert ended.wait(20)
    report = rewind(agent, THREAD, "m1")
    what = "background task w: Write it. What it changed stays; if it is under way, it goes on"
    assert report["not_undone"] == [{"kind": "effect", "what": what, "times": 1}]
    assert (folder / "a.md").exists()


def test_calls_that_pause_count_once_and_refused_ones_not_at_all(folder: Path) -> None:
    @tool
    def pay(amount: int) -> str:
        """Pay."""
        return str(interrupt("Really?"))

    @tool
    def send_mail(to: str) -> str:
        """Send a mail."""
        return "sent"

    script = [call("pay", amount=1), "paid", call("send_mail", to="a"), "not sent"]
    agent = build(script, FilesystemBackend(folder), tools=[pay, send_mail], interrupt_on={"send_mail": True})
    say(agent, "m1")
    agent.invoke(Command(resume="yes"), THREAD)
    say(agent, "m2")
    agent.invoke(Command(resume={"decisions": [{"type": "reject"}]}), THREAD)
    assert rewind(agent, THREAD, "m1", dry_run=True)["not_undone"] == [{"kind": "effect", "what": "pay", "times": 1}]


def test_an_unknown_turn_gets_a_sentence(folder: Path) -> None:
    agent = build(["hello"], FilesystemBackend(folder))
    with pytest.raises(RewindError, match="no turns yet"):
        rewind(agent, THREAD, "m1")
    say(agent, "m1")
    with pytest.raises(RewindError, match="No turn 'other'"):
        rewind(agent, THREAD, "other")


def test_an_agent_without_the_middleware_says_so() -> None:
    agent = create_deep_agent(ScriptedModel(["hello"]), checkpointer=InMemorySaver())
    with pytest.raises(ConfigurationError, match="RewindMiddleware"):
        rewind(agent, THREAD, "m1")


async def test_async_agents_go_back_too(folder: Path) -> None:
    agent = build([call("write_file", file_path="/a.md", content="x"), "done"], FilesystemBackend(folder))
    await agent.ainvoke({"messages": [HumanMessage("m1", id="m1")]}, THREAD)
    assert (await arewind(agent, THREAD, "m1", dry_run=True))["files_changed"] == ["/a.md"]
    report = await arewind(agent, THREAD, "m1")
    assert not (folder / "a.md").exists()
    await arewind(agent, THREAD, str(report["rewind_id"]))
    assert (folder / "a.md").read_text() == "x"


def test_a_folder_of_before_images_outlives_the_process(folder: Path, tmp_path: Path) -> None:
    saver = InMemorySaver()

    def process(script: list[Any]) -> Any:
        keeping = RewindMiddleware(folder=tmp_path / "images")
        return create_deep_agent(
            ScriptedModel(script), backend=FilesystemBackend(folder), middleware=[keeping], checkpointer=saver
        )

    (folder / "a.md").write_text("one")
    say(process([call("edit_file", file_path="/a.md", old_string="one", new_string="two"), "done"]), "m1")
    rewind(process([]), THREAD, "m1")
    assert (folder / "a.md").read_text() == "one"


def test_a_failed_change_leaves_nothing_behind(folder: Path) -> None:
    script = [call("edit_file", file_path="/a.md", old_string="x", new_string="y"), call("delete", file_path="/b.md"), "done"]
    agent = build(script, FilesystemBackend(folder))
    say(agent, "m1")
    assert rewind(agent, THREAD, "m1", dry_run=True)["files_changed"] == []


def test_hooks_do_not_take_a_rewind_for_a_turn(folder: Path) -> None:
    heard: list[str] = []

    def on_input(event: Any) -> None:
        heard.append("input")

    def on_stop(event: Any) -> SendBack | None:
        heard.append("stop")
        return SendBack("Check it again.") if event.times_sent_back == 0 else None

    script = [call("write_file", file_path="/a.md", content="x"), "one", "checked"]
    agent = create_deep_agent(
        ScriptedModel(script),
        backend=FilesystemBackend(folder),
        middleware=[HooksMiddleware(on_input=on_input, on_stop=on_stop), RewindMiddleware()],
        checkpointer=InMemorySaver(),
    )
    say(agent, "m1")
    before = list(heard)
    report = rewind(agent, THREAD, "m1")
    rewind(agent, THREAD, str(report["rewind_id"]))
    assert heard == before


def test_an_open_question_is_left_behind(folder: Path) -> None:
    script = ["hello", call("write_file", file_path="/a.md", content="x"), "done"]
    agent = build(script, FilesystemBackend(folder), interrupt_on={"write_file": True})
    say(agent, "m1")
    assert say(agent, "m2")["__interrupt__"]
    report = rewind(agent, THREAD, "m2")
    assert agent.get_state(THREAD).interrupts == ()
    rewind(agent, THREAD, str(report["rewind_id"]))
    assert [message.type for message in agent.get_state(THREAD).values["messages"]] == ["human", "ai", "human", "ai"]


@pytest.mark.parametrize("turn_id", ["", " ", None, 5, b"m1"])
@pytest.mark.parametrize("dry_run", [True, False])
async def test_what_is_no_turn_is_refused_before_anything_happens(folder: Path, turn_id: Any, dry_run: bool) -> None:
    agent = build([call("write_file", file_path="/a.md", content="x"), "done", "more"], FilesystemBackend(folder))
    say(agent, "m1")
    with pytest.raises(InvalidRequestError, match=r"turn_id is .* Send the id of a message"):
        rewind(agent, THREAD, turn_id, dry_run=dry_run)
    with pytest.raises(InvalidRequestError, match="turn_id is"):
        await arewind(agent, THREAD, turn_id, dry_run=dry_run)
    assert texts(agent) == ["m1", "", "done"]
    assert (folder / "a.md").exists()
    say(agent, "m2")
    assert texts(agent)[-1] == "more"


FORGED = [
    {},
    {"x": 1},
    "text",
    {"turn_id": "m1", "rewind_id": "r", "head": "h", "force": True},
    {"turn_id": "unknown", "rewind_id": "r", "head": "h"},
    {"can_rewind": True},
]


@pytest.mark.parametrize("forged", FORGED, ids=str)
async def test_an_order_in_the_input_is_refused_and_the_thread_goes_on(folder: Path, forged: Any) -> None:
    agent = build([call("write_file", file_path="/a.md", content="x"), "one", "two"], FilesystemBackend(folder))
    say(agent, "m1")
    given = {"messages": [HumanMessage("m2", id="m2")], "rewind": forged}
    with pytest.raises(InvalidRequestError, match="cannot be sent as input"):
        agent.invoke(given, THREAD)
    with pytest.raises(InvalidRequestError, match="cannot be sent as input"):
        await agent.ainvoke(given, THREAD)
    assert texts(agent) == ["m1", "", "one"]
    say(agent, "m3")
    assert texts(agent) == ["m1", "", "one", "m3", "two"]
    assert (folder / "a.md").exists()
    assert rewind(agent, THREAD, "m3")["messages_removed"] == 2


@pytest.mark.parametrize("forged", [*FORGED[:3], FORGED[4]], ids=str)
def test_what_is_no_order_in_the_state_is_ignored(folder: Path, forged: Any) -> None:
    agent = build(["one", "two"], FilesystemBackend(folder))
    say(agent, "m1")
    agent.update_state(THREAD, {"rewind": forged})
    say(agent, "m2")
    assert texts(agent) == ["m1", "one", "m2", "two"]
    assert rewind(agent, THREAD, "m2")["messages_removed"] == 2


def test_subagents_work_after_a_rewind(folder: Path) -> None:
    script = ["one", call("task", description="Work.", subagent_type="general-purpose"), "from below", "two"]
    agent = build(script, FilesystemBackend(folder))
    say(agent, "m1")
    rewind(agent, THREAD, "m1")
    say(agent, "m2")
    assert texts(agent) == ["m2", "", "two"]


def test_a_file_where_a_folder_has_to_be_is_seen_before(folder: Path) -> None:
    (folder / "s").mkdir()
    (folder / "s" / "f").write_text("1")
    agent = build([call("delete", file_path="/s"), "one", "two"], FilesystemBackend(folder))
    say(agent, "m1")
    (folder / "s").write_text("mine")
    for force in (False, True):
        report = rewind(agent, THREAD, "m1", force=force)
        assert (report["can_rewind"], report["problem"]) == (
            False,
            "'/s' is a file now, and '/s/f' needs a folder there. Move the file away and send the rewind again.",
        )
    say(agent, "m2")
    assert texts(agent)[-1] == "two"
    (folder / "s").unlink()
    assert rewind(agent, THREAD, "m1")["can_rewind"]
    assert (folder / "s" / "f").read_text() == "1"


def test_an_agents_own_file_where_a_folder_was_makes_room(folder: Path) -> None:
    (folder / "s").mkdir()
    (folder / "s" / "f").write_text("1")
    script = [call("delete", file_path="/s"), call("write_file", file_path="/s", content="x"), "one"]
    agent = build(script, FilesystemBackend(folder))
    say(agent, "m1")
    assert rewind(agent, THREAD, "m1")["can_rewind"]
    assert (folder / "s" / "f").read_text() == "1"


class Locked(FilesystemBackend):
    """A folder in which one file cannot be written for a while."""

    locked = False

    def write(self, file_path: str, content: str, **options: Any) -> Any:
        if self.locked and file_path == "/b.md":
            return WriteResult(error="Error: '/b.md' is locked.")
        return super().write(file_path, content, **options)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_a_rewind_that_stops_leaves_the_conversation_and_the_thread(folder: Path, is_async: bool) -> None:
    for name in ("a.md", "b.md"):
        (folder / name).write_text("old")
    new = [call("write_file", file_path=f"/{name}", content="new", overwrite=True) for name in ("a.md", "b.md")]
    backend = Locked(folder)
    agent = build([calls(*new), "one", "two"], backend)
    say(agent, "m1")
    backend.locked = True
    stopped = await arewind(agent, THREAD, "m1") if is_async else rewind(agent, THREAD, "m1")
    assert not stopped["can_rewind"]
    assert "stopped at '/b.md': '/b.md' is locked." in str(stopped["problem"])
    assert texts(agent) == ["m1", "", "one"]
    say(agent, "m2")
    assert texts(agent)[-1] == "two"
    backend.locked = False
    assert rewind(agent, THREAD, str(stopped["rewind_id"]))["can_rewind"]
    assert [(folder / name).read_text() for name in ("a.md", "b.md")] == ["new", "new"]
    assert rewind(agent, THREAD, "m1")["can_rewind"]
    assert [(folder / name).read_text() for name in ("a.md", "b.md")] == ["old", "old"]


@pytest.mark.parametrize("updates", [1, 2])
def test_a_turn_that_an_update_began_goes_back_alone(folder: Path, updates: int) -> None:
    agent = build(["one", "two", call("write_file", file_path="/a.md", content="x"), "three"], FilesystemBackend(folder))
    say(agent, "m1")
    say(agent, "m2")
    agent.update_state(THREAD, {"messages": [HumanMessage("m3", id="m3")]}, as_node="__start__")
    if updates == 2:
        agent.update_state(THREAD, {"messages": []}, as_node="__start__")
    agent.invoke(None, THREAD)
    assert texts(agent) == ["m1", "one", "m2", "two", "m3", "", "three"]
    assert rewind(agent, THREAD, "m3")["messages_removed"] == 4
    assert texts(agent) == ["m1", "one", "m2", "two"]
    assert not (folder / "a.md").exists()
    assert rewind(agent, THREAD, "m2")["messages_removed"] == 2


def test_a_picture_in_a_mounted_folder_comes_back(folder: Path) -> None:
    (folder / "a.png").write_bytes(b"\x89PNG\xff")
    agent = build(
        [call("delete", file_path="/disk/a.png"), "done"],
        CompositeBackend(StateBackend(), {"/disk/": FilesystemBackend(folder)}),
    )
    say(agent, "m1")
    rewind(agent, THREAD, "m1")
    assert (folder / "a.png").read_bytes() == b"\x89PNG\xff"


async def test_a_picture_in_a_bucket_comes_back() -> None:
    bucket = memory_bucket()
    backend = ObjectBackend(bucket, "/company/workspace/")
    assert (await backend.awrite_whole("/a.png", b"\x89PNG\xff")).error is None
    agent = build([call("delete", file_path="/a.png"), "done"], backend)
    await agent.ainvoke({"messages": [HumanMessage("m1", id="m1")]}, THREAD)
    await arewind(agent, THREAD, "m1")
    assert (await backend.adownload_files(["/a.png"]))[0].content == b"\x89PNG\xff"


def test_paths_of_the_host_go_back_too(folder: Path) -> None:
    script = [
        call("write_file", file_path=f"{folder}/a.md", content="x"),
        call("edit_file", file_path=f"{folder}/a.md", old_string="x", new_string="y"),
        "done",
    ]
    agent = build(script, FilesystemBackend(folder, virtual_mode=False))
    say(agent, "m1")
    assert (folder / "a.md").read_text() == "y"
    rewind(agent, THREAD, "m1")
    assert not (folder / "a.md").exists()


def test_files_of_a_backend_factory_go_back(folder: Path) -> None:
    agent = build([call("write_file", file_path="/a.md", content="x"), "done"], lambda _: FilesystemBackend(folder))
    say(agent, "m1")
    assert (folder / "a.md").read_text() == "x"
    rewind(agent, THREAD, "m1")
    assert not (folder / "a.md").exists()


def test_files_of_a_backend_class_are_in_state() -> None:
    agent = build([call("write_file", file_path="/a.md", content="x"), "done"], StateBackend)
    say(agent, "m1")
    assert rewind(agent, THREAD, "m1")["files_changed"] == ["/a.md"]


def test_a_change_on_a_device_is_listed_and_left_to_the_device(folder: Path) -> None:
    device = FolderDevice(FilesystemBackend(folder))
    agent = build(
        [call("write_file", file_path="/project/a.md", content="x"), "done"],
        CompositeBackend(StateBackend(), {"/project/": BrowserBackend(project_id="p", requires_approval=False)}),
    )
    state = agent.invoke({"messages": [HumanMessage("m1", id="m1")]}, THREAD)
    while questions := state.get("__interrupt__"):
        answers = {each.id: device.answer(each.value) for each in questions}
        state = agent.invoke(Command(resume=answers), THREAD)
    report = rewind(agent, THREAD, "m1", dry_run=True)
    assert report["not_undone"] == [{"kind": "device", "what": "write /project/a.md", "times": 1}]
    assert report["files_changed"] == []


class Racing(FilesystemBackend):
    """Somebody changes a file right after the first look at it."""

    armed = False

    def download_files(self, paths: Any) -> Any:
        found = super().download_files(paths)
        if self.armed:
            self.armed = False
            (self.root / "a.md").write_text("mine")
        return found


def test_a_change_between_look_and_rewind_leaves_everything_as_it_is(folder: Path) -> None:
    backend = Racing(folder)
    agent = build([call("write_file", file_path="/a.md", content="x"), "done", "more"], backend)
    say(agent, "m1")
    backend.armed = True
    report = rewind(agent, THREAD, "m1")
    assert not report["can_rewind"]
    assert (folder / "a.md").read_text() == "mine"
    assert texts(agent) == ["m1", "", "done"]
    say(agent, "m2")
    assert texts(agent)[-1] == "more"


def test_a_line_that_a_kill_cut_is_left_out(tmp_path: Path) -> None:
    FolderJournals(tmp_path).of("t").begin([Entry("change", "/a", before="h")], {"h": b"x"}).result()
    [written] = tmp_path.rglob("journal.jsonl")
    with written.open("ab") as file:
        file.write(b'{"kind": "chan')
    journal = FolderJournals(tmp_path).of("t")
    assert [entry.name for entry in journal.entries().result()] == ["/a"]
    assert journal.begin([Entry("change", "/b")], {}).result() == [2]
    assert [entry.name for entry in FolderJournals(tmp_path).of("t").entries().result()] == ["/a", "/b"]
    assert journal.image("h").result() == b"x"
    FolderJournals(tmp_path).forget("t")
    assert list(tmp_path.iterdir()) == []


def test_a_turn_that_changes_too_much_goes_on_and_the_report_says_so(folder: Path) -> None:
    (folder / "a.md").write_text("before" * 100)
    middleware = RewindMiddleware()
    middleware.keeper._journals["t"] = MemoryJournal(limit=100)  # type: ignore[attr-defined]
    model = ScriptedModel([call("write_file", file_path="/a.md", content="after", overwrite=True), "done"])
    agent = create_deep_agent(model, backend=FilesystemBackend(folder), middleware=[middleware], checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "t"}}
    agent.invoke({"messages": [HumanMessage("go", id="m1")]}, thread)
    assert (folder / "a.md").read_text() == "after"
    report = rewind(agent, thread, "m1")
    assert report["not_undone"] == [{"kind": "file", "what": "write /a.md", "times": 1}]
    assert (folder / "a.md").read_text() == "after"


@pytest.mark.parametrize(
    ("after", "counted"),
    [
        (list(reversed(range(2500))), (2500, 2500)),
        ([0, 2, 1, *range(3, 2500)], (2, 2)),
        ([*range(2499), -1], (1, 1)),
        (list(range(2500)), (0, 0)),
    ],
    ids=["reversed", "two lines", "another line", "the same"],
)
def test_lines_of_a_long_file_are_counted(after: list[int], counted: tuple[int, int]) -> None:
    assert count_lines([str(each) for each in range(2500)], [str(each) for each in after]) == counted
