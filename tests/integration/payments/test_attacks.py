"""What a payer may try who wants work for nothing, another's money or somebody's token. A real server that asks who one is, a real mint."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from langchain_core.tools import tool
from langgraph.types import interrupt
from tests.integration.payments.mints import MintProcess, buy
from tests.integration.payments.test_paid_server import tables_with
from tests.integration.server.conftest import serve

from stepwell import CashuPaymentMiddleware, create_deep_agent
from stepwell.payments.configuration import Charging
from stepwell.payments.pricing import FlatPrice
from stepwell.payments.wallet.mint import HttpMint
from stepwell.server.settings import ServerSettings
from stepwell.settings import Secret
from stepwell.testing import ScriptedModel, call, say, slow

pytestmark = pytest.mark.asyncio(loop_scope="module")

PRICE = 5
LONG = "word " * 60


def answer(asked: Any) -> Any:
    wish = asked.first_human.split()
    asks = asked.messages[-1].type == "human"
    if wish[0] == "talk":
        return slow(say(LONG), seconds_per_chunk=0.02)
    if wish[0] == "drawl":
        return slow(say(LONG), seconds_per_chunk=0.4)
    if wish[0] == "think":
        return slow(say("done"), seconds=3600)
    if wish[0] == "nap" and asks:
        return call("nap").saying(LONG)
    if wish[0] == "ask" and asks:
        return call("ask_user", question="Which?")
    return say("done")


@tool
async def nap() -> str:
    """Take long."""
    await asyncio.sleep(3600)
    return "slept"


@tool
def ask_user(question: str) -> str:
    """Ask the user."""
    return str(interrupt({"question": question}))


def make_paid() -> Any:
    return create_deep_agent(ScriptedModel.answering(answer), [nap], middleware=[CashuPaymentMiddleware()], name="paid")


@dataclass(frozen=True)
class Payer:
    """Somebody with a key."""

    http: httpx.AsyncClient
    mint: HttpMint
    process: MintProcess

    async def post(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        return await self.http.post(path, json=body, headers=headers)

    async def fund(self, sats: int, **more: Any) -> str:
        token = await buy(self.mint, self.process, sats)
        return str((await self.post("/api/wallet/fund", {"token": token, **more})).raise_for_status().json()["funding_id"])

    async def thread(self) -> str:
        return str((await self.post("/threads", {})).json()["thread_id"])

    async def stands(self, funding_id: str) -> dict[str, Any]:
        return dict((await self.http.get("/api/wallet/balance", params={"funding_id": funding_id})).raise_for_status().json())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("attacked")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def payers(folder: Path, mint_process: MintProcess) -> AsyncIterator[tuple[Payer, Payer]]:
    charging = Charging((mint_process.url,), FlatPrice(PRICE), Secret("cd" * 32), ("paid",))
    async with serve(folder, graphs={"paid": make_paid()}) as open_to_all:
        keys = [(await open_to_all.http.post("/api/keys", json={"user": name})).json()["key"] for name in ("anna", "bert")]
    graphs = {"paid": make_paid(), "free": create_deep_agent(ScriptedModel.answering(answer), [ask_user], name="free")}
    async with (
        serve(folder, ServerSettings(always_ask=True), graphs, charging=charging) as running,
        HttpMint(mint_process.url) as mint,
        httpx.AsyncClient(base_url=running.url, timeout=60, headers={"x-api-key": keys[0]}) as anna,
        httpx.AsyncClient(base_url=running.url, timeout=60, headers={"x-api-key": keys[1]}) as bert,
    ):
        payers = Payer(anna, mint, mint_process), Payer(bert, mint, mint_process)
        yield payers


def order(wish: str, funding_id: str | None = None, **more: Any) -> dict[str, Any]:
    config = {"config": {"configurable": {"funding_id": funding_id}}} if funding_id else {}
    return {"assistant_id": "paid", "input": {"messages": [{"role": "user", "content": wish}]}, **config, **more}


async def read_some(payer: Payer, path: str, body: dict[str, Any], *, words: int) -> str:
    """Start a streamed run, read until it has said so much, and leave. Gives the run's place."""
    async with payer.http.stream("POST", path, json={**body, "stream_mode": ["messages"]}) as response:
        async for line in response.aiter_lines():
            if line.count("word") >= words:
                break
        else:
            raise AssertionError("it has not said so much")
        return str(response.headers["content-location"])


async def until_ended(payer: Payer, place: str) -> None:
    while (run := await payer.http.get(place)).is_success and run.json()["status"] in ("pending", "running"):  # noqa: ASYNC110 - asked over HTTP
        await asyncio.sleep(0.02)


async def test_an_answer_that_is_read_and_then_stopped_is_paid_for(payers: tuple[Payer, Payer]) -> None:
    """Whoever stops a run at the last word has nearly all of the answer, in a stream and mostly in the thread too."""
    anna, _ = payers
    for action in ("interrupt", "rollback", "disconnect"):
        funding_id, thread_id = await anna.fund(64), await anna.thread()
        wish = order("talk", funding_id, on_disconnect="cancel" if action == "disconnect" else "continue")
        place = await read_some(anna, f"/threads/{thread_id}/runs/stream", wish, words=20)
        if action != "disconnect":
            await anna.post(f"{place}/cancel?wait=true&action={action}")
        await until_ended(anna, place)
        refund = (await anna.post("/api/wallet/refund", {"funding_id": funding_id})).json()
        assert refund["amount_sats"] == 64 - 1 - PRICE - 1, action


