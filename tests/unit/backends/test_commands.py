"""P6: commands of a tree run in its default backend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from stepwell import (
    CompositeBackend,
    ConfigurationError,
    ExecuteResponse,
    FilesystemBackend,
    FilesystemMiddleware,
    SandboxBackendProtocol,
    StateBackend,
    StoreBackend,
    create_deep_agent,
)
from stepwell.errors import BackendError
from stepwell.testing import ScriptedModel, call, say

ASK = {"messages": [("user", "go")]}


class Sandbox(SandboxBackendProtocol, StoreBackend):
    """As people write one: only the sync form, with the protocol as first base."""

    @property
    def id(self) -> str:
        return "box"

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        return ExecuteResponse(f"ran {command} for {timeout}", 0)


class OlderSandbox(StoreBackend):
    def execute(self, command: str) -> ExecuteResponse:
        return ExecuteResponse(f"ran {command}", 3, truncated=True)


class AsyncSandbox(StoreBackend):
    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:  # noqa: ASYNC109  # as in the protocol
        return ExecuteResponse(f"ran {command} later")


def tools_of(backend: Any, **options: Any) -> dict[str, Any]:
    return {tool.name: tool for tool in FilesystemMiddleware(backend=backend, **options).tools}


def answers(final: dict[str, Any]) -> list[tuple[str, str]]:
    return [(message.text, message.status) for message in final["messages"] if message.type == "tool"]


@pytest.mark.parametrize("form", ["sync", "async"])
@pytest.mark.parametrize(
    ("sandbox", "said"),
    [
        (Sandbox, "ran date for None"),
        (OlderSandbox, "ran date\n(exit code 3)\n(the output was cut)"),
        (AsyncSandbox, "ran date later"),
    ],
)
async def test_a_composite_runs_commands_in_its_default(form: str, sandbox: type[StoreBackend], said: str) -> None:
    inner = CompositeBackend(sandbox(InMemoryStore()), {"/notes/": StateBackend()})
    tree = CompositeBackend(inner, {"/memories/": StoreBackend(InMemoryStore())})
    agent = create_deep_agent(ScriptedModel([call("execute", command="date"), say("ok")]), backend=tree)
    final = agent.invoke(ASK) if form == "sync" else await agent.ainvoke(ASK)
    assert [text for text, _ in answers(final)] == [said]


def test_files_of_a_sandbox_work_though_the_protocol_is_its_first_base() -> None:
    sandbox = Sandbox(InMemoryStore())
    assert isinstance(sandbox, SandboxBackendProtocol)
    assert sandbox.write("/a.md", "one").path == "/a.md"
    assert sandbox.read("/a.md").endswith("one")


def test_only_the_default_runs_commands(tmp_path: Path) -> None:
    tree = CompositeBackend(StateBackend(), {"/box/": Sandbox(InMemoryStore())})
    assert "execute" not in tools_of(tree)
    assert "execute" not in tools_of(CompositeBackend(FilesystemBackend(tmp_path)))
    assert "execute" not in tools_of(lambda runtime: Sandbox(InMemoryStore()))
    assert "execute" not in tools_of(CompositeBackend(lambda runtime: Sandbox(InMemoryStore())))
    with pytest.raises(BackendError, match="StateBackend does not run commands"):
        tree.execute("date")


def test_the_model_is_told_what_commands_cannot_see() -> None:
    alone = tools_of(Sandbox(InMemoryStore()))["execute"].description
    mounted = tools_of(CompositeBackend(Sandbox(InMemoryStore()), {"/memories/": StateBackend()}))["execute"].description
    assert alone == "Run a shell command where the files are."
    assert "cannot see /memories/" in mounted


@pytest.mark.parametrize("form", ["sync", "async"])
async def test_a_timeout_is_passed_on_within_its_bound(form: str) -> None:
    turns = [call("execute", command="a", timeout=each) for each in (60, 61, 0)]
    files = FilesystemMiddleware(backend=CompositeBackend(Sandbox(InMemoryStore())), max_execute_timeout=60)
    agent = create_deep_agent(ScriptedModel([*turns, say("ok")]), middleware=[files])
    final = agent.invoke(ASK) if form == "sync" else await agent.ainvoke(ASK)
    assert answers(final) == [
        ("ran a for 60", "success"),
        ("Error: a timeout of 61 seconds is not possible. Choose one from 1 to 60.", "error"),
        ("Error: a timeout of 0 seconds is not possible. Choose one from 1 to 60.", "error"),
    ]


def test_a_timeout_is_offered_only_if_the_sandbox_takes_one() -> None:
    assert "timeout" in tools_of(CompositeBackend(Sandbox(InMemoryStore())))["execute"].args
    assert "timeout" not in tools_of(CompositeBackend(OlderSandbox(InMemoryStore())))["execute"].args
    with pytest.raises(ConfigurationError, match="max_execute_timeout is 0"):
        FilesystemMiddleware(max_execute_timeout=0)
