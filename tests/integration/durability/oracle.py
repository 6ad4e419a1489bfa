"""The world outside: a small HTTP server that remembers every effect it was asked for, in a process and a file of its own.

A service that takes an idempotency key carries an effect out when it sees a key for the first time. What must not happen is that
one piece of work (its `name`) comes with two keys: then it would be carried out twice.

The process knows nothing of the test: it writes each call down, one line of JSON, before it answers. Whoever has the file can check it
(`Calls`), with the oracle running or not. Only the standard library is imported here, so that it starts in a moment.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_WAITING = 256
"""Connections that may wait until the process takes them: many come at once, and the first ones before it has begun."""


@dataclass(frozen=True)
class Call:
    name: str
    key: str
    kind: str


class Calls:
    """The calls in an oracle's file. Only added to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()

    def note(self, call: Call) -> None:
        with self._lock, self.path.open("a") as file:
            file.write(json.dumps(asdict(call)) + "\n")

    def calls(self, kind: str) -> list[Call]:
        whole = (line for line in self.path.read_text().splitlines(keepends=True) if line.endswith("\n"))
        return [call for line in whole if (call := Call(**json.loads(line))).kind == kind]

    def effective(self, kind: str) -> Counter[str]:
        """How often each piece of work was carried out by a service that knows keys."""
        return Counter(name for name, _ in {(call.name, call.key) for call in self.calls(kind)})

    def asked(self, kind: str) -> Counter[str]:
        """How often each piece of work was asked for at all."""
        return Counter(call.name for call in self.calls(kind))


class Oracle(Calls):
    """`with Oracle(path) as oracle`; `oracle.url` is what graphs post to. It ends with the process that started it."""

    def __enter__(self) -> Oracle:
        self.path.touch()
        with socket.create_server(("127.0.0.1", 0), backlog=_WAITING) as listening:
            self.url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
            command = [sys.executable, "-I", "-S", __file__, str(self.path), str(listening.fileno())]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[listening.fileno()])
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:  # closes its input and waits
            pass
        assert self._process.returncode == 0, "the oracle ended before it was told to"


class _Listening(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, path: Path, number: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = socket.socket(fileno=number)
        self.calls = Calls(path)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The caller was killed in the middle of its request: nothing was asked."""


class _Handler(BaseHTTPRequestHandler):
    server: _Listening

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.calls.note(Call(body["name"], body["key"], body["kind"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


def main() -> None:
    server = _Listening(Path(sys.argv[1]), int(sys.argv[2]))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
    sys.stdin.read()
    server.shutdown()
    server.server_close()


if __name__ == "__main__":
    main()
