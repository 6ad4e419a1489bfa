"""The fake object store as a server: one loopback port, one thread per connection.

```python
with FakeObjectStore("files") as store:
    bucket = open_bucket(Settings.load({"GCS_BUCKET_NAME": "files", "GOOGLE_CLOUD_CREDENTIALS_JSON": store.credentials_json}))
    store.faults.add("lost", methods=("PUT",))
```
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from stepwell.testing.objects import json_api, xml_api
from stepwell.testing.objects.contents import Contents
from stepwell.testing.objects.faults import Fault, Faults
from stepwell.testing.objects.wire import Request, Response

_REFUSALS = {
    "unavailable": (503, "ServiceUnavailable"),
    "busy": (429, "SlowDown"),
    "collision": (409, "ConditionalRequestConflict"),
}


class FakeObjectStore:
    """Start it with `with`; tests can read and change `contents`, and `faults` makes requests fail."""

    def __init__(self, *buckets: str, forbidden: tuple[str, ...] = ()) -> None:
        self.contents = Contents(buckets or ("files",), forbidden)
        self.faults = Faults()
        self.requests: list[tuple[str, str]] = []
        """Method and URL of each request, in the order received."""
        self.most_at_once = 0
        self._at_once = 0
        self._guard = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def credentials_json(self) -> str:
        """Credentials that point here, for `GOOGLE_CLOUD_CREDENTIALS_JSON`."""
        return json.dumps(
            {"gcs_base_url": self.url, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def respond(self, request: Request) -> Response:
        """Carry out a request with the API that its URL belongs to."""
        respond = json_api.respond if json_api.speaks(request.path) else xml_api.respond
        return respond(self.contents, request)

    @contextmanager
    def receive(self, method: str, target: str) -> Iterator[Fault | None]:
        """Wraps one request: records and counts it, and gets its fault."""
        with self._guard:
            self.requests.append((method, target))
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            yield self.faults.draw(method, target)
        finally:
            with self._guard:
                self._at_once -= 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Tests include clients that disconnect midway; those errors are not printed."""


def _handler(store: FakeObjectStore) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = 1 << 16  # a response goes out as one packet

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            with store.receive(self.command, self.path) as fault:
                response = self._meet(fault, body)
            if response is None:
                self.close_connection = True
                self.connection.close()
            else:
                self._send(response)

        def _meet(self, fault: Fault | None, body: bytes) -> Response | None:
            """The response; None cuts the connection."""
            if fault and fault.kind in _REFUSALS:
                status, code = _REFUSALS[fault.kind]
                return Response(status, f"<Error><Code>{code}</Code></Error>".encode())
            if fault and fault.kind == "cut":
                return None
            if fault and fault.kind == "slow":
                fault.meanwhile()
                time.sleep(fault.seconds)
            headers = {name.lower(): value for name, value in self.headers.items()}
            response = store.respond(Request.parse(self.command, self.path, headers, body))
            if fault and fault.kind == "lost":
                fault.meanwhile()
                return None
            return response

        def _send(self, response: Response) -> None:
            self.send_response_only(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(response.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(response.body)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve

        def log_message(self, *_: object) -> None:
            """Prints nothing, because the store has its own list of requests."""

    return Handler
