"""No path of the host in what is shown of an error: to a model, to a client, in the steps of a run."""

from __future__ import annotations

import errno
import shutil
import subprocess
from pathlib import Path

import pytest
from langchain_core.tools import ToolException, tool

from stepwell import create_deep_agent
from stepwell.secrets.errors import words_of
from stepwell.testing import ScriptedModel, call, say
from stepwell.tools.effects import with_effect
from stepwell.workspace.places import InFolder

HERE = "/srv/private/data"


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (FileExistsError(errno.EEXIST, "File exists", f"{HERE}/a"), "File exists"),
        (PermissionError(errno.EACCES, "Permission denied", f"{HERE}/a", None, f"{HERE}/b"), "Permission denied"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", f"{HERE}/a".encode()), "No such file or directory"),
        (OSError(errno.ENOSPC, f"No space left for {HERE}/a", f"{HERE}/a"), "No space left on device"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), "Connection refused"),
        (shutil.Error([(f"{HERE}/a", f"{HERE}/b", "[Errno 13] Permission denied")]), "some files could not be copied or moved"),
        (shutil.SameFileError(f"'{HERE}/a' and '{HERE}/a' are the same file"), "some files could not be copied or moved"),
        (TimeoutError("The run worked for too long."), "The run worked for too long."),
        (ValueError("7 is too many"), "7 is too many"),
        (ValueError("half \ud83d"), "half ?"),
    ],
)
def test_an_error_of_the_system_says_what_it_means_and_not_where(error: BaseException, shown: str):
    assert words_of(error) == shown


def test_a_path_that_somebody_repeats_from_an_error_is_taken_out():
    def fail() -> None:
        try:
            Path(f"{HERE}/deep/a.txt").read_text()
        except OSError as error:
            raise ToolException(f"Cannot read: {error}") from error

    with pytest.raises(ToolException) as raised:
        fail()
    assert words_of(raised.value) == "Cannot read: [Errno 2] No such file or directory: 'a.txt'"


def test_an_error_within_a_group_gives_no_path_away():
    group = ExceptionGroup("unhandled", [FileNotFoundError(errno.ENOENT, "No such file or directory", f"{HERE}/server")])
    assert HERE not in words_of(group)


def failing_tool(tmp_path: Path, kind: str):
    @tool
    def work() -> str:
        """Work."""
        place = tmp_path / "private" / "a.txt"
        match kind:
            case "open":
                place.read_text()
            case "mkdir":
                tmp_path.mkdir()
            case "start":
                subprocess.run([place], check=True)
            case "move":
                shutil.move(place, tmp_path / "b")
        return "done"

    return work


@pytest.mark.parametrize("kind", ["open", "mkdir", "start", "move"])
def test_a_tool_that_fails_on_the_system_tells_the_model_no_path(tmp_path: Path, kind: str):
    agent = create_deep_agent(ScriptedModel([call("work"), say("ok")]), [failing_tool(tmp_path, kind)])
    (result,) = [message for message in agent.invoke({"messages": ["go"]})["messages"] if message.type == "tool"]
    assert result.status == "error"
    assert str(tmp_path) not in result.content
    assert "private" not in result.content
    assert "File exists" in result.content if kind == "mkdir" else "No such file" in result.content


def test_a_tool_that_acts_once_tells_the_model_no_path(tmp_path: Path):
    agent = create_deep_agent(ScriptedModel([call("work"), say("ok")]), [with_effect("once")(failing_tool(tmp_path, "open"))])
    (result,) = [message for message in agent.invoke({"messages": ["go"]})["messages"] if message.type == "tool"]
    assert str(tmp_path) not in result.content


def test_a_subagent_that_fails_on_the_system_tells_no_path(tmp_path: Path):
    def broken(asked):
        (tmp_path / "weights").read_text()

    helper = {"name": "helper", "description": "Helps.", "system_prompt": "Help.", "model": ScriptedModel.answering(broken)}
    model = ScriptedModel([call("task", description="x", subagent_type="helper"), say("ok")])
    agent = create_deep_agent(model, subagents=[helper])
    (result,) = [message for message in agent.invoke({"messages": ["go"]})["messages"] if message.type == "tool"]
    assert "No such file" in result.content
    assert str(tmp_path) not in result.content


def test_a_workspace_whose_folder_cannot_be_made_says_so_without_its_place(tmp_path: Path):
    (tmp_path / "company").write_text("a file stands in the way")
    backend = InFolder(tmp_path).at("/company/workspace/")
    results = [
        backend.read("/a.txt"),
        backend.ls_info("/").error,
        backend.grep_raw("x", "/"),
        backend.glob_info("**").error,
        backend.write("/a.txt", "x").error,
        backend.edit("/a.txt", "x", "y").error,
        backend.read_whole("/a.txt"),
    ]
    for told in results:
        assert str(told).startswith("Error")
        assert str(tmp_path) not in str(told)
