"""Names, keywords and calls of deepagents 0.3 mean the same here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.tools import tool
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.store.memory import InMemoryStore

from stepwell import (
    CompositeBackend,
    ConfigurationError,
    FilesystemBackend,
    FilesystemMiddleware,
    StateBackend,
    StoreBackend,
    SubAgentMiddleware,
    create_deep_agent,
)
from stepwell.errors import BackendError
from stepwell.testing import ScriptedModel, call, say

ASK = {"messages": [("user", "go")]}


def runtime_with(**files: str) -> Any:
    state = {
        "files": {
            f"/{name}.md": {"content": text.split("\n"), "created_at": "", "modified_at": ""} for name, text in files.items()
        }
    }
    return ToolRuntime(state=state, context=None, config={}, stream_writer=lambda _: None, tool_call_id="t1", store=None)


def results(final: Any) -> list[Any]:
    return [message for message in final["messages"] if message.type == "tool"]


@pytest.mark.parametrize(
    "backend", [None, StateBackend(), CompositeBackend(StateBackend()), lambda runtime: StateBackend(runtime)]
)
def test_file_tools_can_be_called_with_a_runtime(backend: Any) -> None:
    tools = {each.name: each for each in FilesystemMiddleware(backend=backend).tools}
    runtime = runtime_with(a="one\ntwo")
    assert "/a.md" in tools["ls"].func(runtime=runtime, path="/").content
    assert "two" in tools["read_file"].invoke({"file_path": "/a.md", "runtime": runtime}).content
    update = tools["write_file"].invoke({"file_path": "/b.md", "content": "three", "runtime": runtime}).update
    assert list(update["files"]) == ["/b.md"]


def test_a_running_graphs_own_files_go_before_those_of_a_runtime() -> None:
    model = ScriptedModel([call("write_file", file_path="/a.md", content="x"), call("read_file", file_path="/a.md"), say("ok")])
    assert "x" in results(create_deep_agent(model).invoke(ASK))[1].content


def test_files_update_may_be_merged_by_hand() -> None:
    runtime = runtime_with(a="one two")
    backend = StateBackend(runtime)
    runtime.state["files"].update(backend.write("/b.md", "three").files_update)
    edited = backend.edit("/a.md", "two", "2").files_update
    runtime.state["files"] = {**runtime.state["files"], **(edited or {})}
    assert [backend.read(path).split("\t")[1] for path in ("/a.md", "/b.md")] == ["one 2", "three"]
    assert [row["path"] for row in backend.ls_info("/")] == ["/a.md", "/b.md"]
    assert backend.edit("/b.md", "three", "3").occurrences == 1
    kept = JsonPlusSerializer().loads_typed(JsonPlusSerializer().dumps_typed(edited))
    assert kept == edited, "a checkpoint holds the change alone"
    assert "one" not in str(kept)


@dataclass
class Ran:
    output: str
    exit_code: int | None = None
    truncated: bool = False


class Sandbox(FilesystemBackend):
    def execute(self, command: str) -> Ran:
        return Ran("no such command", 127) if command == "nope" else Ran(f"ran {command}", 0, truncated=command == "long")


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_a_backend_that_runs_commands_brings_the_tool(tmp_path: Path, colour: str) -> None:
    turns = [call("execute", command="date"), call("execute", command="nope"), call("execute", command="long"), say("ok")]
    agent = create_deep_agent(ScriptedModel(turns), backend=Sandbox(tmp_path))
    final = agent.invoke(ASK) if colour == "sync" else await agent.ainvoke(ASK)
    assert [(each.content, each.status) for each in results(final)] == [
        ("ran date", "success"),
        ("no such command\n(exit code 127)", "error"),
        ("ran long\n(the output was cut)", "success"),
    ]
    assert "execute" not in [each.name for each in FilesystemMiddleware(backend=FilesystemBackend(tmp_path)).tools]


class Foreign:
    """A backend as somebody wrote it for deepagents: sync verbs, rows with fewer fields, no `overwrite`."""

    def ls_info(self, path: str) -> Any:
        return [{"path": "/a.md"}, {"path": "/docs/", "is_dir": True}]

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> str:
        return "     1\tone"

    def grep_raw(self, pattern: str, path: str | None = None, glob: str | None = None) -> Any:
        return [{"path": "/a.md", "line": 3, "text": "one"}]

    def glob_info(self, pattern: str, path: str = "/") -> Any:
        return [{"path": "/a.md"}]

    def write(self, file_path: str, content: str) -> Any:
        return type("Result", (), {"error": None, "path": file_path, "files_update": None})()


def test_a_backend_that_was_written_for_deepagents_serves() -> None:
    turns = [
        call("ls", path="/"),
        call("grep", pattern="one"),
        call("glob", pattern="*"),
        call("write_file", file_path="/b", content="x"),
    ]
    found = results(create_deep_agent(ScriptedModel([*turns, say("ok")]), backend=Foreign()).invoke(ASK))  # type: ignore[arg-type]
    assert [each.status for each in found] == ["success"] * 4
    assert "3: one" in found[1].content


def test_a_large_result_goes_to_a_backend_that_was_written_for_deepagents() -> None:
    @tool
    def dump() -> str:
        """Much."""
        return "x" * 100_000

    agent = create_deep_agent(ScriptedModel([call("dump"), say("ok")]), [dump], backend=Foreign())  # type: ignore[arg-type]
    (result,) = results(agent.invoke(ASK))
    assert "The whole is in /large_tool_results/call_1" in result.content


def test_older_keywords_of_the_file_middleware_are_taken() -> None:
    @tool
    def dump() -> str:
        """Much."""
        return "x" * 1_000

    files = FilesystemMiddleware(tool_token_limit_before_evict=100, custom_tool_descriptions={"ls": "Look around."})
    assert next(each.description for each in files.tools if each.name == "ls") == "Look around."
    final = create_deep_agent(ScriptedModel([call("dump"), say("ok")]), [dump], middleware=[files]).invoke(ASK)
    assert list(final["files"]) == ["/large_tool_results/call_1"]
    unlimited = FilesystemMiddleware(tool_token_limit_before_evict=None)
    final = create_deep_agent(ScriptedModel([call("dump"), say("ok")]), [dump], middleware=[unlimited]).invoke(ASK)
    assert not final.get("files")


def test_max_file_size_mb_is_taken(tmp_path: Path) -> None:
    backend = FilesystemBackend(tmp_path, max_file_size_mb=1)
    assert backend.write("/a.md", "x" * 1_048_576).error is None
    assert "at most 1,048,576 fit" in (backend.write("/b.md", "x" * 1_048_577).error or "")


def test_subagents_take_defaults() -> None:
    @tool
    def ping() -> str:
        """Ping."""
        return "pong"

    turns = [call("ping"), say("helped"), call("ping"), say("did all")]
    model = ScriptedModel(turns)
    own = ScriptedModel([say("on my own")])
    helper = {"name": "helper", "description": "helps", "system_prompt": "Help."}
    subagents = SubAgentMiddleware(
        default_model=model,
        default_tools=[ping],
        subagents=[helper, {**helper, "name": "loner", "model": own, "tools": []}],  # type: ignore[typeddict-item, list-item]
        task_description="Delegate to:\n{available_agents}",
    )
    (task,) = subagents.tools
    assert task.description.startswith("Delegate to:\n- general-purpose: ")
    asked = [call("task", description="x", subagent_type=name) for name in ("helper", "general-purpose", "loner")]
    final = create_agent(ScriptedModel([*asked, say("ok")]), middleware=[subagents]).invoke(ASK)
    assert [each.content for each in results(final)] == ["helped", "did all", "on my own"]
    without = SubAgentMiddleware(default_model=model, subagents=[helper], general_purpose_agent=False)  # type: ignore[list-item]
    assert "general-purpose" not in without.tools[0].description


def test_defaults_that_cannot_apply_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="without default_model"):
        SubAgentMiddleware(default_tools=[])
    with pytest.raises(ConfigurationError, match="was given build and default_model"):
        SubAgentMiddleware(default_model=ScriptedModel(), build=lambda spec: create_agent(ScriptedModel()))


@pytest.mark.parametrize("kind", ["disk", "store", "composite"])
async def test_whole_files_are_uploaded_and_downloaded(tmp_path: Path, kind: str) -> None:
    backends: dict[str, Any] = {"disk": FilesystemBackend(tmp_path), "store": StoreBackend(InMemoryStore())}
    backend = CompositeBackend(backends["disk"], {"/kept/": backends["store"]}) if kind == "composite" else backends[kind]
    content = "eins\nzwei ü\n\n".encode()
    sent = backend.upload_files([("/kept/a.md", content), ("/kept/a.md/b", b"x"), ("/kept/c.png", b"\xff"), ("../x", b"x")])
    assert [each.error for each in sent] == [None, "invalid_path", "permission_denied", "invalid_path"]
    assert "cannot be created" in sent[1].message
    got = await backend.adownload_files(["/kept/a.md", "/kept/none.md", "/kept", "../x"])
    assert [(each.content, each.error) for each in got] == [
        (content, None), (None, "file_not_found"), (None, "is_directory"), (None, "invalid_path")
    ]  # fmt: skip
    assert (await backend.aupload_files([("/kept/a.md", b"new")]))[0].error is None
    assert backend.download_files(["/kept/a.md"])[0].content == b"new"


def test_files_in_state_are_downloaded_but_not_uploaded() -> None:
    backend = StateBackend(runtime_with(a="one"))
    assert backend.download_files(["/a.md", "/b.md"])[0].content == b"one"
    with pytest.raises(BackendError, match="in the agent's input"):
        backend.upload_files([("/b.md", b"x")])
