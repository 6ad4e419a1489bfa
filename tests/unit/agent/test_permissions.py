"""Permissions in an agent: file tools, questions to a person, subagents, large results, mounts."""

from __future__ import annotations

import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from stepwell import (
    ClientToolsMiddleware,
    CompositeBackend,
    ConfigurationError,
    FilesystemBackend,
    FilesystemMiddleware,
    FilesystemPermission,
    ShellMiddleware,
    StateBackend,
    compile_agent,
    create_deep_agent,
)
from stepwell.errors import SubAgentSpecError
from stepwell.testing import ScriptedModel, call, calls, say

THREAD = {"configurable": {"thread_id": "1"}}
FILES = {"/secrets/key.md": "word", "/open/a.md": "word"}
BOTH = ["read", "write"]


def rule(mode, *paths, operations=BOTH):
    return FilesystemPermission(operations, list(paths), mode)


def run(agent, files=FILES):
    return agent.invoke({"messages": [("user", "go")], "files": files}, THREAD)


def tool_texts(state):
    return [message.text for message in state["messages"] if message.type == "tool"]


def agent_for(*steps, **options):
    return create_deep_agent(ScriptedModel([*steps, say("done")]), checkpointer=InMemorySaver(), **options)


def asked(state):
    return [action for each in state.get("__interrupt__", ()) for action in each.value["action_requests"]]


def answer(agent, *decisions):
    waiting = [each for task in agent.get_state(THREAD, subgraphs=True).tasks for each in task.interrupts]
    return agent.invoke(Command(resume={waiting[0].id: {"decisions": list(decisions)}}), THREAD)


def test_file_tools_obey():
    steps = [
        call("ls"),
        call("glob", pattern="**/*"),
        call("grep", pattern="word", output_mode="count"),
        call("read_file", file_path="/secrets/key.md"),
        call("write_file", file_path="/secrets/new.md", content="x"),
        call("edit_file", file_path="/secrets/key.md", old_string="word", new_string="x"),
    ]
    final = run(agent_for(*steps, permissions=[rule("deny", "/secrets/**")]))
    *shown, read, written, edited = tool_texts(final)
    assert not any("secrets" in text or "key" in text for text in shown)
    assert "permission denied for read on '/secrets/key.md'" in read
    assert "permission denied for write on '/secrets/new.md'" in written
    assert "permission denied for write on '/secrets/key.md'" in edited
    assert final["files"]["/secrets/key.md"]["content"] == ["word"]


def test_an_agent_without_permissions_has_its_backend_as_it_is():
    backend = StateBackend()
    assert FilesystemMiddleware(backend=backend).files is backend


def test_a_rule_that_asks_pauses_before_the_tool_runs():
    agent = agent_for(
        call("write_file", file_path="/secrets/new.md", content="x"), permissions=[rule("interrupt", "/secrets/**")]
    )
    paused = run(agent)
    assert [action["name"] for action in asked(paused)] == ["write_file"]
    assert "/secrets/new.md" not in paused["files"]
    assert answer(agent, {"type": "approve"})["files"]["/secrets/new.md"]["content"] == ["x"]


def test_other_paths_do_not_ask():
    final = run(
        agent_for(call("write_file", file_path="/open/new.md", content="x"), permissions=[rule("interrupt", "/secrets/**")])
    )
    assert "/open/new.md" in final["files"]


def test_parallel_calls_ask_in_one_question_and_only_for_those_that_need_it():
    both = calls(
        call("write_file", file_path="/secrets/a.md", content="x"),
        call("write_file", file_path="/open/b.md", content="x"),
        call("read_file", file_path="/secrets/key.md"),
    )
    agent = agent_for(both, permissions=[rule("interrupt", "/secrets/**")])
    assert [action["name"] for action in asked(run(agent))] == ["write_file", "read_file"]
    final = answer(agent, {"type": "reject"}, {"type": "approve"})
    assert "/secrets/a.md" not in final["files"]
    assert "/open/b.md" in final["files"]


def test_a_path_that_a_person_edits_is_checked_again():
    permissions = [rule("deny", "/vault/**"), rule("interrupt", "/secrets/**")]
    agent = agent_for(call("write_file", file_path="/secrets/a.md", content="x"), permissions=permissions)
    run(agent)
    edited = {"name": "write_file", "args": {"file_path": "/vault/a.md", "content": "x"}}
    final = answer(agent, {"type": "edit", "edited_action": edited})
    assert "permission denied for write on '/vault/a.md'" in tool_texts(final)[0]
    assert "/vault/a.md" not in final["files"]


def test_rules_that_ask_join_the_callers_own_approvals():
    """A call asks if the caller's `interrupt_on` or a rule wants it to."""
    picky = {"allowed_decisions": ["approve", "reject"], "when": lambda request: "loud" in request.tool_call["args"]["content"]}
    three = calls(
        call("write_file", file_path="/open/a2.md", content="loud"),
        call("write_file", file_path="/secrets/b.md", content="x"),
        call("write_file", file_path="/open/c.md", content="x"),
    )
    agent = agent_for(three, permissions=[rule("interrupt", "/secrets/**")], interrupt_on={"write_file": picky})
    assert [action["args"]["file_path"] for action in asked(run(agent))] == ["/open/a2.md", "/secrets/b.md"]


