"""The installation of `deploy/`, with a real nginx and its own configuration before two real servers: only addresses are changed."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.integration.served.process import GRAPHS, Server, environment, serve
from tests.integration.served.warm import start_warm
from tests.support.missing import MissingProgramError
from websockets.sync.client import connect

CONFIGURATION = Path(__file__).parents[3] / "deploy" / "nginx.conf"
PATIENCE_S = 60


def nginx() -> str:
    found = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        raise MissingProgramError("There is no program 'nginx'. Install the package `nginx-light`.")
    return found


def configure(folder: Path, servers: Sequence[Server | Upstream]) -> tuple[Path, int]:
    """The file as it is, with these servers, a free port and this folder for the addresses that only exist in containers."""
    text = CONFIGURATION.read_text(encoding="utf-8")
    for number, server in enumerate(servers, 1):
        text = text.replace(f"server api-{number}:8123 ", f"server {urlsplit(server.url).netloc} ")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    text = text.replace("listen 8080;", f"listen 127.0.0.1:{port};").replace(" /tmp/", f" {folder}/")
    # The limit is for machines that have it to give.
    text = re.sub(
        r"worker_rlimit_nofile \d+;\n|(?<=worker_connections )16384", lambda found: "512" if found[0] == "16384" else "", text
    )
    assert "api-" not in text
    written = folder / "nginx.conf"
    written.write_text(text, encoding="utf-8")
    return written, port


@contextmanager
def proxy(folder: Path, servers: Sequence[Server | Upstream]) -> Iterator[int]:
    """nginx before these servers; gives its port."""
    folder.mkdir()
    folder.chmod(0o755)
    written, port = configure(folder, servers)
    checked = subprocess.run([nginx(), "-t", "-c", written], capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stderr
    assert "[warn]" not in checked.stderr
    with (folder / "said").open("w") as said:
        process = subprocess.Popen([nginx(), "-c", written, "-g", "daemon off;"], stderr=said)
    try:
        wait_until_open(port, process, folder / "said")
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def wait_until_open(port: int, process: subprocess.Popen[bytes], said: Path) -> None:
    until = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise AssertionError(f"nginx does not listen:\n{said.read_text()}")


@contextmanager
def working(folder: Path, url: str) -> Iterator[None]:
    folder.mkdir()
    said = folder / "worker.out"
    said.touch()
    variables = environment(STEPWELL_DATA_DIR=str(folder / "data"), STEPWELL_DATABASE_URL=url)
    process = start_warm(["worker", "--concurrency", "5", "--graphs", str(GRAPHS)], folder, variables, out=said, err=said)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)


@pytest.fixture
def installation(postgres_url: str, tmp_path: Path) -> Iterator[tuple[list[Server], int]]:
    """Two servers that only take runs in, a worker, and nginx in front; gives the servers and nginx's port."""
    with ExitStack() as stack:
        servers = []
        for name in ("api-1", "api-2"):
            (tmp_path / name).mkdir()
            only = ("--database-url", postgres_url, "--concurrency", "0")
            servers.append(stack.enter_context(serve(tmp_path / name, *only)))
        stack.enter_context(working(tmp_path / "worker", postgres_url))
        yield servers, stack.enter_context(proxy(tmp_path / "nginx", servers))


def post(port: int, path: str, body: object) -> dict:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return json.load(answer)


