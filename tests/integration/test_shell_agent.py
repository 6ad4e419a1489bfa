"""`execute` in a whole agent: sessions in state, approvals, subagents, failures. Real sandboxes, a scripted model."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware.shell_tool import RedactionRule
from langchain.tools import ToolRuntime
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from stepwell import CompositeBackend, FilesystemBackend, StateBackend, ToolNameConflictError, create_deep_agent
from stepwell.errors import ConfigurationError
from stepwell.middleware.shell import ShellMiddleware
from stepwell.testing import ScriptedModel, call, calls, fail, say
from stepwell.tools.effects import effect_of
from stepwell.tools.shell.sandbox import BubblewrapPolicy
from stepwell.tools.shell.session import ShellSession

ASK = {"messages": [("user", "go")]}
THREAD = {"configurable": {"thread_id": "1"}}
NEW_SHELL = "[a new shell: earlier cd, variables and background processes are gone]"


@pytest.fixture(autouse=True)
def _bubblewrap() -> Iterator[None]:
    """Skips where the sandbox cannot be (but fails on a build server), and finds shells that a test leaves behind."""
    if sys.platform != "linux":
        pytest.skip("the sandbox is for Linux")
    try:
        BubblewrapPolicy().resolve_program()
    except ConfigurationError as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))
    yield
    assert until_no_shells(), "a shell outlived its run"


def shells() -> list[int]:
    """The sandboxes that this process has started and that still run."""
    found = []
    for thread in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # a thread or a child that has just ended
            for child in (thread / "children").read_text(encoding="ascii").split():
                if b"bwrap" in Path("/proc", child, "cmdline").read_bytes():
                    found.append(int(child))
    return found


def until(condition: Callable[[], bool], seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def until_no_shells() -> bool:
    gc.collect()
    return until(lambda: not shells(), seconds=30)


def execute(command: str):
    return call("execute", command=command)


def results(final: dict[str, Any]) -> list[str]:
    return [message.text for message in final["messages"] if message.type == "tool"]


def agent_for(script, tmp_path: Path, **options):
    shell = ShellMiddleware(workspace_root=tmp_path / "work", **options.pop("shell", {}))
    return create_deep_agent(ScriptedModel(script), middleware=[shell, *options.pop("middleware", ())], **options)


def how_many_shells() -> int:
    """Count the running sandboxes."""
    return len(shells())


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest):
    """Invokes an agent, in both colours."""
    if request.param == "sync":
        return lambda agent, what, config=None: agent.invoke(what, config)
    return lambda agent, what, config=None: asyncio.run(agent.ainvoke(what, config))


def test_a_session_lasts_through_the_run_and_ends_with_it(run, tmp_path: Path):
    """D14: shell tool with its session in state."""
    script = [execute("cd /tmp; X=1; echo made > /workspace/a"), execute("pwd; echo $X"), call("how_many_shells"), say("done")]
    final = run(agent_for(script, tmp_path, tools=[how_many_shells]), ASK)
    assert results(final) == ["[no output]", "/tmp\n1", "1"]
    assert (tmp_path / "work" / "a").read_text(encoding="utf-8") == "made\n"
    assert shells() == []
    assert "shell_session_resources" not in final


def test_a_run_without_commands_starts_nothing(run, tmp_path: Path):
    final = run(agent_for([call("how_many_shells"), say("done")], tmp_path, tools=[how_many_shells]), ASK)
    assert results(final) == ["0"]
    assert not (tmp_path / "work").exists()


def test_the_state_holds_the_session_and_no_checkpoint_or_stream_does(tmp_path: Path):
    """D14: the key `shell_session_resources`."""
    seen = []

    def look(runtime: ToolRuntime) -> str:
        """Look at the state."""
        seen.append(runtime.state["shell_session_resources"])
        return "looked"

    saver = InMemorySaver()
    agent = agent_for([execute("true"), call("look"), say("done")], tmp_path, tools=[look], checkpointer=saver)
    for _, chunk in agent.stream(ASK, THREAD, stream_mode=["values", "updates"]):
        json.dumps(
            chunk, default=lambda message: message.model_dump(mode="json") if hasattr(message, "model_dump") else repr(message)
        )
    assert isinstance(seen.pop(), ShellSession)
    assert all("shell_session_resources" not in found.checkpoint["channel_values"] for found in saver.list(THREAD))
    assert "shell_session_resources" not in agent.get_state(THREAD).values


def test_exit_codes_and_errors_are_shown(tmp_path: Path):
    script = [execute("ls /nowhere"), execute("echo bye; exit 4"), execute("pwd"), say("done")]
    final = agent_for(script, tmp_path).invoke(ASK)
    failed, ended, fresh = (message for message in final["messages"] if message.type == "tool")
    assert failed.text.endswith("[exit code 2]")
    assert (failed.status, failed.artifact["exit_code"]) == ("error", 2)
    assert ended.text == "bye\n[the shell ended with exit code 4; the next command gets a new one]"
    assert fresh.text == f"{NEW_SHELL}\n/workspace"


def test_a_time_out_is_told_with_what_was_printed_before(tmp_path: Path):
    script = [execute("echo begun; sleep 600"), execute("echo on"), say("done")]
    final = agent_for(script, tmp_path, shell={"policy": BubblewrapPolicy(command_timeout=10)}).invoke(ASK)
    stopped, after = results(final)
    assert stopped.startswith("begun\nError: the command was stopped after 10 s")
    assert after == f"{NEW_SHELL}\non"


def test_parallel_calls_of_one_turn_run_in_order_on_one_session(run, tmp_path: Path):
    turn = calls(execute("cd /tmp; sleep 0.2; echo one"), execute("pwd; X=2; echo two"), execute("echo $X three"))
    final = run(agent_for([turn, say("done")], tmp_path), ASK)
    assert results(final) == ["one", "/tmp\ntwo", "2 three"]


def test_a_failing_model_leaves_no_shell(run, tmp_path: Path):
    """The shell ends when the exception is let go: as long as somebody keeps it, its traceback keeps the run's state."""
    agent = agent_for([execute("sleep 100 &"), fail(RuntimeError)], tmp_path)
    with pytest.raises(RuntimeError):
        run(agent, ASK)
    assert until_no_shells()


