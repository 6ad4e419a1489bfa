"""`stepwell serve --reload`: edited code is served at the same address, and a run that was under way goes on."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from langgraph_sdk import get_sync_client
from tests.integration.clients.processes import Lines, started
from tests.support.waiting import wait_until

from stepwell.cli.reload import look
from stepwell.errors import ConfigurationError

GRAPH = """
import time
from pathlib import Path
from typing import TypedDict
from langgraph.graph import END, START, StateGraph
from words import WORD

class State(TypedDict, total=False):
    hold: str
    said: str

def wait(state: State) -> dict:
    while state.get("hold") and Path(state["hold"]).exists():
        time.sleep(0.05)
    return {}

def answer(state: State) -> dict:
    return {"said": WORD}

graph = StateGraph(State).add_node(wait).add_node(answer).add_edge(START, "wait").add_edge("wait", "answer").compile()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "graph.py").write_text(GRAPH)
    (folder / "words.py").write_text("WORD = 'one'\n")
    (folder / "langgraph.json").write_text('{"graphs": {"agent": "./graph.py:graph"}}')
    return folder


def reloading(project: Path):
    command = [sys.executable, "-m", "stepwell", "serve", "--reload", "--port", "0", "--graphs", "langgraph.json"]
    return started(command, project, {"STEPWELL_DATA_DIR": str(project.parent / "data")})


def url_in(lines: Lines) -> str:
    return lines.wait_for("Serving at ").removeprefix("Serving at ").strip()


def times_served(lines: Lines, number: int) -> Callable[[], bool]:
    return lambda: lines.text.count("Serving at ") >= number


def test_changed_code_is_served_at_the_same_address_and_a_run_under_way_goes_on(project: Path, tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    hold.touch()
    with reloading(project) as lines:
        url = url_in(lines)
        with get_sync_client(url=url, api_key=None) as client:
            assert client.runs.wait(None, "agent", input={})["said"] == "one"
            thread_id = client.threads.create()["thread_id"]
            run = client.runs.create(thread_id, "agent", input={"hold": str(hold)})
            wait_until(lambda: client.runs.get(thread_id, run["run_id"])["status"] == "running", "the run works")
            (project / "words.py").write_text("WORD = 'another'\n")
            lines.wait_for("Changed: words.py. Starting again.")
            wait_until(times_served(lines, 2), "a second server")
            hold.unlink()
            assert lines.text.count(url) >= 2, "the address stays, although a free port was asked for"
            assert client.runs.join(thread_id, run["run_id"])["said"] == "another"
            assert client.runs.wait(None, "agent", input={})["said"] == "another"


def test_a_mistake_is_told_and_its_correction_served(project: Path) -> None:
    with reloading(project) as lines:
        url = url_in(lines)
        (project / "words.py").write_text("WORD = 'two\n")
        lines.wait_for("The server has stopped. It starts again when a file changes")
        assert "SyntaxError in line 1 of 'words.py'" in lines.text
        (project / "words.py").write_text("WORD = 'three'\n")
        # The port is held all the time: this request waits for the next server instead of being refused.
        asked = httpx.post(f"{url}/runs/wait", json={"assistant_id": "agent", "input": {}}, timeout=120)
        assert asked.json()["said"] == "three"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_both_processes(project: Path, number: int) -> None:
    with reloading(project) as lines:
        url = url_in(lines)
        os.kill(lines._process.pid, number)
        assert lines._process.wait(timeout=120) == 0
        assert lines.text.rstrip().endswith("Stopped.")
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/ok", timeout=60)


def test_the_server_does_not_outlive_a_killed_parent(project: Path) -> None:
    with reloading(project) as lines:
        url = url_in(lines)
        lines._process.kill()

    def gone() -> bool:
        try:
            httpx.get(f"{url}/ok", timeout=60)
        except httpx.TransportError:
            return True
        return False

    wait_until(gone, "the server is gone")


def test_only_code_and_configuration_of_the_project_is_watched(tmp_path: Path) -> None:
    for name in (
        "agent.py",
        "deep/tool.py",
        "langgraph.json",
        ".env",
        "notes.md",
        "data.db",
        ".venv/lib/x.py",
        "env/pyvenv.cfg",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for name in ("env/y.py", "node_modules/z.py", "__pycache__/agent.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    seen = {str(path.relative_to(tmp_path)) for path in look([tmp_path, tmp_path / "gone"])}
    assert seen == {"agent.py", "deep/tool.py", "langgraph.json", ".env"}


def test_a_folder_with_too_much_code_is_refused(tmp_path: Path) -> None:
    for number in range(10_001):
        (tmp_path / f"m{number}.py").touch()
    with pytest.raises(ConfigurationError, match=r"more than 10000 Python files below .* without --reload"):
        look([tmp_path])


def test_a_port_in_use_is_told_once(project: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = [sys.executable, "-m", "stepwell", "serve", "--reload", "--port", str(taken.getsockname()[1])]
        done = subprocess.run(
            [*command, "--graphs", "langgraph.json"], cwd=project, capture_output=True, text=True, timeout=120
        )
    assert done.returncode == 2
    assert "in use" in done.stderr
