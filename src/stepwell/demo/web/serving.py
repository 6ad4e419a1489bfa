"""The server of the offline world: one loopback port for all host names, in threads. It handles HTTP, not content.

It records each request before it answers, even if the client has disconnected by then.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Received:
    """A request as received."""

    host: str
    method: str
    path: str
    """Including its query."""
    headers: dict[str, str] = field(hash=False, repr=False)
    """Names in lower case."""
    body: bytes = field(repr=False)


@dataclass(frozen=True)
class ServedResponse:
    """A response. The server waits `pause_s` before the head and `stall_s` in the middle of the body."""

    status: int = 200
    content_type: str | None = "text/html; charset=utf-8"
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    pause_s: float = 0.0
    stall_s: float = 0.0


class WorldServer:
    """Serves at `port` after `start()`. `stop()` ends the server and the pauses of its responses."""

    def __init__(self, reply_to: Callable[[Received], ServedResponse]) -> None:
        self.received: list[Received] = []
        self._reply_to = reply_to
        self._stopping = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)

    def answer(self, received: Received) -> ServedResponse:
        self.received.append(received)
        return self._reply_to(received)

    def wait(self, seconds: float) -> None:
        if seconds > 0:
            self._stopping.wait(seconds)


def _handler(server: WorldServer) -> type[BaseHTTPRequestHandler]:
    class _Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # http.server prescribes the name
            headers = {name.lower(): value for name, value in self.headers.items()}
            length = int(headers.get("content-length", "0"))
            body = self.rfile.read(length) if length else b""
            host = headers.get("host", "").split(":")[0]
            self._send(server.answer(Received(host, self.command, self.path, headers, body)))

        do_POST = do_GET

        def _send(self, reply: ServedResponse) -> None:
            server.wait(reply.pause_s)
            try:
                self.send_response(reply.status)
                if reply.content_type is not None:
                    self.send_header("Content-Type", reply.content_type)
                for name, value in reply.headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                half = len(reply.body) // 2 if reply.stall_s else len(reply.body)
                self.wfile.write(reply.body[:half])
                self.wfile.flush()
                if reply.stall_s:
                    server.wait(reply.stall_s)
                    self.wfile.write(reply.body[half:])
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client has disconnected, which some tests are about

        def log_message(self, *_: object) -> None:
            """Silent: tests read `received` instead."""

    return _Handler
