"""D16: the research example, from the command line and as a graph for LangGraph Studio."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from stepwell import ConfigurationError, ToolUseError
from stepwell.settings import PROVIDER_VARIABLES
from stepwell.testing import ScriptedModel, call, calls, each_run, expect, fail, reply, say

ROOT = Path(__file__).parents[2]
RESEARCH = ROOT / "examples" / "research"
PARTS = ("history", "water")
MODEL_VARIABLES = [
    *(key for keys, _ in PROVIDER_VARIABLES.values() for key in keys),
    *("STEPWELL_MODEL", "STEPWELL_MODEL_PROVIDER", "DEEPAGENTS_MODEL_PROVIDER", "OLLAMA_MODEL_NAME", "LM_STUDIO_MODEL_NAME"),
]


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No model, no search key, no `.env`."""
    for name in [*MODEL_VARIABLES, "TAVILY_API_KEY"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run_local(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The script as a module; its neighbour is found as it is when the script is started."""
    monkeypatch.syspath_prepend(str(RESEARCH))
    yield load(RESEARCH / "run_local.py")
    sys.modules.pop("research_agent", None)


def load(path: Path) -> ModuleType:
    """Import a file by its path, which is also how LangGraph's server does it."""
    spec = importlib.util.spec_from_file_location(f"loaded_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def researchers(*, after_search: str) -> Any:
    """Two researchers who both wait, at their first turn, until the other one works too."""
    both = threading.Barrier(len(PARTS), timeout=60)

    def turn(asked: Any) -> Any:
        part = asked.first_human
        if asked.turn == 0:
            both.wait()
            return call("internet_search", query=f"stepwells {part}")
        if asked.turn == 1:
            asked.assert_mentions(after_search)
            return call("write_file", file_path=f"/findings/{part}.md", content=f"About {part}.")
        return say(f"See /findings/{part}.md")

    return each_run([reply(turn)] * 3)


def editor() -> list[Any]:
    """The main agent: research side by side, a report, a critique, an improvement."""
    return [
        calls(*(call("task", description=part, subagent_type="researcher") for part in PARTS)),
        expect(
            lambda asked: [result.text for result in asked.results] == [f"See /findings/{part}.md" for part in PARTS],
            then=call("write_file", file_path="/final_report.md", content="# Stepwells\n\nA draft, written without the web."),
        ),
        call("task", description="Read it.", subagent_type="critic"),
        expect(
            lambda asked: "'draft' is a promise" in asked.results[0].text,
            then=call("edit_file", file_path="/final_report.md", old_string="A draft, written", new_string="Written"),
        ),
        say("Stairs down to the water. See /final_report.md."),
    ]


def critic() -> list[Any]:
    return [
        call("read_file", file_path="/final_report.md"),
        expect(lambda asked: asked.assert_mentions("# Stepwells"), then=say("1. 'draft' is a promise; leave it out.")),
    ]


def test_researchers_report_critique_and_a_file_on_disk(
    run_local: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """D16: without a search key the work goes on, and says so."""
    scripts = {"research": editor(), "researcher": researchers(after_search="not configured"), "critic": critic()}
    model = ScriptedModel.by_agent(scripts)
    assert run_local.main(["What is a stepwell?", "--out", "out"], model=model) == 0
    model.assert_finished()
    saved = {path.relative_to(tmp_path).as_posix(): path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert saved == {
        "out/question.txt": "What is a stepwell?",
        "out/final_report.md": "# Stepwells\n\nWritten without the web.",
        "out/findings/history.md": "About history.",
        "out/findings/water.md": "About water.",
    }
    screen = capsys.readouterr().out
    for sign in ("No TAVILY_API_KEY", "researcher <- water", "internet_search: stepwells history", "edit_file", "Stairs down"):
        assert sign in screen
    assert screen.count("task: critic") == 1


def test_a_run_that_fails_keeps_what_was_written(run_local: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    notes = call("write_file", file_path="/notes.md", content="so far")
    model = ScriptedModel([notes, fail(ConnectionError("the provider is gone"))])
    assert run_local.main(["Why?"], model=model) == 1
    assert (tmp_path / "research" / "notes.md").read_text() == "so far"
    assert "The research failed: ConnectionError: the provider is gone" in capsys.readouterr().err


def test_no_report_is_a_failure(run_local: ModuleType, capsys: pytest.CaptureFixture[str]):
    assert run_local.main(["Why?"], model=ScriptedModel([say("Because.")])) == 1
    shown = capsys.readouterr()
    assert "Because." in shown.out
    assert "wrote no /final_report.md" in shown.err


@pytest.mark.parametrize(
    ("more", "sentence"), [([], "No model is configured."), (["--model", "nowhere:big"], "Unknown model provider 'nowhere'")]
)
def test_without_a_usable_model_the_script_ends_with_one_sentence(more: list[str], sentence: str, tmp_path: Path):
    command = [sys.executable, str(RESEARCH / "run_local.py"), "Why?", *more]
    result = subprocess.run(command, cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith(sentence)
    assert list(tmp_path.iterdir()) == []


class Tavily(BaseHTTPRequestHandler):
    """The search service as far as the example knows it; the query says how it behaves."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != "Bearer right":
            self._answer(401, {})
        elif asked["query"] == "limit":
            self._answer(432, {})
        elif asked["query"] == "garbage":
            self._answer(200, ["?"])
        elif asked["query"] == "nothing":
            self._answer(200, {"results": []})
        else:
            row = {"title": asked["query"], "url": "https://example.org/a", "content": "x" * 9000, "score": 0.9}
            self._answer(200, {"results": [row] * asked["max_results"]})

    def _answer(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Silent."""


@pytest.fixture(scope="module")
def tavily() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Tavily) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/search"
        server.shutdown()
        thread.join()


def search(url: str, query: str, *, key: str | None = "right", **options: Any) -> str:
    return load(RESEARCH / "research_agent.py").search_tool(key, url)(query, **options)


def test_search_shows_title_address_and_a_bounded_excerpt(tavily: str):
    shown = search(tavily, "stepwells", max_results=99)
    assert shown.count("stepwells\nhttps://example.org/a\nxxx") == 10
    assert len(shown) < 10 * 2_100


def test_search_without_a_key_asks_nobody():
    shown = search("http://127.0.0.1:1/", "stepwells", key=None)
    assert "TAVILY_API_KEY" in shown
    assert "Go on with what you know" in shown


def test_nothing_found_is_not_a_failure(tavily: str):
    assert search(tavily, "nothing").startswith("No results")


@pytest.mark.parametrize(
    ("query", "key", "told"),
    [("x", "wrong", "key is not valid"), ("limit", "right", "limit is reached"), ("garbage", "right", "search failed")],
)
def test_a_failed_search_is_told_as_a_failure(tavily: str, query: str, key: str, told: str):
    with pytest.raises(ToolUseError, match=told) as failure:
        search(tavily, query, key=key)
    assert key not in str(failure.value).split()


def test_an_unreachable_search_is_told_as_a_failure():
    with pytest.raises(ToolUseError, match="search failed"):
        search("http://127.0.0.1:1/", "x")


def test_the_key_is_found_in_a_dotenv_file(tmp_path: Path):
    agent = load(RESEARCH / "research_agent.py")
    assert agent.find_key() is None
    (tmp_path / ".env").write_text("TAVILY_API_KEY=from-file\n")
    assert agent.find_key() == "from-file"


def published() -> dict[str, str]:
    return json.loads((ROOT / "langgraph.json").read_text())["graphs"]


@pytest.mark.parametrize("name", published())
def test_published_graph_is_loaded_without_a_key_and_built_with_one(name: str, monkeypatch: pytest.MonkeyPatch):
    """D16: what `langgraph dev` does with langgraph.json. A factory that takes arguments would be handed a config."""
    path, _, factory = published()[name].partition(":")
    make = getattr(load(ROOT / path), factory)
    assert not inspect.signature(make).parameters
    if name in ("research_example", "deep_research", "workspace"):  # others fall back to the embedded model, or do without one
        with pytest.raises(ConfigurationError, match="model"):
            make()
    monkeypatch.setenv("OLLAMA_MODEL_NAME", "qwen3:8b")
    graph = make()
    kept = {"messages", "user_query", "final_report"} if name == "research" else {"messages", "files", "todos"}
    assert kept <= graph.get_output_jsonschema()["properties"].keys()