async def test_cancelling_a_run_ends_its_command(tmp_path: Path):
    agent = agent_for([execute("touch begun; sleep 100"), say("done")], tmp_path)
    task = asyncio.create_task(agent.ainvoke(ASK))
    assert await asyncio.to_thread(until, (tmp_path / "work" / "begun").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    del task
    assert await asyncio.to_thread(until_no_shells)


def decide(*decisions: dict[str, Any]) -> Command[Any]:
    return Command(resume={"decisions": list(decisions)})


def test_approve_edit_and_reject(run, tmp_path: Path):
    """D14 with D10: nothing runs before the answer; each resumed run has a new shell and says so."""
    script = [execute("echo first >> log; cd /tmp"), execute("echo second >> log"), execute("rm log"), say("done")]
    agent = agent_for(script, tmp_path, checkpointer=InMemorySaver(), interrupt_on={"execute": True})
    run(agent, ASK, THREAD)
    assert not (tmp_path / "work" / "log").exists()
    run(agent, decide({"type": "approve"}), THREAD)
    assert until_no_shells(), "a paused run keeps no shell"
    edited = {"name": "execute", "args": {"command": "pwd; echo changed >> log"}}
    run(agent, decide({"type": "edit", "edited_action": edited}), THREAD)
    final = run(agent, decide({"type": "reject", "message": "keep it"}), THREAD)
    approved, changed, rejected = results(final)
    assert approved == "[no output]"
    assert changed.endswith(f"{NEW_SHELL}\n/workspace")
    assert "keep it" in rejected
    assert (tmp_path / "work" / "log").read_text(encoding="utf-8") == "first\nchanged\n"


def test_commands_after_a_resume_share_one_session(run, tmp_path: Path):
    """D14: the calls of a resumed run use one shell, not one each."""

    def ask_first() -> str:
        """Needs approval."""
        return "asked"

    script = [
        call("ask_first"),
        calls(execute("X=1; cd /tmp"), execute("echo $X")),
        execute("pwd"),
        call("how_many_shells"),
        say("done"),
    ]
    tools = [ask_first, how_many_shells]
    agent = agent_for(script, tmp_path, tools=tools, checkpointer=InMemorySaver(), interrupt_on={"ask_first": True})
    run(agent, ASK, THREAD)
    final = run(agent, decide({"type": "approve"}), THREAD)
    assert results(final) == ["asked", "[no output]", "1", "/tmp", "1"]


def test_subagents_have_sessions_of_their_own(run, tmp_path: Path):
    """D14 with D6: two at once, beside the main agent's, and all end."""

    def spec(name: str):
        shell = ShellMiddleware(workspace_root=tmp_path / "work")
        return {"name": name, "description": name, "system_prompt": name, "middleware": [shell]}

    def task(name: str):
        return call("task", description="go", subagent_type=name)

    alone = [execute("cd /usr; WHO=me"), execute("sleep 0.2; pwd; echo $WHO"), call("how_many_shells"), say("sub done")]
    model = ScriptedModel.by_agent(
        {
            "main": [execute("cd /tmp; WHO=main"), calls(task("one"), task("two")), execute("pwd; echo $WHO"), say("done")],
            "one": alone,
            "two": [execute("pwd; echo x$WHO; sleep 0.3"), say("sub done")],
        }
    )
    shell = ShellMiddleware(workspace_root=tmp_path / "work")
    agent = create_deep_agent(
        model, [how_many_shells], middleware=[shell], subagents=[spec("one"), spec("two")], checkpointer=InMemorySaver()
    )
    final = run(agent, ASK, THREAD)
    assert results(final) == ["[no output]", "sub done", "sub done", "/tmp\nmain"]
    printed = [message.text for asked in model.asked for message in asked.messages if message.type == "tool"]
    assert "/usr\nme" in printed
    assert "/workspace\nx" in printed
    model.assert_finished()


def test_approval_inside_a_subagent(tmp_path: Path):
    shell = ShellMiddleware(workspace_root=tmp_path / "work")
    worker = {
        "name": "one",
        "description": "one",
        "system_prompt": "one",
        "middleware": [shell],
        "interrupt_on": {"execute": True},
    }
    script = {
        "main": [call("task", description="go", subagent_type="one"), say("done")],
        "one": [execute("echo yes > answer"), say("sub done")],
    }
    agent = create_deep_agent(ScriptedModel.by_agent(script), subagents=[worker], checkpointer=InMemorySaver())
    paused = agent.invoke(ASK, THREAD)
    assert paused["__interrupt__"][0].value["action_requests"][0]["args"] == {"command": "echo yes > answer"}
    assert not (tmp_path / "work").exists()
    final = agent.invoke(Command(resume={paused["__interrupt__"][0].id: {"decisions": [{"type": "approve"}]}}), THREAD)
    assert results(final) == ["sub done"]
    assert (tmp_path / "work" / "answer").read_text(encoding="utf-8") == "yes\n"


def test_only_named_variables_reach_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STEPWELL_TEST_SECRET", "hunter2")
    for policy in ("sandbox", "unsandboxed_host"):
        final = agent_for([execute("env"), say("done")], tmp_path, shell={"env": {"NAMED": "yes"}, "policy": policy}).invoke(
            ASK
        )
        assert "NAMED=yes" in results(final)[0]
        assert "hunter2" not in results(final)[0]


def test_redacted_output_is_kept_nowhere(tmp_path: Path):
    rules = [RedactionRule(pii_type="email", strategy="redact")]
    final = agent_for([execute("echo me@example.com"), say("done")], tmp_path, shell={"redaction_rules": rules}).invoke(ASK)
    message = next(message for message in final["messages"] if message.type == "tool")
    assert "example.com" not in message.model_dump_json()
    blocking = [RedactionRule(pii_type="email", strategy="block")]
    final = agent_for([execute("echo me@example.com"), say("done")], tmp_path, shell={"redaction_rules": blocking}).invoke(ASK)
    assert results(final) == ["[the output is withheld: it contains email]"]


def test_file_tools_and_commands_can_speak_of_the_same_paths(tmp_path: Path):
    work = tmp_path / "work"
    work.mkdir()
    files = CompositeBackend(
        default=StateBackend(), routes={"/workspace/": FilesystemBackend(root_dir=work, virtual_mode=True)}
    )
    script = [
        call("write_file", file_path="/workspace/a.py", content="print(6 * 7)"),
        execute("python3 /workspace/a.py | tee /workspace/out.txt"),
        call("read_file", file_path="/workspace/out.txt"),
        say("done"),
    ]
    final = agent_for(script, tmp_path, backend=files).invoke(ASK)
    assert results(final)[1] == "42"
    assert "42" in results(final)[2]


def test_bad_commands_are_results_for_the_model(tmp_path: Path):
    script = [
        execute("echo \0"),
        execute("x" * 200_000),
        call("execute"),
        call("execute", command=7),
        execute("echo ok"),
        say("done"),
    ]
    final = agent_for(script, tmp_path).invoke(ASK)
    tools = [message for message in final["messages"] if message.type == "tool"]
    assert [message.status for message in tools] == ["error"] * 4 + ["success"]
    assert tools[-1].text == "ok"


def test_a_workspace_that_cannot_be_had_is_a_result_without_the_hosts_path(tmp_path: Path):
    (tmp_path / "work").write_text("a file", encoding="utf-8")
    final = agent_for([execute("pwd"), say("done")], tmp_path).invoke(ASK)
    assert "could not be started" in results(final)[0]
    assert str(tmp_path) not in results(final)[0]


def test_a_second_execute_is_refused_and_the_tool_declares_its_effect(tmp_path: Path):
    def execute(command: str) -> str:
        """Another one."""
        return command

    with pytest.raises(ToolNameConflictError, match="'execute'"):
        agent_for([], tmp_path, tools=[execute])
    assert effect_of(ShellMiddleware().tools[0]) == "once"