async def read_until_the_limit(payer: Payer, funding_id: str) -> tuple[int, list[dict[str, Any]]]:
    """How many words the run said before its time limit ended it, and the messages in the thread afterwards."""
    thread_id, words = await payer.thread(), 0
    body = {**order("drawl", funding_id), "stream_mode": ["messages-tuple"]}
    async with payer.http.stream("POST", f"/threads/{thread_id}/runs/stream", json=body, timeout=90) as response:
        async for line in response.aiter_lines():
            words += line.count("word")
        await until_ended(payer, str(response.headers["content-location"]))
    return words, (await payer.http.get(f"/threads/{thread_id}/state")).json()["values"]["messages"]


async def test_an_answer_that_is_read_until_the_time_limit_is_paid_for(tmp_path: Path, mint_process: MintProcess) -> None:
    charging = Charging((mint_process.url,), FlatPrice(PRICE), Secret("cd" * 32), ("paid",))
    async with (
        serve(tmp_path, ServerSettings(run_timeout_s=3), {"paid": make_paid()}, charging=charging) as running,
        HttpMint(mint_process.url) as mint,
    ):
        payer = Payer(running.http, mint, mint_process)
        for _ in range(5):  # a busy machine may need all of the time to begin
            funding_id = await payer.fund(64)
            words, messages = await read_until_the_limit(payer, funding_id)
            refund = (await payer.post("/api/wallet/refund", {"funding_id": funding_id})).json()
            if words:
                break
            assert refund["amount_sats"] == 64 - 1 - 1, "nothing was said"
    assert 0 < words < 60
    assert refund["amount_sats"] == 64 - 1 - PRICE - 1
    assert "word" in messages[-1]["content"], "what was paid for stays in the thread"


async def test_a_call_that_is_stopped_before_its_first_word_costs_nothing(payers: tuple[Payer, Payer]) -> None:
    anna, _ = payers
    funding_id, thread_id = await anna.fund(64), await anna.thread()
    run = (await anna.post(f"/threads/{thread_id}/runs", order("think", funding_id))).json()
    while not (await anna.stands(funding_id))["reserved"]:  # noqa: ASYNC110 - asked over HTTP
        await asyncio.sleep(0.02)
    await anna.post(f"/threads/{thread_id}/runs/{run['run_id']}/cancel?wait=true")
    stands = await anna.stands(funding_id)
    assert (stands["spent"], stands["reserved"]) == (0, 0)


async def test_an_answer_stands_that_is_stored_only_when_its_run_is_stopped(payers: tuple[Payer, Payer]) -> None:
    """With `durability: exit` nothing is stored before; the answer was read all the same, and is in the thread."""
    anna, _ = payers
    for action in ("interrupt", "rollback"):
        funding_id, thread_id = await anna.fund(64), await anna.thread()
        run = (await anna.post(f"/threads/{thread_id}/runs", order("nap", funding_id, durability="exit"))).json()
        while not (await anna.stands(funding_id))["spent"]:  # noqa: ASYNC110 - asked over HTTP
            await asyncio.sleep(0.02)
        await anna.post(f"/threads/{thread_id}/runs/{run['run_id']}/cancel?wait=true&action={action}")
        refund = (await anna.post("/api/wallet/refund", {"funding_id": funding_id})).json()
        assert refund["amount_sats"] == 64 - 1 - PRICE - 1, action


async def test_a_token_in_an_unusual_place_is_stored_nowhere(payers: tuple[Payer, Payer], folder: Path) -> None:
    """Neither for a graph that costs something nor for one that is free."""
    anna, _ = payers
    token = await buy(anna.mint, anna.process, 16)
    said = [{"role": "user", "content": "hello"}]
    thread_id = await anna.thread()
    paused = (await anna.post(f"/threads/{thread_id}/runs/wait", {**order("ask"), "assistant_id": "free"})).json()
    answer_id = paused["__interrupt__"][0]["id"]
    taken: tuple[dict[str, Any], ...] = (
        {"command": {"resume": {answer_id: {"payment_token": token, "choice": "a"}}}},
        {"command": {"update": [["payment_token", token], ["messages", said]]}},
    )
    refused: tuple[dict[str, Any], ...] = (
        {"command": {"goto": [{"node": "model", "input": {"payment_token": token, "messages": said}}]}},
        {"command": {"resume": [{"payment_token": token}]}},
        {"input": {"messages": said}, "metadata": {"payment_token": token}},
        {"input": {"messages": said}, "config": {"metadata": {"payment_token": token}}},
    )
    for body in taken:
        assert (await anna.post(f"/threads/{thread_id}/runs/wait", {"assistant_id": "free", **body})).status_code == 200, body
    for body in refused:
        for graph in ("free", "paid"):
            response = await anna.post(f"/threads/{thread_id}/runs/wait", {"assistant_id": graph, **body})
            assert (response.status_code, response.json()["code"]) == (400, "token_in_graph"), body
    made = await anna.post("/assistants", {"graph_id": "paid", "config": {"configurable": {"payment_token": token}}})
    assert (made.status_code, made.json()["code"]) == (400, "token_in_graph")
    assert tables_with(folder / "server.db", [token]) == set()
    pairs = {"assistant_id": "paid", "command": {"update": [["payment_token", token], ["messages", said]]}}
    paid = (await anna.post(f"/threads/{await anna.thread()}/runs/wait", pairs)).json()
    assert paid["payment_spent_sats"] == PRICE
