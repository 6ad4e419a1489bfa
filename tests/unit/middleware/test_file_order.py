"""Changes of one turn: in the order of their calls, and each after what the others really did, whoever refused or delayed them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from stepwell import CompositeBackend, FilesystemBackend, FilesystemPermission, StateBackend, create_deep_agent
from stepwell.errors import InfrastructureError
from stepwell.middleware.filesystem import FilesystemMiddleware
from stepwell.testing import ScriptedModel, call, calls, say

SECRETS = [FilesystemPermission(["read", "write"], ["/secrets/**"], mode="deny")]
APPROVE, REJECT = {"type": "approve"}, {"type": "reject"}
ASKING: Any = {"configurable": {"thread_id": "1", "permission_mode": "ask"}}
PLAIN: Any = {"configurable": {"thread_id": "1"}}


def said(final: Any) -> list[str]:
    return [message.text for message in final["messages"] if message.type == "tool"]


def texts(final: Any) -> dict[str, str]:
    return {path: "\n".join(file["content"]) for path, file in final["files"].items()}


def start(files: dict[str, str]) -> dict[str, Any]:
    return {"messages": "go", "files": files}


class Asked:
    """A thread whose changes a person approves one by one, each time in another process."""

    def __init__(self, *turns: Any, asynchronous: bool = False, **options: Any) -> None:
        self._saver = InMemorySaver()
        self._model = ScriptedModel([*turns, say("done")])
        self._options = options
        self._asynchronous = asynchronous

    def begin(self, files: dict[str, str] | None = None) -> list[str]:
        return self._go(start(files or {}))

    def answer(self, *decisions: dict[str, Any]) -> list[str]:
        given = {each.id: {"decisions": [one]} for each, one in zip(self._waiting, decisions, strict=False)}
        return self._go(Command(resume=given))

    def _go(self, given: Any) -> list[str]:
        agent = create_deep_agent(self._model, checkpointer=self._saver, **self._options)
        self.final: Any = (
            asyncio.run(agent.ainvoke(given, ASKING)) if self._asynchronous else agent.invoke(given, ASKING)  # type: ignore[arg-type]
        )
        # In the order of the calls, as page and terminal show them; `__interrupt__` lists them as they happened to ask.
        self._waiting = agent.get_state(ASKING).interrupts
        return [request["name"] for each in self._waiting for request in each.value["action_requests"]]


@pytest.fixture(params=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "async")


def test_a_denied_move_gives_nothing_to_the_next_call(asynchronous: bool):
    """What the rules refused must not be replayed, or a second move brings the secret out."""
    steal = calls(
        call("move", source="/secrets/key", destination="/p/a"),
        call("move", source="/p/a", destination="/p/b"),
        call("edit_file", file_path="/p/b", old_string="k", new_string="c"),
    )
    agent = create_deep_agent(ScriptedModel([steal, say("done")]), permissions=SECRETS)
    given: Any = start({"/secrets/key": "k"})
    final = asyncio.run(agent.ainvoke(given)) if asynchronous else agent.invoke(given)
    assert texts(final) == {"/secrets/key": "k"}
    assert all(text.startswith("Error") for text in said(final))


def test_a_subagent_and_a_state_mount_give_nothing_either():
    steal = calls(call("move", source="/m/secrets/key", destination="/m/a"), call("move", source="/m/a", destination="/m/b"))
    model = ScriptedModel([call("task", description="go", subagent_type="general-purpose"), steal, say("sub"), say("done")])
    agent = create_deep_agent(
        model,
        backend=CompositeBackend(StateBackend(), {"/m/": StateBackend()}),
        permissions=[FilesystemPermission(["read", "write"], ["/m/secrets/**"], mode="deny")],
    )
    assert texts(agent.invoke(start({"/m/secrets/key": "k"}))) == {"/m/secrets/key": "k"}  # type: ignore[arg-type]


def test_a_rejected_write_is_not_moved(asynchronous: bool):
    thread = Asked(
        calls(call("write_file", file_path="/a", content="EVIL", overwrite=True), call("move", source="/a", destination="/b")),
        asynchronous=asynchronous,
    )
    assert thread.begin({"/a": "good"}) == ["write_file"]
    assert thread.answer(REJECT) == ["move"]
    assert thread.answer(APPROVE) == []
    assert texts(thread.final) == {"/b": "good"}


@pytest.mark.parametrize(
    "refused",
    [
        call("move", source="/a", destination="/b", overwrite="perhaps"),
        call("write_file", file_path="/a", content={"no": "text"}, overwrite=True),
        call("edit_file", file_path="/a", old_string="none", new_string="EVIL"),
    ],
    ids=["move", "write", "edit"],
)
def test_a_call_that_failed_changes_nothing_for_the_next(refused: Any):
    model = ScriptedModel(
        [calls(refused, call("edit_file", file_path="/a", old_string="good", new_string="fine")), say("done")]
    )
    final = create_deep_agent(model).invoke(start({"/a": "good"}))  # type: ignore[arg-type]
    assert [text.startswith("Error") for text in said(final)] == [True, False]
    assert texts(final) == {"/a": "fine"}


class AnswersWrites(AgentMiddleware[Any, Any, Any]):
    """Somebody's hook, which answers a call instead of its tool."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        if request.tool_call["name"] == "write_file":
            return ToolMessage("not today", name="write_file", tool_call_id=request.tool_call["id"])
        return handler(request)


