"""`stepwell chat --url` as a process against a server process: what a person types, what a person sees."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from langgraph_sdk import get_sync_client
from tests.integration.served.process import Server, environment, serve
from tests.integration.served.warm import Started, run_warm, start_warm

DEMO = """
from stepwell.research.demo import demo_equipment
from stepwell.research.graph.graph import build_graph

def make_graph():
    return build_graph(demo_equipment())
"""
CHAT = [sys.executable, "-m", "stepwell", "chat"]


def chat(server: Server, *arguments: str, typed: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Type these lines to an assistant of the server."""
    variables = environment(STEPWELL_DATA_DIR=str(server.folder), **variables)
    result = run_warm(["chat", "--url", server.url, *arguments], server.folder, variables, typed=typed)
    assert "Traceback" not in result.stderr, result.stderr
    return result


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One for all tests that leave it running."""
    with serve(tmp_path_factory.mktemp("served")) as running:
        yield running


def thread_of(result: subprocess.CompletedProcess[str]) -> str:
    found = re.search(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", result.stderr)
    assert found, result.stderr
    return found.group()


def test_one_message_is_answered_and_the_thread_is_named(server: Server):
    result = chat(server, "--assistant", "echo", "--once", "hello")
    assert (result.returncode, result.stdout) == (0, "a short answer\n")
    with get_sync_client(url=server.url, api_key=None) as client:
        thread = client.threads.get(thread_of(result))
    assert (thread["status"], thread["metadata"]["title"]) == ("idle", "hello")


def test_plan_approval_tool_and_file_show_as_in_process(server: Server):
    result = chat(server, "--assistant", "worker", typed="go\ny\n/files\n/files /note.md\n/todos\n")
    assert result.returncode == 0
    signs = [
        "[>] Write the note",
        "Run write_file(",
        "← Wrote /note.md",
        "The note is written.",
        "/note.md  4 bytes",
        "\nDig.\n",
    ]
    places = [result.stdout.find(sign) for sign in signs]
    assert -1 not in places, result.stdout
    assert places == sorted(places)
    assert result.stdout.count("→ write_file(") == 1, "a call is shown once, also when it was approved"


def test_a_question_with_choices_is_answered_by_numbers(server: Server):
    result = chat(server, "--assistant", "chooser", typed="go\n1, postgres\n")
    assert "Which databases?\n  1. SQLite\n  2. Postgres\n  3. MySQL\n" in result.stdout
    assert "Chosen: {'selected': ['sq', 'pg']}" in result.stdout


def test_a_research_asks_for_its_plan_in_lines_and_shows_no_sentence_that_was_not_checked(tmp_path: Path):
    question = "Why were stepwells built, and how deep is Rani ki Vav?"
    (tmp_path / "demo.py").write_text(DEMO)
    (tmp_path / "langgraph.json").write_text(json.dumps({"graphs": {"research": "./demo.py:make_graph"}}))
    with serve(tmp_path, graphs=tmp_path / "langgraph.json") as served:
        result = chat(served, "--assistant", "research", typed=f"{question}\nperhaps\nyes\n")
    assert "Plan approval\nplan:\n  objective:" in result.stdout
    assert result.stdout.count("Yes or no will do.") == 2, "the answer that was none is explained"
    assert '"verdict"' not in result.stdout
    assert "paid in salt" not in result.stdout.partition("Not in this report")[0]
    assert "Rani ki Vav" in result.stdout.rpartition("Yes or no will do.")[2]


def test_a_question_with_choices_takes_own_words(server: Server):
    result = chat(server, "--assistant", "chooser", typed="go\nnone of them\n")
    assert "Chosen: {'selected': [], 'freeform': 'none of them'}" in result.stdout


def test_a_question_waits_on_the_server_until_somebody_comes_back(server_process: Server):
    left = chat(server_process, "--assistant", "chooser", "--once", "go")
    assert left.returncode == 1
    assert "there is nobody to answer" in left.stdout
    server_process.restart()
    back = chat(server_process, "--assistant", "chooser", "--thread", thread_of(left), typed="3\n")
    assert "Which databases?" in back.stdout
    assert "Chosen: {'selected': ['my']}" in back.stdout


def test_a_seminar_on_a_server_keeps_its_files_here_and_survives_a_kill(server_process: Server, tmp_path: Path):
    """T8: the folder carries out what the server asks, claims it, and nothing is lost when the server is killed in between."""
    variables = environment(STEPWELL_DATA_DIR=str(server_process.folder))
    project = ["chat", "tutor", "--url", server_process.url, "--project", str(tmp_path)]
    typed = "Should cities ban cars?\ny\nCities should ban cars.\n"
    begun = run_warm(project, server_process.folder, variables, typed=typed)
    assert "How sure are you of your claim" in begun.stdout, begun.stderr
    assert f"--thread {thread_of(begun)} --project {tmp_path}" in begun.stderr
    server_process.signal(signal.SIGKILL)
    server_process.wait()
    server_process.start()
    typed = "70\n"
    back = run_warm([*project, "--thread", thread_of(begun)], server_process.folder, variables, typed=typed)
    assert "Next: words." in back.stdout, back.stderr
    kept = json.loads((tmp_path / "tutor" / "argument.json").read_text())
    assert (kept["phase"], kept["nodes"]["t1"]["confidence"]) == ("define", 70)
    assert [move["move"] for move in kept["moves"]].count("propose") == 1


def test_threads_are_listed_opened_and_begun(server: Server):
    first = thread_of(chat(server, "--assistant", "echo", "--once", "the first"))
    typed = f"the second\n/threads\n/thread {first}\n/new\n/threads\n/thread\n"
    result = chat(server, "--assistant", "echo", typed=typed)
    assert re.search(rf"{first}\s+idle .* the first", result.stdout)
    assert result.stdout.count("a short answer") == 2, "the opened thread shows its last answer"
    assert re.search(r"Thread [0-9a-f-]{36}\n", result.stdout)


def test_what_is_not_there_is_named(server: Server):
    unknown = chat(server, "--assistant", "nobody", "--once", "hi")
    assert unknown.returncode == 2
    assert "No assistant 'nobody'" in unknown.stderr
    assert "echo" in unknown.stderr
    lost = chat(server, "--thread", "00000000-0000-4000-8000-000000000000", typed="")
    assert lost.returncode == 2
    assert "No thread '00000000" in lost.stderr
    assert chat(server, "--thread", "mine", typed="").stderr == "No thread 'mine'. List them with /threads in a chat.\n"


def test_an_assistant_is_found_by_its_name_and_a_thread_goes_on_with_its_own(server: Server):
    with get_sync_client(url=server.url) as client:
        client.assistants.create("chooser", name="The one who asks")
    left = chat(server, "--assistant", "The one who asks", typed="go\n")
    assert "The one who asks at " in left.stdout
    assert "there is nobody to answer" in left.stdout
    assert left.returncode == 1
    assert re.search(rf"Continue with: \S*stepwell chat --url {server.url} --thread {thread_of(left)}\n", left.stderr)
    back = chat(server, "--thread", thread_of(left), typed="3\n")
    assert "The one who asks at " in back.stdout
    assert "Chosen: {'selected': ['my']}" in back.stdout


def test_a_turn_that_fails_is_said_and_the_conversation_goes_on(server: Server):
    result = chat(server, "--assistant", "fails", typed="one\n/thread\n")
    assert "The turn failed: ConnectionError" in result.stdout
    assert re.search(r"Thread [0-9a-f-]{36}\n", result.stdout)


def test_without_a_server_one_sentence_says_so(tmp_path: Path):
    command = [*CHAT, "--url", "http://127.0.0.1:9", "--once", "hi"]
    result = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (2, "")
    assert re.match(r"No server answers at http://127\.0\.0\.1:9\. Start one with `\S*stepwell serve`", result.stderr)


def test_options_of_an_agent_in_process_are_refused_for_a_server(tmp_path: Path):
    command = [*CHAT, "--url", "--model", "ollama:x"]
    result = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60)
    assert result.returncode == 2
    assert "has its own model" in result.stderr


def test_a_key_is_asked_for_and_taken_from_the_environment(tmp_path: Path):
    data = environment(STEPWELL_DATA_DIR=str(tmp_path / "data"))
    made = run_warm(["keys", "create", "--user", "ada"], tmp_path, data)
    key = made.stdout.strip()
    with serve(tmp_path, STEPWELL_AUTH="required") as server:
        me = json.load(urllib.request.urlopen(f"{server.url}/api/me", timeout=60))
        assert (me["asks_who"], me["signed_in"]) == (True, False)
        without = chat(server, "--assistant", "echo", "--once", "hi")
        assert without.returncode == 2
        assert "STEPWELL_API_KEY" in without.stderr
        assert chat(server, "--assistant", "echo", "--once", "hi", STEPWELL_API_KEY=key).stdout == "a short answer\n"
        wrong = chat(server, "--assistant", "echo", "--once", "hi", STEPWELL_API_KEY="sw_wrong_key")
        assert wrong.returncode == 2
        assert "sw_wrong_key" not in wrong.stdout + wrong.stderr


class Screen:
    """A chat on a terminal of its own."""

    def __init__(self, process: Started, terminal: int) -> None:
        self.process = process
        self._terminal = terminal
        self.text = ""

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def wait_for(self, sign: str, *, times: int = 1, within_s: float = 60) -> None:
        deadline = time.monotonic() + within_s
        while self.text.count(sign) < times:
            assert time.monotonic() < deadline, f"no '{sign}' within {within_s:g} s:\n{self.text}"
            if select.select([self._terminal], [], [], 0.1)[0]:
                self.text += os.read(self._terminal, 65536).decode(errors="replace")


@contextmanager
def on_a_terminal(server: Server, *arguments: str) -> Iterator[Screen]:
    outer, inner = pty.openpty()
    terminal = Path(os.ttyname(inner))
    variables = environment(TERM="dumb", STEPWELL_DATA_DIR=str(server.folder))
    command = ["chat", "--url", server.url, *arguments]
    process = start_warm(command, server.folder, variables, given=terminal, out=terminal, err=terminal)
    try:
        yield Screen(process, outer)
    finally:
        process.kill()
        os.close(inner)
        os.close(outer)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_ctrl_c_cancels_the_run_on_the_server_and_the_conversation_goes_on(server_process: Server):
    watching = get_sync_client(url=server_process.url, api_key=None)
    with watching as client, on_a_terminal(server_process, "--assistant", "long_answer") as screen:
        screen.wait_for("you> ")
        screen.type("slowly\n")
        screen.wait_for("word9 ")
        screen.process.send_signal(signal.SIGINT)
        screen.wait_for("(stopped)")
        [thread] = client.threads.search()
        [run] = client.runs.list(thread["thread_id"])
        assert run["status"] not in ("pending", "running", "success")
        assert "word199" not in screen.text
        screen.type("/quit\n")
        assert screen.process.wait(60) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_what_is_typed_during_a_turn_is_sent_and_a_line_so_far_is_kept(server_process: Server):
    """The graph reads no messages while it works, so the message is its next turn."""
    with on_a_terminal(server_process, "--assistant", "long_answer") as screen:
        screen.wait_for("you> ")
        screen.type("slowly\n")
        screen.wait_for("word9 ")
        screen.type("once more\n")
        screen.wait_for("to the agent> once more")
        screen.wait_for("word9 ", times=2)
        screen.type("/qui")
        screen.wait_for("you> /qui")
        assert screen.text.count("word199") == 2
        screen.type("t\n")
        assert screen.process.wait(60) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_turn_survives_a_server_that_dies_and_one_that_stops(server_process: Server, how: str):
    """The chat comes back by itself with the last event it saw; a run that was begun again is said to be."""
    with on_a_terminal(server_process, "--assistant", "long_answer") as screen:
        screen.wait_for("you> ")
        screen.type("go\n")
        screen.wait_for("word9 ")
        server_process.kill() if how == "kill" else server_process.stop()
        screen.wait_for(f"(Lost the connection to {server_process.url}; your messages are stored there. Reconnecting;")
        server_process.start()
        screen.wait_for("(Reconnected.)")
        screen.wait_for("word199")
        screen.wait_for("you> ", times=2)
        assert ("restarted this turn" in screen.text) == (how == "kill")
        assert screen.text.count("word199") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_a_turn_without_an_outage_says_nothing_of_connections(server: Server):
    result = chat(server, "--assistant", "worker", typed="go\ny\nand again\n")
    assert "onnect" not in result.stdout
