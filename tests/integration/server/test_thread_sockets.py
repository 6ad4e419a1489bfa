"""Thread streams over a websocket: the SDK's transport, several subscriptions, threads that do not exist yet, and who may connect."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk.stream.transport import ProtocolWebSocketTransport
from tests.integration.server.conftest import Server, serve
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from stepwell.server.settings import ServerSettings

START = {"assistant_id": "echo", "input": {"messages": [{"role": "user", "content": "hello"}]}}


def new_id() -> str:
    return str(uuid.uuid4())


@asynccontextmanager
async def socket(server: Server, thread_id: str, **headers: str) -> AsyncIterator[ClientConnection]:
    address = server.url.replace("http://", "ws://") + f"/threads/{thread_id}/stream/events"
    async with connect(address, additional_headers=headers) as opened:
        yield opened


async def send(opened: ClientConnection, number: int, method: str, **params: Any) -> None:
    await opened.send(json.dumps({"id": number, "method": method, "params": params}))


async def receive_until(opened: ClientConnection, found: Any) -> list[dict[str, Any]]:
    received: list[dict[str, Any]] = []
    async with asyncio.timeout(60):
        while not received or not found(received[-1]):
            received.append(json.loads(await opened.recv()))
    return received


def is_end(message: dict[str, Any]) -> bool:
    return message.get("method") == "lifecycle" and message["params"]["data"]["event"] in ("completed", "failed", "interrupted")


def response(number: int) -> Any:
    return lambda message: message.get("id") == number


async def test_the_sdk_streams_a_run_over_a_websocket(server: Server) -> None:
    async with server.client.threads.stream(assistant_id="echo", transport="websocket") as thread:
        assert isinstance(thread._transport, ProtocolWebSocketTransport)
        await thread.run.start(input=START["input"])
        output = await thread.output
    assert output["messages"]


async def test_one_socket_creates_a_thread_starts_a_run_and_follows_it(server: Server) -> None:
    async with socket(server, new_id()) as opened:
        await send(opened, 1, "subscription.subscribe", channels=["values"])
        await send(opened, 2, "subscription.subscribe", channels=["values", "lifecycle"])
        await send(opened, 3, "run.start", **START)
        received = await receive_until(opened, is_end)
    responses = {message["id"]: message for message in received if "id" in message}
    assert {message["type"] for message in responses.values()} == {"success"}
    assert responses[3]["result"]["run_id"]
    numbers = [message["seq"] for message in received if message["type"] == "event"]
    assert len(numbers) == len(set(numbers)), "an event that fits both subscriptions is sent once"
    assert {message["method"] for message in received if message["type"] == "event"} == {"values", "lifecycle"}


async def test_a_socket_comes_back_without_gap_or_repetition(server: Server) -> None:
    thread_id = new_id()
    async with socket(server, thread_id) as opened:
        await send(opened, 1, "subscription.subscribe", channels=["values", "lifecycle"])
        await send(opened, 2, "run.start", **START)
        first = [message for message in await receive_until(opened, is_end) if message["type"] == "event"]
    async with socket(server, thread_id) as opened:
        await send(
            opened, 1, "subscription.reconnect", channels=["values", "lifecycle"], since=first[0]["seq"], subscription_id="mine"
        )
        again = await receive_until(opened, is_end)
    assert again[0]["result"]["subscription_id"] == "mine"
    assert [message["seq"] for message in again[1:]] == [message["seq"] for message in first[1:]]


async def test_an_ended_subscription_sends_nothing_more(server: Server) -> None:
    async with socket(server, new_id()) as opened:
        await send(opened, 1, "subscription.subscribe", channels=["values"])
        subscribed = (await receive_until(opened, response(1)))[-1]["result"]["subscription_id"]
        await send(opened, 2, "subscription.unsubscribe", subscription_id=subscribed)
        await send(opened, 3, "subscription.subscribe", channels=["lifecycle"])
        await send(opened, 4, "run.start", **START)
        received = await receive_until(opened, is_end)
    assert {message["method"] for message in received if message["type"] == "event"} == {"lifecycle"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("no json", "JSON"),
        ("[]", "object"),
        ('{"id": 1, "method": "dance"}', "Unknown command"),
        ('{"id": 1, "method": "subscription.subscribe", "params": {"channels": ["nothing"]}}', "channels"),
        ('{"id": 1, "method": "state.get"}', "No thread"),
        ('{"id": 1, "method": "run.start", "params": ' + '{"a":' * 300 + "1" + "}" * 300 + "}", "levels deep"),
    ],
)
async def test_a_bad_command_gets_a_sentence_and_the_socket_stays_open(server: Server, text: str, sentence: str) -> None:
    async with socket(server, new_id()) as opened:
        await opened.send(text)
        refused = json.loads(await opened.recv())
        assert (refused["type"], sentence in refused["message"]) == ("error", True), refused
        await send(opened, 2, "subscription.subscribe", channels=["values"])
        assert json.loads(await opened.recv())["type"] == "success"


async def test_a_plain_request_is_told_to_open_a_websocket(server: Server) -> None:
    refused = await server.http.get(f"/threads/{new_id()}/stream/events")
    assert (refused.status_code, refused.headers["upgrade"]) == (426, "websocket")


async def test_foreign_pages_and_hosts_are_refused(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
        with pytest.raises(InvalidStatus) as refused:
            async with socket(server, new_id(), **headers):
                pass
        assert refused.value.response.status_code in (400, 403)
    await asyncio.sleep(0.1)  # the log comes after the response
    assert not [record for record in caplog.records if record.levelname == "ERROR"], "anybody could fill the log"


async def test_a_socket_needs_a_key_and_reaches_only_its_users_threads(tmp_path: Path) -> None:
    async with serve(tmp_path) as open_to_all:
        made = [(await open_to_all.http.post("/api/keys", json={"user": user})).json() for user in ("ada", "eve")]
    ada, eve = ({"x-api-key": each["key"]} for each in made)
    async with serve(tmp_path, ServerSettings(always_ask=True)) as server:
        with pytest.raises(InvalidStatus) as refused:
            async with socket(server, new_id()):
                pass
        assert refused.value.response.status_code == 401
        thread_id = new_id()
        async with socket(server, thread_id, **ada) as hers, socket(server, thread_id, **eve) as foreign:
            await send(foreign, 1, "subscription.subscribe", channels=["values", "lifecycle"])
            await send(hers, 1, "subscription.subscribe", channels=["values", "lifecycle"])
            await send(hers, 2, "run.start", **START)
            await receive_until(hers, is_end)
            await send(foreign, 2, "state.get")
            await send(foreign, 3, "run.start", **START)
            received = await receive_until(foreign, response(3))
        assert [message["type"] for message in received] == ["success", "error", "error"]


async def test_a_cookie_opens_a_socket_only_from_the_servers_own_page(tmp_path: Path) -> None:
    async with serve(tmp_path) as open_to_all:
        key = (await open_to_all.http.post("/api/keys", json={"user": "ada"})).json()["key"]
    async with serve(tmp_path, ServerSettings(always_ask=True)) as server:
        form = {"accept": "application/json", "origin": server.url}
        await server.http.post("/login", data={"key": key}, headers=form)
        cookie = "; ".join(f"{name}={value}" for name, value in server.http.cookies.items())
        with pytest.raises(InvalidStatus) as refused:
            async with socket(server, new_id(), Cookie=cookie):
                pass
        assert refused.value.response.status_code == 403
        async with socket(server, new_id(), Cookie=cookie, Origin=server.url) as opened:
            await send(opened, 1, "subscription.subscribe", channels=["values"])
            assert (await receive_until(opened, response(1)))[-1]["type"] == "success"


async def test_a_stopping_server_closes_sockets_so_that_clients_reconnect(server: Server) -> None:
    async with socket(server, new_id()) as opened:
        await send(opened, 1, "subscription.subscribe", channels=["values"])
        await receive_until(opened, response(1))
        server.services.streams.end_all()
        with pytest.raises(ConnectionClosed) as closed:
            await opened.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1012