def follow(port: int, path: str, after: str = "") -> tuple[http.client.HTTPConnection, Iterator[tuple[str, str]]]:
    """The connection, and the ids and names of events as they come."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", path, headers={"Last-Event-ID": after} if after else {})
    response = connection.getresponse()
    assert response.status == 200
    assert response.headers["content-type"].startswith("text/event-stream")

    def events() -> Iterator[tuple[str, str]]:
        fields: dict[str, str] = {}
        try:
            while line := response.readline().decode():
                if line.strip():
                    name, _, value = line.partition(":")
                    fields[name] = value.strip()
                elif fields:
                    if "event" in fields:
                        yield fields.get("id", ""), fields["event"]
                    fields = {}
        except (http.client.IncompleteRead, ConnectionError):
            return  # cut off

    return connection, events()


def test_events_come_at_once_and_without_a_gap_when_a_server_dies(installation: tuple[list[Server], int]):
    """Mission R14: any server serves any thread."""
    servers, port = installation
    thread = post(port, "/threads", {})["thread_id"]
    order = {"assistant_id": "long_answer", "input": {"messages": "go"}, "stream_mode": "messages-tuple"}
    run = post(port, f"/threads/{thread}/runs", {**order, "stream_resumable": True})["run_id"]
    path = f"/threads/{thread}/runs/{run}/stream"

    connection, events = follow(port, path)
    seen = [next(events) for _ in range(10)]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/threads/{thread}/runs/{run}", timeout=PATIENCE_S) as answer:
        assert json.load(answer)["status"] == "running"  # nginx holds nothing back: these are here, and the run goes on

    holding = [server for server in servers if streams_open(server)]
    assert len(holding) == 1
    holding[0].kill()
    seen += list(events)
    connection.close()
    assert seen[-1][1] != "end"

    connection, events = follow(port, path, after=seen[-1][0])
    seen += list(events)
    connection.close()
    ids = [int(number) for number, _ in seen if number]
    assert ids == list(range(ids[0], ids[0] + len(ids)))
    assert sum(name == "messages" for _, name in seen) >= 200


class Upstream(ThreadingHTTPServer):
    """Stands where a server of ours stands, and notes what nginx sends it. It breaks off every request but a GET."""

    def __init__(self) -> None:
        self.got: list[tuple[str, Message]] = []
        noted = self.got

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                noted.append(("GET", self.headers))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def do_POST(self) -> None:
                noted.append(("POST", self.headers))
                self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()

    def server_close(self) -> None:
        self.shutdown()
        super().server_close()


@pytest.fixture
def upstreams(tmp_path: Path) -> Iterator[tuple[list[Upstream], int]]:
    """Two of them, and nginx in front; gives them and nginx's port."""
    with Upstream() as one, Upstream() as other, proxy(tmp_path / "nginx", [one, other]) as port:
        yield [one, other], port


def ask(port: int, method: str, headers: Mapping[str, str]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request(method, "/", headers=headers)
    try:
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_request_that_may_have_begun_is_sent_to_nobody_else(upstreams: tuple[list[Upstream], int]):
    servers, port = upstreams
    assert ask(port, "POST", {}) == 502
    assert [method for server in servers for method, _ in server.got] == ["POST"]


def test_what_a_client_says_of_itself_is_not_passed_on(upstreams: tuple[list[Upstream], int]):
    servers, port = upstreams
    assert ask(port, "GET", {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https"}) == 200
    ((_, headers),) = (request for server in servers for request in server.got)
    assert (headers.get_all("x-forwarded-for"), headers.get_all("x-forwarded-proto")) == (["127.0.0.1"], ["http"])


def test_a_thread_stream_over_a_websocket_passes(tmp_path: Path):
    (tmp_path / "server").mkdir()
    with serve(tmp_path / "server") as server, proxy(tmp_path / "nginx", [server, server]) as port:
        thread = post(port, "/threads", {})["thread_id"]
        with connect(f"ws://127.0.0.1:{port}/threads/{thread}/stream/events", open_timeout=PATIENCE_S) as stream:
            stream.send(json.dumps({"id": 1, "method": "subscription.subscribe", "params": {"channels": ["lifecycle"]}}))
            assert json.loads(stream.recv(timeout=PATIENCE_S))["type"] == "success"


def streams_open(server: Server) -> int:
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=PATIENCE_S) as answer:
        return int(float(re.search(r"^stepwell_streams_open(?:\{[^}]*\})? (\S+)$", answer.read().decode(), re.MULTILINE)[1]))
