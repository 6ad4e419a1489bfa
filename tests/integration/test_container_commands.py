"""Commands in containers. The real engine is used where there is one. Elsewhere a stand-in program shows what the engine is asked for, and
runs commands in the mounted folder; and the real client, without its engine, is refused with a sentence."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from stepwell import ConfigurationError, ContainerBackend, FilesystemPermission, create_deep_agent
from stepwell.testing import ScriptedModel, call, say

STAND_IN = """#!/bin/sh
# Answers as docker's program does, and notes what it was asked.
echo "$@" >> "{notes}"
case "$1" in
  version) exit {version} ;;
  image) [ "$3" = "python:3.12-slim" ]; exit ;;
  kill) touch "{killed}"; exit 0 ;;
esac
for argument in "$@"; do
  case "$argument" in
    --volume=*) folder=$(echo "${{argument#--volume=}}" | cut -d: -f1) ;;
  esac
  last=$argument
done
cd "$folder" || exit 125
[ "$last" = "fail to start" ] && {{ echo "no space"; exit 125; }}
exec sh -c "$last"
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a stand-in for docker, first on the path."""
    return install(tmp_path, monkeypatch)


def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int = 0) -> Path:
    place = tmp_path / "bin"
    place.mkdir()
    program = place / "docker"
    program.write_text(STAND_IN.format(notes=place / "asked", killed=place / "killed", version=version))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}{os.pathsep}{os.environ['PATH']}")
    return place


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def test_a_command_sees_the_files_and_its_files_are_seen(engine: Path, folder: Path):
    backend = ContainerBackend(folder)
    backend.write("/numbers.txt", "3\n1\n2\n")
    assert backend.execute("sort numbers.txt > sorted.txt; cat sorted.txt").output == "1\n2\n3"
    assert "1\n" in backend.read("/sorted.txt")
    failed = asyncio.run(backend.aexecute("echo before; exit 3"))
    assert (failed.output, failed.exit_code, failed.truncated) == ("before", 3, False)


def test_the_engine_is_asked_for_a_container_without_rights(engine: Path, folder: Path):
    backend = ContainerBackend(folder, env={"STAGE": "secret value"}, memory="256m", cpus=0.5, processes=32)
    assert backend.execute("echo $STAGE", timeout=7).output == "secret value"
    asked = (engine / "asked").read_text().splitlines()[-1]
    for option in (
        "--rm", "--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--pids-limit=32",
        "--memory=256m", "--memory-swap=256m", "--cpus=0.5", "--pull=never", f"--user={os.getuid()}:{os.getgid()}",
        f"--volume={folder}:/workspace", "--workdir=/workspace", "--env STAGE", "timeout -s KILL 7 sh -c echo $STAGE",
    ):  # fmt: skip
        assert f" {option}" in asked, option
    assert "secret value" not in asked, "values are not on the command line, which other users of the machine can read"
    assert "--network" not in " ".join(ContainerBackend(folder, network=True)._options("x"))


def test_long_output_keeps_its_beginning_and_its_end(engine: Path, folder: Path):
    done = ContainerBackend(folder, max_output_bytes=100).execute("seq 1 10000")
    assert done.truncated
    assert done.output.startswith("1\n2\n")
    assert done.output.endswith("9999\n10000")
    assert len(done.output) < 200


def test_a_command_out_of_time_is_ended_from_outside(engine: Path, folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("stepwell.backends.container._GRACE_S", 0)
    done = ContainerBackend(folder).execute("echo begun; exec sleep 600", timeout=1)
    assert (done.exit_code, done.output.splitlines()[0]) == (137, "begun")
    assert "[ended after 1 s" in done.output
    assert (engine / "killed").exists()


def test_a_container_that_cannot_start_is_told_apart_from_a_command_that_fails(engine: Path, folder: Path):
    done = ContainerBackend(folder).execute("fail to start")
    assert done.output == "The command did not run: the container could not be started. no space"


def test_an_agent_has_the_tool_and_is_told_where_it_is(engine: Path, folder: Path):
    model = ScriptedModel([
        call("write_file", file_path="/a.txt", content="one"),
        call("execute", command="cat a.txt"),
        say("Done."),
    ])  # fmt: skip
    agent = create_deep_agent(model, backend=ContainerBackend(folder))
    final = agent.invoke({"messages": [("user", "go")]})
    assert final["messages"][-2].text == "one"
    told = json.dumps(model.asked[0].tool_schemas)
    assert "Commands start in /workspace, which is / of the file tools" in told


def test_rules_that_a_command_could_pass_by_are_refused_when_the_agent_is_built(engine: Path, folder: Path):
    rules = [FilesystemPermission(operations=["read"], paths=["/secret/**"], mode="deny")]
    with pytest.raises(ConfigurationError):
        create_deep_agent(ScriptedModel([say("x")]), backend=ContainerBackend(folder), permissions=rules)


def test_an_engine_that_does_not_answer_is_refused(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch):
    install(tmp_path, monkeypatch, version=1)
    with pytest.raises(ConfigurationError, match=r"its engine does not answer. Start it .* or use ShellMiddleware"):
        ContainerBackend(folder)


def test_a_missing_image_is_refused_with_the_command_that_fetches_it(engine: Path, folder: Path):
    with pytest.raises(
        ConfigurationError, match=r"'other:1' for commands is not on this machine. Fetch it first: docker pull other:1"
    ):
        ContainerBackend(folder, image="other:1")
    with pytest.raises(ConfigurationError, match="is not on this machine"):
        ContainerBackend(folder, image="--privileged")


@pytest.mark.parametrize("options", [{"engine": "bash"}, {"engine": "podman"}, {"env": {"A=B": "c"}}])
def test_what_cannot_be_used_is_refused(engine: Path, folder: Path, options: dict, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(engine))
    with pytest.raises(ConfigurationError):
        ContainerBackend(folder, **options)


def has_engine() -> bool:
    return bool(shutil.which("docker")) and subprocess.run(["docker", "version"], capture_output=True).returncode == 0


@pytest.mark.skipif(not shutil.which("docker") or has_engine(), reason="docker runs here, or is not installed")
def test_the_real_client_without_its_engine_is_refused(folder: Path):
    with pytest.raises(ConfigurationError, match="its engine does not answer"):
        ContainerBackend(folder)


@pytest.mark.skipif(not has_engine(), reason="no container engine runs here")
def test_in_a_real_container_there_is_no_network_and_nothing_of_the_host(folder: Path):
    subprocess.run(["docker", "pull", "-q", "python:3.12-slim"], check=True)
    backend = ContainerBackend(folder)
    backend.write("/a.txt", "one")
    assert backend.execute("cat a.txt && echo two > b.txt").output == "one"
    assert (folder / "b.txt").stat().st_uid == os.getuid()
    assert backend.execute("touch /usr/x").exit_code != 0
    assert backend.execute("python -c \"import socket; socket.create_connection(('1.1.1.1', 53), 5)\"").exit_code != 0
    assert backend.execute("sleep 60", timeout=1).exit_code == 137