def test_rules_that_ask_join_approvals_that_the_caller_brings_as_middleware():
    own = HumanInTheLoopMiddleware(interrupt_on={"edit_file": True})
    agent = agent_for(
        call("write_file", file_path="/secrets/b.md", content="x"),
        permissions=[rule("interrupt", "/secrets/**")],
        middleware=[own],
    )
    assert [action["name"] for action in asked(run(agent))] == ["write_file"]
    assert set(own.interrupt_on) == {"edit_file"}


def test_a_stack_without_approvals_cannot_have_rules_that_ask():
    with pytest.raises(ConfigurationError, match="approvals"):
        compile_agent([FilesystemMiddleware(permissions=[rule("interrupt", "/a")])], model=ScriptedModel([say("x")]))


def subagent(**more):
    return {"name": "helper", "description": "helps", "system_prompt": "Help.", **more}


@pytest.mark.parametrize(
    ("name", "options", "is_open"),
    [
        ("general-purpose", {}, False),
        ("helper", {"subagents": [subagent()]}, False),
        ("helper", {"subagents": [subagent(permissions=[])]}, True),
        ("helper", {"subagents": [subagent(permissions=[rule("deny", "/other/**")])]}, True),
    ],
)
def test_a_subagent_inherits_permissions_or_replaces_them(name, options, is_open):
    steps = [
        call("task", description="read", subagent_type=name),
        call("read_file", file_path="/secrets/key.md"),
        say("read it"),
    ]
    model = ScriptedModel([*steps, say("done")])
    agent = create_deep_agent(model, permissions=[rule("deny", "/secrets/**")], checkpointer=InMemorySaver(), **options)
    run(agent)
    seen = next(message.text for asked in model.asked for message in asked.messages if message.type == "tool")
    assert ("permission denied" not in seen) == is_open


def test_a_subagents_bad_permissions_are_refused_when_the_agent_is_built():
    with pytest.raises((ConfigurationError, SubAgentSpecError), match="FilesystemPermission"):
        agent_for(subagents=[subagent(permissions=["/secrets"])])


def test_a_large_result_is_not_written_where_writing_is_denied():
    def fetch() -> str:
        """Fetch."""
        return "x" * 200_000

    for mode in ("deny", "interrupt"):
        final = run(agent_for(call("fetch"), tools=[fetch], permissions=[rule(mode, "/large_tool_results/**")]))
        assert "could not be saved" in tool_texts(final)[0]
        assert not any(path.startswith("/large") for path in final["files"])


def test_the_callers_own_file_tools_get_the_permissions():
    own = FilesystemMiddleware(backend=StateBackend())
    final = run(
        agent_for(call("read_file", file_path="/secrets/key.md"), middleware=[own], permissions=[rule("deny", "/secrets/**")])
    )
    assert "permission denied" in tool_texts(final)[0]


def test_files_on_the_device_are_behind_the_rules():
    """The device is not even asked."""
    agent = agent_for(
        calls(call("read_file", file_path="/device/private/a.md"), call("ls", path="/")),
        middleware=[ClientToolsMiddleware(mount="/device/")],
        permissions=[rule("deny", "/device/private/**")],
    )
    final = run(agent)
    assert "__interrupt__" not in final
    assert "permission denied" in tool_texts(final)[0]


class Delegating:
    """A backend around another, as callers write them."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)


def test_commands_are_refused_where_nobody_knows_whether_they_reach_the_files(tmp_path):
    options = {"middleware": [ShellMiddleware(tmp_path)], "permissions": [rule("deny", "/secrets/**")]}
    unknown = Delegating(FilesystemBackend(tmp_path))
    for backend in (unknown, CompositeBackend(StateBackend(), {"/secrets/": unknown}), lambda runtime: unknown):
        with pytest.raises(ConfigurationError, match="Nobody can say"):
            agent_for(backend=backend, **options)
    for backend in (StateBackend(), CompositeBackend(StateBackend(), {"/elsewhere/": unknown})):
        agent_for(backend=backend, **options)
    agent_for(backend=unknown, middleware=[ShellMiddleware()], permissions=options["permissions"])


def test_commands_without_a_sandbox_are_refused(tmp_path):
    shell = ShellMiddleware(tmp_path, policy="unsandboxed_host")
    with pytest.raises(ConfigurationError, match="sandbox"):
        agent_for(middleware=[shell], permissions=[rule("deny", "/secrets/**")], backend=FilesystemBackend(tmp_path))
    agent_for(middleware=[shell], permissions=[rule("allow", "/secrets/**")], backend=FilesystemBackend(tmp_path))
