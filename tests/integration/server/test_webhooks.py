"""Webhooks over real sockets: delivered at least once, to where they may go and nowhere else."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from stepwell.clock import SystemClock
from stepwell.database.sqlite.database import Database
from stepwell.database.types import Run, RunRequest
from stepwell.database.webhooks import WebhookOutbox, insert_webhook
from stepwell.runs.webhooks import verify_signature
from stepwell.runs.webhooks.rules import WebhookRules
from stepwell.runs.webhooks.sender import DELAYS_S, HOLD_S, MAX_DELIVERY_ATTEMPTS, WebhookSender
from stepwell.settings import Secret

LOCAL = WebhookRules.allowing(["127.0.0.1"], secret=Secret("shared"))


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """Somebody's server. `answers` are given in turn, the last one for ever."""

    url: str = ""
    answers: list[int] = field(default_factory=lambda: [200])
    received: list[Received] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class MovableClock:
    moment: datetime = datetime(2030, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment

    def move(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            made.received.append(Received(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(made.answers.pop(0) if len(made.answers) > 1 else made.answers[0])
            for name, value in made.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_address[1]}/hook?a=1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield made
    server.shutdown()
    server.server_close()
    thread.join(60)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "stepwell.db")
    yield opened
    opened.close()


def finish(database: Database, clock, url: str, run_id: str = "run-1", body: bytes = b'{"run_id": "run-1"}') -> None:
    now = clock.now()
    run = Run(run_id, "thread", "anna", RunRequest("a", "g", webhook=url), "success", now, now)
    database.write_now(lambda connection: insert_webhook(connection, run, body))


def row(database: Database, run_id: str = "run-1"):
    return database.read_now(
        lambda c: tuple(c.execute("SELECT state, attempts, body FROM webhooks WHERE run_id = ?", (run_id,)).fetchone())
    )


def sender(database: Database, clock, rules: WebhookRules = LOCAL) -> WebhookSender:
    return WebhookSender(WebhookOutbox(database), clock, rules, poll_s=0.02)


async def until(condition, seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - the database has no event to wait for
            await asyncio.sleep(0.01)


async def tried(database: Database, clock: MovableClock, times: int) -> None:
    """Until so many attempts have been made and recorded: from then on, moving the clock makes the next one due."""

    def settled() -> bool:
        attempts, due_at = database.read_now(lambda c: tuple(c.execute("SELECT attempts, due_at FROM webhooks").fetchone()))
        return attempts == times and due_at != clock.now().timestamp() + HOLD_S  # held while it is tried

    await until(settled)


async def test_a_finished_run_is_told_signed_and_with_its_key(database, receiver):
    clock = SystemClock()
    finish(database, clock, receiver.url)
    async with sender(database, clock):
        await until(lambda: row(database)[0] == "delivered")
    (message,) = receiver.received
    assert (message.path, json.loads(message.body)) == ("/hook?a=1", {"run_id": "run-1"})
    assert message.headers["idempotency-key"] == "run-1"
    assert message.headers["content-type"] == "application/json"
    assert message.headers["host"] in receiver.url
    assert verify_signature(message.headers["stepwell-signature"], message.body, "shared", clock.now().timestamp())
    assert row(database) == ("delivered", 1, b"")


async def test_a_run_without_a_webhook_leaves_nothing(database):
    now = datetime.now(UTC)
    run = Run("run-1", "thread", "anna", RunRequest("a", "g"), "success", now, now)
    database.write_now(lambda connection: insert_webhook(connection, run, b"{}"))
    assert database.read_now(lambda c: c.execute("SELECT count(*) FROM webhooks").fetchone()[0]) == 0


async def test_a_receiver_that_fails_is_tried_again_later(database, receiver):
    clock = MovableClock()
    receiver.answers = [500, 429, 204]
    finish(database, clock, receiver.url)
    async with sender(database, clock):
        await tried(database, clock, 1)
        await asyncio.sleep(0.1)
        assert len(receiver.received) == 1, "not before its time"
        clock.move(DELAYS_S[0] + 1)
        await tried(database, clock, 2)
        clock.move(DELAYS_S[1] + 1)
        await until(lambda: row(database)[0] == "delivered")
    assert [message.headers["idempotency-key"] for message in receiver.received] == ["run-1"] * 3


async def test_after_the_last_try_it_is_given_up(database, receiver):
    clock = MovableClock()
    receiver.answers = [500]
    finish(database, clock, receiver.url)
    async with sender(database, clock):
        for attempts in range(1, MAX_DELIVERY_ATTEMPTS):
            await tried(database, clock, attempts)
            clock.move(DELAYS_S[-1] + 1)
        await until(lambda: row(database)[0] == "given_up")
        clock.move(10 * DELAYS_S[-1])
        await asyncio.sleep(0.1)
    assert len(receiver.received) == MAX_DELIVERY_ATTEMPTS == 8
    assert row(database)[2] == b""


async def test_what_was_not_delivered_survives_a_restart(database, receiver, tmp_path):
    clock = MovableClock()
    finish(database, clock, receiver.url)
    # A process that dies in the middle of a try: claimed, never settled.
    assert len(await WebhookOutbox(database).claim(clock.now().timestamp(), HOLD_S, 10)) == 1
    database.close()
    again = Database(tmp_path / "stepwell.db")
    try:
        clock.move(HOLD_S + 1)
        async with sender(again, clock):
            await until(lambda: row(again)[0] == "delivered")
    finally:
        again.close()
    assert len(receiver.received) == 1


async def test_a_redirect_is_not_followed(database, receiver):
    clock = MovableClock()
    receiver.answers, receiver.headers = [307], {"location": "/elsewhere"}
    finish(database, clock, receiver.url)
    async with sender(database, clock):
        await until(lambda: row(database)[1] == 1 and len(receiver.received) == 1)
        await asyncio.sleep(0.1)
    assert [message.path for message in receiver.received] == ["/hook?a=1"]
    assert row(database)[0] == "due"


async def test_a_proxy_of_the_environment_is_not_used(database, receiver, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    clock = SystemClock()
    finish(database, clock, receiver.url)
    async with sender(database, clock):
        await until(lambda: row(database)[0] == "delivered")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "https://169.254.169.254/", "/path"])
async def test_what_the_rules_forbid_is_refused_without_a_call(database, url):
    clock = MovableClock()
    finish(database, clock, url)
    async with sender(database, clock, WebhookRules()):
        await until(lambda: row(database)[0] == "refused")


async def test_a_name_that_leads_inside_is_refused_without_a_call(database, receiver):
    async def inside(host: str, port: int) -> list[str]:
        return ["93.184.216.34", "127.0.0.1"]

    clock = MovableClock()
    finish(database, clock, receiver.url.replace("127.0.0.1", "hooks.example").replace("http:", "https:"))
    async with sender(database, clock, replace(WebhookRules(), resolve=inside)):
        await until(lambda: row(database)[0] == "refused")
    assert receiver.received == []


async def test_the_address_that_was_checked_is_the_one_that_is_called(database, receiver):
    """A name that answers differently the second time gains nothing: nobody asks a second time."""
    asked = []

    async def once(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    clock = SystemClock()
    finish(database, clock, receiver.url.replace("127.0.0.1", "hooks.invalid"))
    rules = replace(WebhookRules.allowing(["hooks.invalid"]), resolve=once)
    async with sender(database, clock, rules):
        await until(lambda: row(database)[0] == "delivered")
    assert asked == ["hooks.invalid"]
    assert receiver.received[0].headers["host"].startswith("hooks.invalid:")


async def test_one_receiver_that_hangs_does_not_hold_up_another(database, receiver):
    called = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        called.set()
        await reader.read()
        writer.close()

    silent = await asyncio.start_server(hang, "127.0.0.1", 0)
    clock = SystemClock()
    finish(database, clock, f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}/", "slow")
    async with sender(database, clock):
        await asyncio.wait_for(called.wait(), 60)
        finish(database, clock, receiver.url, "quick")
        await until(lambda: row(database, "quick")[0] == "delivered", 5)
    assert row(database, "slow")[0] == "due"
    silent.close()
    await silent.wait_closed()


async def test_a_message_that_breaks_the_sender_is_given_up_in_the_end(database, receiver):
    async def broken(host: str, port: int) -> list[str]:
        raise RuntimeError("a resolver gone mad")

    clock = MovableClock()
    finish(database, clock, "https://hooks.example/", "mad")
    rules = replace(LOCAL, resolve=broken)
    async with sender(database, clock, rules):
        for attempts in range(1, MAX_DELIVERY_ATTEMPTS + 1):
            await until(lambda attempts=attempts: row(database, "mad")[1] == attempts)
            clock.move(HOLD_S + 1)
        await until(lambda: row(database, "mad")[0] == "given_up")
        finish(database, clock, receiver.url, "sound")
        await until(lambda: row(database, "sound")[0] == "delivered")
