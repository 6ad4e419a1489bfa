"""The world outside: a small HTTP server that remembers every effect it was asked for. It lives in the test's process.

A service that takes an idempotency key carries an effect out when it sees a key for the first time. What must not happen is that
one piece of work (its `name`) comes with two keys: then it would be carried out twice.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Call:
    name: str
    key: str
    kind: str


class Oracle:
    """`with Oracle() as oracle`; `oracle.url` is what graphs post to."""

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._lock = threading.Lock()
        oracle = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                oracle.note(Call(body["name"], body["key"], body["kind"]))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Quiet."""

        class Listening(ThreadingHTTPServer):
            request_queue_size = 256
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                """The caller was killed in the middle of its request: nothing was asked."""

        self._server = Listening(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def note(self, call: Call) -> None:
        with self._lock:
            self._calls.append(call)

    def calls(self, kind: str) -> list[Call]:
        with self._lock:
            return [call for call in self._calls if call.kind == kind]

    def effective(self, kind: str) -> Counter[str]:
        """How often each piece of work was carried out by a service that knows keys."""
        return Counter(name for name, _ in {(call.name, call.key) for call in self.calls(kind)})

    def asked(self, kind: str) -> Counter[str]:
        """How often each piece of work was asked for at all."""
        return Counter(call.name for call in self.calls(kind))

    def __enter__(self) -> Oracle:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
