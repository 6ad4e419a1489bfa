"""A stored key reaches the provider and nothing else: no response, log line, export, metric, trace or file has it in readable form."""

from __future__ import annotations

import base64
import io
import logging
from pathlib import Path
from typing import Any

import pytest
from tests.integration.connections.world import MODEL, User, address_of, answer, chosen, keys_used, model_server, one_user
from tests.support.loopback import Asked, Reply
from tests.support.stored_rows import files_holding

from stepwell.connections.encryption import FILE
from stepwell.connections.service import Connections
from stepwell.server.monitoring.redaction import hide_in_record

# Two forms: one that the log's rules know, and one that only the run knows.
KEYS = ["sk-proj-Recognisable0123456789abcdefWXYZ", "orange.bicycle.seventeen.umbrella"]


def refusing(status: int) -> Any:
    """A server that repeats in its error what it was sent."""

    def behave(asked: Asked) -> Reply:
        sent = asked.headers.get("authorization", "")
        return Reply(status, {"error": {"message": f"The key {sent} is wrong: {sent.removeprefix('Bearer ')}", "code": "bad"}})

    return behave


def breaking(asked: Asked) -> Reply:
    return Reply(200, f"data: {asked.headers.get('authorization')}\n\nnot json", {"Content-Type": "text/event-stream"})


BEHAVIOURS = {
    "success": answer,
    "401": refusing(401),
    "402": refusing(402),
    "404": refusing(404),
    "429": refusing(429),
    "500": refusing(500),
    "nonsense": breaking,
    "redirect": lambda asked: Reply(302, "", {"Location": "http://127.0.0.1:9/" + asked.headers.get("authorization", "")}),
}


class Written(logging.Handler):
    """The log as the server writes it: `hide_in_record`, as its handlers do, then the whole record."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.text = io.StringIO()

    def emit(self, record: logging.LogRecord) -> None:
        copy = logging.makeLogRecord(record.__dict__)
        hide_in_record(copy)
        self.text.write(f"{logging.Formatter().format(copy)}\n")


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", BEHAVIOURS)
async def test_a_key_is_nowhere_but_at_the_provider(tmp_path: Path, name: str, key: str):
    written = Written()
    root = logging.getLogger()
    level = root.level
    root.addHandler(written)
    root.setLevel(logging.DEBUG)
    try:
        with model_server(BEHAVIOURS[name]) as server:
            async with one_user(tmp_path) as user:
                seen = await _use(user, address_of(server), key)
            assert key in keys_used(server)
    finally:
        root.removeHandler(written)
        root.setLevel(level)
    texts = {"responses": "\n".join(seen), "log": written.text.getvalue()}
    encoded = base64.b64encode(key.encode()).decode().rstrip("=")
    for place, text in texts.items():
        assert key not in text, f"the {place} of '{name}': {_around(text, key)}"
        assert encoded not in text, place
    assert FILE in files_holding(tmp_path, b"")
    assert files_holding(tmp_path, key.encode()) == []
    assert files_holding(tmp_path, encoded.encode()) == []


async def _use(user: User, address: str, key: str) -> list[str]:
    """Everything that a person or a program can read, before, while and after the key is used."""
    seen: list[str] = []

    async def send(method: str, path: str, **options: Any) -> Any:
        response = await user.send(method, path, **options)
        seen.append(f"{response.headers}{response.text}")
        return response

    body = {"provider": "openai-compatible", "base_url": address, "key": key, "models": [MODEL]}
    made = (await send("POST", "/api/connections", json=body)).json()
    seen.append(repr(made))
    await send("POST", "/api/connections/test", json={"connection": made["id"], "model": MODEL})
    await send(
        "POST", "/api/connections/test", json={**{name: body[name] for name in ("provider", "base_url", "key")}, "model": MODEL}
    )
    thread = await user.thread(stepwell_models={"default": chosen(made)})
    order = {"assistant_id": "talk", "input": {"messages": [{"role": "user", "content": "Hi"}]}}
    streams = {"stream_mode": ["values", "updates", "messages-tuple", "debug", "tasks", "checkpoints"]}
    await send("POST", f"/threads/{thread}/runs/stream", json={**order, **streams})
    await send("POST", f"/threads/{thread}/runs/wait", json=order)
    runs = (await send("GET", f"/threads/{thread}/runs")).json()
    for run in runs:
        await send("GET", f"/threads/{thread}/runs/{run['run_id']}")
    for path in ("state", "history", ""):
        await send("GET", f"/threads/{thread}/{path}".rstrip("/"))
    for path in (
        "/api/connections",
        "/api/connections/spend",
        "/metrics",
        "/api/usage",
        "/api/export",
        "/info",
        "/openapi.json",
    ):
        await send("GET", path)
    await send("PATCH", f"/api/connections/{made['id']}", json={"label": "Renamed"})
    await send("POST", "/api/connections", json={**body, "label": "x" * 500})
    await send("POST", "/api/connections", json={**body, "key": [key]})
    connections = user.server.services.find(Connections)
    assert connections is not None
    seen.append(repr(vars(connections)))
    models = await connections.models.of_reader("local", thread)
    assert models is not None
    assert models.secrets == {key}
    seen.append(repr(models))
    return seen


def _around(text: str, key: str) -> str:
    place = text.find(key)
    return text[max(0, place - 300) : place + 60]
