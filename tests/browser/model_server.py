"""A model on loopback that speaks the protocol of LM Studio, for applications that build their own model from the environment.

```python
with serve_model(answer) as variables:      # answer(request) -> {"content": text} or calling("write_file", file_path=...)
    with serve(folder, graphs=None, **variables) as server: ...
```
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[dict[str, Any]], dict[str, Any]]


def calling(name: str, **arguments: Any) -> dict[str, Any]:
    """A message that calls a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"tool_calls": [{"index": 0, "id": f"call_{name}", "type": "function", "function": function}]}


def tools_of(request: dict[str, Any]) -> set[str]:
    return {tool["function"]["name"] for tool in request.get("tools", ())}


@contextmanager
def serve_model(answer: Answer, *, models: tuple[str, ...] = (), key: str | None = None) -> Iterator[dict[str, str]]:
    """The variables by which a server finds the model, for as long as it answers. It lists `models`, and refuses any key but `key`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            listed = {"object": "list", "data": [{"id": name, "object": "model"} for name in models]}
            self._send(200, json.dumps(listed).encode(), "application/json")

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            delta = answer(request)
            body, kind = _stream(request, delta) if request.get("stream") else _whole(request, delta)
            self._send(200, body, kind)

        def _send(self, status: int, body: bytes, kind: str) -> None:
            if key is not None and self.headers["Authorization"] != f"Bearer {key}":
                refusal = {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}
                status, body, kind = 401, json.dumps(refusal).encode(), "application/json"
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield {"STEPWELL_MODEL_PROVIDER": "lm-studio", "LM_STUDIO_MODEL_NAME": "scripted", "LM_STUDIO_BASE_URL": address}
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=60)


def _base(request: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "c1", "created": 1, "model": request["model"], "object": kind}


def _reason(delta: dict[str, Any]) -> str:
    return "tool_calls" if "tool_calls" in delta else "stop"


def _stream(request: dict[str, Any], delta: dict[str, Any]) -> tuple[bytes, str]:
    base = _base(request, "chat.completion.chunk")
    choices = [{"delta": {"role": "assistant", **delta}, "finish_reason": None}, {"delta": {}, "finish_reason": _reason(delta)}]
    lines = [json.dumps({**base, "choices": [{"index": 0, **choice}]}) for choice in choices]
    return "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode(), "text/event-stream"


def _whole(request: dict[str, Any], delta: dict[str, Any]) -> tuple[bytes, str]:
    message = {"role": "assistant", "content": None, **delta}
    choice = {"index": 0, "message": message, "finish_reason": _reason(delta)}
    return json.dumps({**_base(request, "chat.completion"), "choices": [choice]}).encode(), "application/json"
