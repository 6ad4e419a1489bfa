"""The langgraph.json at the root is served by LangGraph's own development server and by ours, unchanged.

LangGraph's server has an environment of its own, `.bench/langgraph-dev`, made once: its packages cannot stand beside ours. The
model is a server on loopback that speaks the protocol of LM Studio; nothing leaves the machine.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from benchmarks.environments import EnvironmentFailure, peer_server_python
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient
from tests.integration.clients.processes import serving, started

ROOT = Path(__file__).parents[2]
ANSWER = "A stepwell is a well with stairs."
READY_S = 240.0


class ModelServer(BaseHTTPRequestHandler):
    """Answers every question with the same sentence, in one piece or in several."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        base = {"id": "c1", "created": 1, "model": request["model"]}
        if not request.get("stream"):
            choice = {"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}
            return self._reply("application/json", json.dumps({**base, "object": "chat.completion", "choices": [choice]}))
        deltas = [{"role": "assistant", "content": f"{word} "} for word in ANSWER.split()]
        chunks: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        chunks.append({"index": 0, "delta": {}, "finish_reason": "stop"})
        lines = [json.dumps({**base, "object": "chat.completion.chunk", "choices": [chunk]}) for chunk in chunks]
        return self._reply("text/event-stream", "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]))

    def _reply(self, kind: str, body: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *arguments: Any) -> None:
        """Stay silent."""


@pytest.fixture(scope="module")
def model() -> Iterator[dict[str, str]]:
    """What a user would set to use that model."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), ModelServer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield {
        "STEPWELL_MODEL_PROVIDER": "lm-studio",
        "LM_STUDIO_MODEL_NAME": "scripted",
        "LM_STUDIO_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}/v1",
    }
    server.shutdown()
    server.server_close()
    thread.join(timeout=60)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project without what a developer or a server keeps at its root (`.env`, `.langgraph_api`)."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("langgraph.json", "src", "examples", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    return folder


@contextmanager
def langgraph_dev(project: Path, model: dict[str, str]) -> Iterator[str]:
    try:
        python = peer_server_python()
    except EnvironmentFailure as failure:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"LangGraph's server cannot be installed here: {failure}")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        str(python.parent / "langgraph"),
        "dev",
        "--no-browser",
        "--no-reload",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    quiet = {"LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGSMITH_TRACING": "false", "DO_NOT_TRACK": "1"}
    with started(command, project, {**model, **quiet}) as lines:
        url = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + READY_S
        while not _answers(url):
            assert time.monotonic() < deadline, f"langgraph dev is not ready:\n{lines.text[-4000:]}"
            time.sleep(0.1)
        yield url


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/ok", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def check(url: str) -> None:
    """The assistants are there and answer through the SDK, in pieces and as a whole."""
    with get_sync_client(url=url, api_key=None) as client:
        published = set(json.loads((ROOT / "langgraph.json").read_text())["graphs"])
        assert {each["graph_id"] for each in client.assistants.search()} == published
        config = {"configurable": {"gcs_root_path": "/acme/plans/"}}
        for assistant in ("simple_agent", "research_example", "workspace"):
            thread_id = client.threads.create()["thread_id"]
            question = {"messages": [{"role": "user", "content": "What is a stepwell?"}]}
            modes = ["messages-tuple", "values"]
            parts = list(client.runs.stream(thread_id, assistant, input=question, config=config, stream_mode=modes))
            assert [part.data for part in parts if part.event == "error"] == []
            pieces = [part for part in parts if part.event == "messages"]
            assert len(pieces) > 3
            values = client.threads.get_state(thread_id)["values"]
            assert values["messages"][-1]["content"].strip() == ANSWER
        for assistant in ("deeptutor", "seminar_agent"):
            begin_a_seminar(client, assistant)


def begin_a_seminar(client: SyncLangGraphClient, assistant: str) -> None:
    """T1: with a model and no price set the tutor works, under both of its names."""
    thread_id = client.threads.create()["thread_id"]
    question = {"messages": [{"role": "user", "content": "Should cities close their centres to cars?"}]}
    parts = list(client.runs.stream(thread_id, assistant, input=question, stream_mode=["values"]))
    assert [part.data for part in parts if part.event == "error"] == []
    assert client.threads.get_state(thread_id)["values"]["messages"][-1]["content"].startswith(ANSWER)


def test_langgraph_dev_serves_the_project(project: Path, model: dict[str, str]) -> None:
    """W8: the workspace too, with its root in the request's config."""
    with langgraph_dev(project, model) as url:
        check(url)


def test_our_server_serves_the_same_file(project: Path, model: dict[str, str], tmp_path: Path) -> None:
    with serving(project / "langgraph.json", tmp_path, **model) as served:
        check(served.url)
