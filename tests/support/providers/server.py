"""A provider's server on loopback."""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.support.providers.wire import Fault, Reply, Wire

KEY = "sk-test-of-a-fake-0123456789abcdefghij"


class FakeProvider:
    """Plays what was planned, one entry per request; afterwards it says "Done."."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.requests: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self._planned: deque[Reply | Fault] = deque()
        self.answer: Callable[[Mapping[str, Any]], Reply | Fault] | None = None
        """What to reply to a request once nothing is planned, for tests that ask several things at once."""
        self._server = _Http(("127.0.0.1", 0), _Handler)
        self._server.provider = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def variables(self) -> dict[str, str]:
        return self.wire.variables(self.url)

    def plan(self, *entries: Reply | Fault) -> None:
        """Forget what was planned and asked before, and play these from now on."""
        self._planned = deque(entries)
        self.requests.clear()
        self.headers.clear()

    def reply_to(self, body: Mapping[str, Any]) -> Reply | Fault:
        """What to answer a request with: what was planned, then what `answer` says."""
        if self._planned:
            return self._planned.popleft()
        return self.answer(body) if self.answer else Reply("Done.")

    @property
    def left(self) -> int:
        """Planned entries that nobody has asked for yet."""
        return len(self._planned)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(60)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 32
    provider: FakeProvider

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._reply(200, self.server.provider.wire.listed)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        provider, path = self.server.provider, self.path.partition("?")[0]
        wire = provider.wire
        if not wire.path(path, body):
            self._reply(404, {"error": {"message": f"no such path: {path}"}})
            return
        provider.requests.append(body)
        provider.headers.append({name.lower(): value for name, value in self.headers.items()})
        entry = provider.reply_to(body)
        if isinstance(entry, Reply):
            self._answer(wire, path, body, entry)
            return
        if entry.kind in ("cut", "overloaded in the stream"):
            self._break_off(wire, body, entry)
            return
        status, said = wire.faults[entry.kind]
        self._reply(status, said, {} if entry.retry_after_s is None else {"Retry-After": f"{entry.retry_after_s:g}"})

    def _answer(self, wire: Wire, path: str, body: Mapping[str, Any], reply: Reply) -> None:
        if not wire.wants_stream(path, body):
            self._reply(200, wire.whole(body, reply))
            return
        self._begin_stream(wire)
        for piece in wire.stream(body, reply):
            self._chunk(piece)
        self.wfile.write(b"0\r\n\r\n")

    def _break_off(self, wire: Wire, body: Mapping[str, Any], fault: Fault) -> None:
        self._begin_stream(wire)
        parts = list(wire.stream(body, Reply(fault.text)))
        for piece in parts[: max(2, len(parts) // 2)]:
            self._chunk(piece)
        if fault.kind == "overloaded in the stream" and wire.stream_fault:
            self._chunk(wire.stream_fault())
            self.wfile.write(b"0\r\n\r\n")
            return
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _begin_stream(self, wire: Wire) -> None:
        self.send_response(200)
        self.send_header("Content-Type", wire.media_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")  # SDKs keep connections longer than a test lasts
        self.end_headers()

    def _chunk(self, content: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(content), content))
        self.wfile.flush()

    def _reply(self, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: Any) -> None:
        """Stay silent."""
