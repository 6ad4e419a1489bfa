"""Errors on the wire: RFC 9457, with a sentence that helps and nothing of the inside."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from tests.integration.server.conftest import Server

from stepwell.errors import StorageUnavailableError
from stepwell.server.policy import routes_without_policy

NO_THREAD = str(uuid.UUID(int=7))
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    ("method", "path", "status", "word"),
    [
        ("GET", "/nowhere", 404, "/nowhere"),
        ("PUT", "/threads", 405, "PUT"),
        ("GET", f"/threads/{NO_THREAD}", 404, NO_THREAD),
        ("GET", "/threads/42", 422, "thread_id"),
        ("GET", f"/threads/{NO_THREAD}/runs?limit=0", 422, "limit"),
        ("GET", f"/threads/{NO_THREAD}/runs?limit=99999999999999999999", 422, "limit"),
        ("GET", f"/threads/{NO_THREAD}/runs/{NO_THREAD}/stream", 404, NO_THREAD),
        ("GET", f"/threads/{NO_THREAD}/runs/{NO_THREAD}/join", 404, NO_THREAD),
        ("GET", f"/threads/{NO_THREAD}/stream", 404, NO_THREAD),
        ("GET", f"/threads/{NO_THREAD}/runs", 404, NO_THREAD),
        ("POST", f"/threads/{NO_THREAD}/runs/{NO_THREAD}/cancel", 404, NO_THREAD),
        ("GET", "/store/items?namespace=a..b&key=k", 422, "namespace"),
        ("DELETE", "/threads/42", 422, "thread_id: must be a UUID"),
        ("GET", f"/runs/crons/{NO_THREAD}", 404, NO_THREAD),
        ("GET", f"/runs/crons/{NO_THREAD}/slots", 404, NO_THREAD),
        ("DELETE", "/runs/crons/42", 422, "cron_id: must be a UUID"),
    ],
)
async def test_a_refusal_names_the_thing(shared_server: Server, method: str, path: str, status: int, word: str) -> None:
    response = await shared_server.http.request(method, path)
    problem = response.json()
    assert response.status_code == problem["status"] == status
    assert response.headers["content-type"] == "application/problem+json"
    assert word in problem["detail"]
    assert problem["type"].startswith("urn:stepwell:problem:")


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        (b"{", 400, "JSON"),
        (b"[]", 422, "body"),
        (b'{"limit": "10"}', 422, "limit"),
        (b'{"ids": ["x"]}', 422, "ids.0"),
        (b'{"status": "asleep"}', 422, "status"),
        (b'{"metadata": NaN}', 400, "JSON"),
        (b'{"extract": {"a": "values..b"}}', 422, "values..b"),
        (b'{"metadata": ' + b"[" * 1000 + b"]" * 1000 + b"}", 422, "deep"),
        (b'{"metadata": {"a": "' + b"x" * 10_000_000 + b'"}}', 413, "larger"),
    ],
)
async def test_a_bad_body_is_refused_by_field(shared_server: Server, body: bytes, status: int, word: str) -> None:
    await shared_server.http.post("/threads", json={})
    response = await shared_server.http.post("/threads/search", content=body, headers={"content-type": "application/json"})
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert word in response.json()["detail"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
async def test_a_body_that_does_not_say_json_is_refused(shared_server: Server, kind: str) -> None:
    response = await shared_server.http.post("/threads", content=b"{}", headers={"content-type": kind} if kind else {})
    assert response.status_code == 415


async def test_fields_nobody_knows_and_nulls_are_taken(shared_server: Server) -> None:
    body: dict[str, Any] = {"assistant_id": "echo", "input": None, "command": None, "from_the_future": [1]}
    nulls = ["config", "context", "metadata", "checkpoint", "checkpoint_id", "stream_mode", "webhook", "after_seconds"]
    response = await shared_server.http.post("/runs/wait", json={**body, **dict.fromkeys(nulls)})
    assert response.status_code in (200, 422), response.text


async def test_a_wrong_method_is_told_all_the_right_ones(shared_server: Server) -> None:
    response = await shared_server.http.put(f"/threads/{NO_THREAD}")
    assert response.headers["allow"] == "DELETE, GET, PATCH"


async def test_an_unexpected_error_gives_a_reference_and_nothing_else(
    shared_server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fall_over(*_: Any) -> None:
        raise RuntimeError("the secret inside")

    monkeypatch.setattr(type(shared_server.services.threads), "get", fall_over)
    response = await shared_server.http.get(f"/threads/{NO_THREAD}")
    assert response.status_code == 500
    assert "secret" not in response.text
    assert response.json()["reference"] in caplog.text


async def test_storage_that_is_down_says_when_to_come_back(shared_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    async def down(*_: Any) -> None:
        raise StorageUnavailableError("The database is full.", retry_after_s=7)

    monkeypatch.setattr(type(shared_server.services.persistence), "check", down)
    assert (await shared_server.http.get("/ok")).json() == {"ok": True}
    response = await shared_server.http.get("/ok?check_db=1")
    assert response.status_code == 503
    assert response.headers["retry-after"] == "7"


async def test_every_route_has_a_policy_or_is_public(shared_server: Server) -> None:
    assert routes_without_policy(shared_server.app) == []


async def test_openapi_documents_every_refusal(shared_server: Server) -> None:
    document = (await shared_server.http.get("/openapi.json")).json()
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations) >= 50
    assert all(operation["summary"] and operation["tags"] for operation in operations)
    assert all({"422", "503"} <= set(operation["responses"]) for operation in operations)
    assert "HTTPValidationError" not in document["components"]["schemas"]


async def test_docs_are_a_page_that_loads_nothing_from_elsewhere(shared_server: Server) -> None:
    response = await shared_server.http.get("/docs")
    assert "/threads/{thread_id}/runs/stream" in response.text
    assert "http" not in response.text.replace(shared_server.url, "")


async def test_info_ok_and_metrics_say_how_the_server_is(shared_server: Server) -> None:
    assert (await shared_server.http.get("/ok?check_db=1")).json() == {"ok": True}
    info = (await shared_server.http.get("/info")).json()
    assert info["flags"]["strict_resume"] is True
    text = (await shared_server.http.get("/metrics")).text
    assert 'stepwell_http_requests_total{method="GET",route="/info",status="200"} 1.0' in text
    assert "stepwell_streams_open 0.0" in text
