"""What goes over the wire while a run goes on: frames, heartbeats, who comes back and who goes away."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import orjson
import pytest
from tests.integration.server.conftest import Server

from stepwell.server import sse


async def start(server: Server, **body: Any) -> tuple[str, str]:
    thread_id = (await server.http.post("/threads", json={})).json()["thread_id"]
    run = await server.http.post(f"/threads/{thread_id}/runs", json={"assistant_id": "ticks", **body})
    return thread_id, run.json()["run_id"]


async def status_of(server: Server, thread_id: str, run_id: str) -> str:
    return str((await server.http.get(f"/threads/{thread_id}/runs/{run_id}")).json()["status"])


async def interrupted(server: Server, thread_id: str, run_id: str) -> None:
    """Wait until the run has been stopped. By itself it would go on for longer."""
    async with asyncio.timeout(120):
        while await status_of(server, thread_id, run_id) != "interrupted":  # noqa: ASYNC110 - another process would poll too
            await asyncio.sleep(0.02)


async def test_a_stream_begins_at_once_and_says_where_to_go_on(server: Server) -> None:
    thread_id = (await server.http.post("/threads", json={})).json()["thread_id"]
    body = {"assistant_id": "ticks", "input": {"count": 2}, "stream_mode": ["custom"]}
    async with server.http.stream("POST", f"/threads/{thread_id}/runs/stream", json=body) as response:
        pieces = response.aiter_raw()
        first = await anext(pieces)
        assert first.startswith(b":")
        text = first + b"".join([piece async for piece in pieces])
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-accel-buffering"] == "no"
    place = response.headers["content-location"]
    assert place.startswith(f"/threads/{thread_id}/runs/")
    assert response.headers["location"] == f"{place}/stream"
    frames = [frame.splitlines() for frame in text.decode().split("\n\n") if frame.startswith("id:")]
    assert [line.partition(":")[0] for line in frames[0]] == ["id", "event", "data"]
    assert frames[-1][1] == "event: end"
    assert orjson.loads(frames[-1][2].removeprefix("data: "))["status"] == "success"


async def test_a_quiet_stream_is_kept_alive(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_S", 0.05)
    thread_id, run_id = await start(server, input={"count": 1, "seconds": 3600})
    async with asyncio.timeout(120), server.http.stream("GET", f"/threads/{thread_id}/runs/{run_id}/stream") as response:
        text, pieces = b"", response.aiter_raw()
        while text.count(sse.HEARTBEAT) < 3:
            text += await anext(pieces)
    await server.client.runs.cancel(thread_id, run_id, wait=True)


async def test_a_long_wait_is_kept_alive_with_white_space(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_S", 0.05)
    thread_id, run_id = await start(server, input={"count": 1, "seconds": 2})
    response = await server.http.get(f"/threads/{thread_id}/runs/{run_id}/join")
    assert response.content.startswith(b"\n\n")
    assert response.json()["log"] == ["ticked"]
    assert response.headers["location"] == f"/threads/{thread_id}/runs/{run_id}/join"


async def test_a_run_goes_on_when_its_reader_goes_away(server: Server) -> None:
    thread_id, run_id = await start(server, input={"count": 10, "seconds": 0.03})
    async with server.http.stream("GET", f"/threads/{thread_id}/runs/{run_id}/stream") as response:
        await anext(response.aiter_raw())
    await server.http.get(f"/threads/{thread_id}/runs/{run_id}/join")
    assert await status_of(server, thread_id, run_id) == "success"


@pytest.mark.parametrize("way", ["stream", "join"])
async def test_a_run_stops_when_the_reader_who_asked_for_that_goes_away(
    server: Server, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_S", 0.05)
    thread_id, run_id = await start(server, input={"count": 100_000, "seconds": 0.03})
    address = f"{server.url}/threads/{thread_id}/runs/{run_id}/{way}?cancel_on_disconnect=1"
    async with httpx.AsyncClient(timeout=60) as leaver, leaver.stream("GET", address) as response:
        await anext(response.aiter_raw())  # the server has begun to answer, and is left
    await interrupted(server, thread_id, run_id)


async def test_a_run_created_with_on_disconnect_cancel_stops_with_its_stream(server: Server) -> None:
    thread_id = (await server.http.post("/threads", json={})).json()["thread_id"]
    body = {"assistant_id": "ticks", "input": {"count": 100_000, "seconds": 0.03}, "on_disconnect": "cancel"}
    async with server.http.stream("POST", f"/threads/{thread_id}/runs/stream", json=body) as response:
        await anext(response.aiter_raw())
        run_id = response.headers["content-location"].rpartition("/")[2]
    await interrupted(server, thread_id, run_id)


@pytest.mark.parametrize("last_event_id", ["x", "1.5", "-2", "1e3", "9" * 30, "٣"])
async def test_a_last_event_id_that_is_none_is_refused(server: Server, last_event_id: str) -> None:
    thread_id, run_id = await start(server, input={"count": 0})
    headers = {"Last-Event-ID": last_event_id.encode()}
    response = await server.http.get(f"/threads/{thread_id}/runs/{run_id}/stream", headers=headers)
    assert response.status_code == 422
    assert "last-event-id" in response.json()["detail"].lower()


async def test_a_last_event_id_beyond_the_end_gives_nothing_more(server: Server) -> None:
    thread_id, run_id = await start(server, input={"count": 0})
    await server.http.get(f"/threads/{thread_id}/runs/{run_id}/join")
    response = await server.http.get(f"/threads/{thread_id}/runs/{run_id}/stream", headers={"Last-Event-ID": "999999"})
    assert response.status_code == 200
    assert "data:" not in response.text


async def test_streams_break_off_when_the_server_is_to_stop(server: Server) -> None:
    """Not a clean end: a client would take that for the end of the run."""
    thread_id, run_id = await start(server, input={"count": 100_000, "seconds": 0.03})
    async with server.http.stream("GET", f"/threads/{thread_id}/runs/{run_id}/stream") as response:
        pieces = response.aiter_raw()
        await anext(pieces)
        assert len(server.services.streams) == 1
        server.services.streams.end_all()
        with pytest.raises(httpx.RemoteProtocolError):
            async with asyncio.timeout(120):
                [piece async for piece in pieces]
    assert len(server.services.streams) == 0
    await server.client.runs.cancel(thread_id, run_id, wait=True)