WRITE_AND_MOVE = calls(
    call("write_file", file_path="/a", content="EVIL", overwrite=True), call("move", source="/a", destination="/b")
)


def test_a_call_that_a_hook_answered_changes_nothing_for_the_next():
    agent = create_deep_agent(ScriptedModel([WRITE_AND_MOVE, say("done")]), middleware=[AnswersWrites()])
    assert texts(agent.invoke(start({"/a": "good"}))) == {"/b": "good"}  # type: ignore[arg-type]


def test_the_order_is_kept_in_an_agent_that_was_built_elsewhere():
    agent: Any = create_agent(ScriptedModel([WRITE_AND_MOVE, say("done")]), middleware=[FilesystemMiddleware()])
    assert texts(agent.invoke({"messages": [("user", "go")], "files": {"/a": "good"}})) == {"/b": "EVIL"}


def test_a_call_answered_out_of_sight_is_not_taken_for_granted():
    """In an agent that was built elsewhere, something further out may answer the first call, and nobody here learns of it."""
    stack = [AnswersWrites(), FilesystemMiddleware()]
    agent: Any = create_agent(ScriptedModel([WRITE_AND_MOVE, say("done")]), middleware=stack)
    final = agent.invoke({"messages": [("user", "go")], "files": {"/a": "good"}})
    assert texts(final) == {"/a": "good"}
    assert "call it again" in said(final)[1]


DELETE, WRITE = call("delete", file_path="/a"), call("write_file", file_path="/a", content="new", overwrite=True)


def test_a_person_is_asked_in_the_order_of_the_calls(tmp_path: Path, asynchronous: bool):
    """The second change of a file is asked about when the first has an outcome; another file's at once."""
    (tmp_path / "a").write_text("old")
    both = calls(DELETE, WRITE, call("write_file", file_path="/other", content="x"))
    thread = Asked(both, asynchronous=asynchronous, backend=FilesystemBackend(tmp_path))
    assert thread.begin() == ["delete", "write_file"]
    assert thread.answer(APPROVE, APPROVE) == ["write_file"]
    assert (tmp_path / "other").exists()
    assert not (tmp_path / "a").exists()
    assert thread.answer(APPROVE) == []
    assert (tmp_path / "a").read_text() == "new"
    assert [text.split()[0] for text in said(thread.final)] == ["Deleted", "Wrote", "Wrote"]


def test_edits_build_on_those_that_were_approved_in_an_earlier_run(asynchronous: bool):
    thread = Asked(
        calls(
            call("write_file", file_path="/a", content="one two"),
            call("edit_file", file_path="/a", old_string="one", new_string="1"),
            call("edit_file", file_path="/a", old_string="two", new_string="EVIL"),
            call("edit_file", file_path="/a", old_string="1 two", new_string="1 2"),
            call("move", source="/a", destination="/b"),
        ),
        asynchronous=asynchronous,
    )
    assert thread.begin() == ["write_file"]
    assert thread.answer(APPROVE) == ["edit_file"]
    assert thread.answer(APPROVE) == ["edit_file"]
    assert thread.answer(REJECT) == ["edit_file"]
    assert thread.answer(APPROVE) == ["move"]
    assert thread.answer(APPROVE) == []
    assert texts(thread.final) == {"/b": "1 2"}


class FailsOnce(AgentMiddleware[Any, Any, Any]):
    """The database is away just before the first call."""

    failed = False

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        if request.tool_call["name"] == "delete" and not self.failed:
            self.failed = True
            raise InfrastructureError("away")
        return handler(request)


def test_a_call_whose_predecessor_crashed_does_not_run_before_it(tmp_path: Path):
    (tmp_path / "a").write_text("old")
    saver, model, bad = InMemorySaver(), ScriptedModel([calls(DELETE, WRITE), say("done")]), FailsOnce()
    files = FilesystemBackend(tmp_path)
    agent = create_deep_agent(model, backend=files, middleware=[bad], checkpointer=saver)
    with pytest.raises(InfrastructureError):
        agent.invoke({"messages": "go"}, PLAIN)  # type: ignore[arg-type]
    assert (tmp_path / "a").read_text() == "old"
    final = agent.invoke(None, PLAIN)
    assert [text.split()[0] for text in said(final)] == ["Deleted", "Wrote"]
    assert (tmp_path / "a").read_text() == "new"


def test_the_order_is_kept_in_a_subagent_over_several_runs(asynchronous: bool):
    thread = Asked(
        call("task", description="go", subagent_type="general-purpose"),
        calls(
            call("write_file", file_path="/a", content="one two"),
            call("edit_file", file_path="/a", old_string="one", new_string="1"),
            call("move", source="/a", destination="/b"),
        ),
        say("sub"),
        asynchronous=asynchronous,
    )
    assert thread.begin() == ["write_file"]
    assert thread.answer(APPROVE) == ["edit_file"]
    assert thread.answer(APPROVE) == ["move"]
    assert thread.answer(APPROVE) == []
    assert texts(thread.final) == {"/b": "1 two"}
