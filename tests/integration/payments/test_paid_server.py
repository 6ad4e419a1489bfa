"""A server that charges, with a real mint: what a client that speaks HTTP sees of it."""

from __future__ import annotations

import asyncio
import base64
import json
import sqlite3
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import cbor2
import pytest
import pytest_asyncio
from tests.integration.payments.mints import MintProcess, buy
from tests.integration.server.conftest import Server, serve

from stepwell import CashuPaymentMiddleware, create_deep_agent
from stepwell.payments.cashu.tokens import decode_token
from stepwell.payments.charges import stored_charges
from stepwell.payments.configuration import Charging
from stepwell.payments.pricing import FlatPrice
from stepwell.payments.service import Payments
from stepwell.payments.states import CHARGED
from stepwell.payments.wallet.mint import HttpMint
from stepwell.settings import Secret
from stepwell.testing import ScriptedModel, call, say

pytestmark = pytest.mark.asyncio(loop_scope="module")

PRICE = 5


def answer(asked: Any) -> Any:
    """As many calls as the user asks for: `work 3` plans twice and then answers."""
    wanted = int(str(asked.messages[-1 if asked.messages[-1].type == "human" else _last_human(asked)].content).split()[-1])
    done = sum(1 for message in asked.messages[_last_human(asked) :] if message.type == "tool")
    if done + 1 < wanted:
        return call("write_todos", todos=[{"content": f"step {done}", "status": "pending"}])
    return say("done")


def _last_human(asked: Any) -> int:
    return max(index for index, message in enumerate(asked.messages) if message.type == "human")


def make_paid() -> Any:
    return create_deep_agent(ScriptedModel.answering(answer), middleware=[CashuPaymentMiddleware()], name="paid")


def make_free() -> Any:
    return create_deep_agent(ScriptedModel.answering(answer), name="free")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def mint(mint_process: MintProcess) -> AsyncIterator[HttpMint]:
    async with HttpMint(mint_process.url) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("paid")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(folder: Path, mint_process: MintProcess) -> AsyncIterator[Server]:
    charging = Charging((mint_process.url,), FlatPrice(PRICE), Secret("ab" * 32), ("paid",), deposit_sats=100)
    async with serve(folder, graphs={"paid": make_paid(), "free": make_free()}, charging=charging) as running:
        yield running


def order(calls: int, graph: str = "paid", **more: Any) -> dict[str, Any]:
    return {"assistant_id": graph, "input": {"messages": [{"role": "user", "content": f"work {calls}"}]}, **more}


async def new_thread(server: Server) -> str:
    return str((await server.http.post("/threads", json={})).json()["thread_id"])


async def post(server: Server, path: str, body: Any, **headers: str) -> Any:
    return await server.http.post(path, json=body, headers=headers)


async def fund(server: Server, token: str, **more: Any) -> str:
    response = await post(server, "/api/wallet/fund", {"token": token, **more})
    assert response.status_code == 200, response.text
    return str(response.json()["funding_id"])


async def balance(server: Server, funding_id: str) -> dict[str, Any]:
    return dict((await server.http.get("/api/wallet/balance", params={"funding_id": funding_id})).json())


async def get_change(server: Server, funding_id: str) -> int:
    refund = (await post(server, "/api/wallet/refund", {"funding_id": funding_id})).json()
    first = (await post(server, "/api/wallet/claim", {"refund_id": refund["refund_id"]})).json()
    again = (await post(server, "/api/wallet/claim", {"refund_id": refund["refund_id"]})).json()
    assert first == again
    return sum(proof.amount for proof in decode_token(first["token"]).proofs)


async def test_a_token_pays_for_runs_and_the_rest_comes_back(server: Server, mint: HttpMint, mint_process: MintProcess) -> None:
    """P1, P2, P4: over HTTP."""
    token = await buy(mint, mint_process, 100)
    worth = (await post(server, "/api/wallet/validate", {"token": token})).json()
    assert (worth["ok"], worth["amount_sats"], worth["net_sats"], worth["mint"]) == (True, 100, 99, mint.url)
    funding_id = await fund(server, token, ceiling_sats=60)
    assert (await balance(server, funding_id))["state"] == "authorized"
    thread_id = await new_thread(server)
    first = await post(server, f"/threads/{thread_id}/runs/wait", order(3, config={"configurable": {"funding_id": funding_id}}))
    assert first.json()["payment_spent_sats"] == 3 * PRICE
    second = await post(server, f"/threads/{thread_id}/runs/wait", order(2))
    assert second.json()["payment_spent_sats"] == 5 * PRICE, "a thread goes on with the session it has"
    stands = await balance(server, funding_id)
    assert (stands["spent"], stands["balance"], stands["ceiling"], stands["state"]) == (25, 99 - 25, 60, "active")
    history = (await server.http.get("/api/wallet/history", params={"funding_id": funding_id})).json()
    kinds = [line["kind"] for line in history]
    assert kinds.count("charge") == 5
    assert sum(line["amount_sats"] for line in history if line["kind"] == "credit") == 100
    assert await fund(server, token) == funding_id, "the same token again gives the same answer"
    assert await get_change(server, funding_id) == 99 - 25 - 1
    ended = await post(server, f"/threads/{thread_id}/runs/wait", order(1, config={"configurable": {"funding_id": funding_id}}))
    assert (ended.status_code, ended.json()["code"]) == (409, "session_closed")


async def test_a_token_is_handed_in_once_for_each_key(server: Server, mint: HttpMint, mint_process: MintProcess) -> None:
    key = {"Idempotency-Key": str(uuid.uuid4())}
    before = len((await server.http.get("/api/wallet/sessions")).json())
    refused = await post(server, "/api/wallet/fund", {"token": "cashuBnot-a-token"}, **key)
    assert refused.status_code == 400, "refused, so that the key is still free"
    body = {"token": await buy(mint, mint_process, 20)}
    told = await asyncio.gather(*(post(server, "/api/wallet/fund", body, **key) for _ in range(3)))
    assert [each.status_code for each in told] == [200, 200, 200]
    assert len({each.text for each in told}) == 1
    other = await post(server, "/api/wallet/fund", {"token": await buy(mint, mint_process, 20)}, **key)
    assert (other.status_code, "another request" in other.json()["detail"]) == (422, True)
    assert len((await server.http.get("/api/wallet/sessions")).json()) == before + 1


async def test_nobody_pays_nothing_starts(server: Server) -> None:
    """A priced assistant without money is 402, with a request that a wallet reads; nothing has begun."""
    thread_id = await new_thread(server)
    for path in (
        f"/threads/{thread_id}/runs",
        f"/threads/{thread_id}/runs/wait",
        f"/threads/{thread_id}/runs/stream",
        "/runs/wait",
    ):
        refused = await post(server, path, order(1))
        assert (refused.status_code, refused.headers["content-type"]) == (402, "application/problem+json")
        form, content = refused.headers["X-Cashu"][:5], refused.headers["X-Cashu"][5:]
        asked = cbor2.loads(base64.urlsafe_b64decode(content + "=="))
        mints = [server.services.find(Payments).cashier.wallet.accepted_mints[0]]
        assert (form, asked["a"], asked["u"], asked["m"]) == ("creqA", 100, "sat", mints)
    assert (await server.http.get(f"/threads/{thread_id}/runs")).json() == []
    free = await post(server, "/runs/wait", order(1, "free"))
    assert free.status_code == 200


async def test_money_runs_short_and_the_run_goes_on(server: Server, mint: HttpMint, mint_process: MintProcess) -> None:
    """P3: also where something is left, but less than a call costs. Nothing that was done is done again."""
    funding_id = await fund(server, await buy(mint, mint_process, 9))
    thread_id = await new_thread(server)
    paused = await post(
        server, f"/threads/{thread_id}/runs/wait", order(3, config={"configurable": {"funding_id": funding_id}})
    )
    (interrupt,) = paused.json()["__interrupt__"]
    asked = interrupt["value"]
    assert (asked["type"], asked["needed_sats"], asked["balance_sats"], asked["spent_sats"]) == ("payment_exhausted", 5, 3, 5)
    assert asked["accepted_mints"] == [mint.url]
    wrong = await post(
        server, f"/threads/{thread_id}/runs/wait", {"assistant_id": "paid", "command": {"resume": {interrupt["id"]: True}}}
    )
    assert wrong.status_code == 422
    await fund(server, await buy(mint, mint_process, 20), funding_id=funding_id)
    resume = {"assistant_id": "paid", "command": {"resume": {interrupt["id"]: {"funding_id": funding_id}}}}
    done = (await post(server, f"/threads/{thread_id}/runs/wait", resume)).json()
    assert done["messages"][-1]["content"] == "done"
    assert done["payment_spent_sats"] == 3 * PRICE
    assert sum(1 for message in done["messages"] if message["type"] == "ai") == 3


async def test_declining_to_pay_ends_the_run_with_a_sentence(server: Server, mint: HttpMint, mint_process: MintProcess) -> None:
    funding_id = await fund(server, await buy(mint, mint_process, 7))
    thread_id = await new_thread(server)
    body = order(2, config={"configurable": {"funding_id": funding_id}})
    paused = (await post(server, f"/threads/{thread_id}/runs/wait", body)).json()
    resume = {paused["__interrupt__"][0]["id"]: {"cancel": True}}
    done = await post(server, f"/threads/{thread_id}/runs/wait", {"assistant_id": "paid", "command": {"resume": resume}})
    assert "nobody paid" in done.json()["messages"][-1]["content"]
    assert (await balance(server, funding_id))["spent"] == PRICE


async def test_declining_needs_no_money(server: Server, mint: HttpMint, mint_process: MintProcess) -> None:
    """The session was paid back while the run waited: it can still be ended."""
    funding_id = await fund(server, await buy(mint, mint_process, 9))
    thread_id = await new_thread(server)
    body = order(2, config={"configurable": {"funding_id": funding_id}})
    paused = (await post(server, f"/threads/{thread_id}/runs/wait", body)).json()
    await post(server, "/api/wallet/refund", {"funding_id": funding_id})
    resume = {paused["__interrupt__"][0]["id"]: {"cancel": True}}
    done = await post(server, f"/threads/{thread_id}/runs/wait", {"assistant_id": "paid", "command": {"resume": resume}})
    assert "nobody paid" in done.json()["messages"][-1]["content"]


async def test_paying_in_band(server: Server, mint: HttpMint, mint_process: MintProcess) -> None:
    """A token in `X-Cashu`, the change in the same header of the response, or in the last event of a stream."""
    waited = await post(server, "/runs/wait", order(2), **{"X-Cashu": await buy(mint, mint_process, 64)})
    assert waited.status_code == 200, waited.text
    assert _worth(waited.headers["X-Cashu"]) == 64 - 1 - 2 * PRICE - 1
    streamed = await post(server, "/runs/stream", order(2), **{"X-Cashu": await buy(mint, mint_process, 64)})
    name, data = streamed.text.strip().split("\n\n")[-1].split("\n")
    assert name == "event: payment"
    assert _worth(json.loads(data.removeprefix("data: "))["change"]) == 64 - 1 - 2 * PRICE - 1
    spare = await buy(mint, mint_process, 8)
    free = await post(server, "/runs/wait", order(1, "free"), **{"X-Cashu": spare})
    assert free.headers["X-Cashu"] == spare, "what is free costs nothing, and the token comes back as it was"
    refused = await post(server, "/runs/wait", order(1), **{"X-Cashu": waited.headers["X-Cashu"][:-9]})
    assert refused.status_code == 400


async def test_a_token_that_went_back_untouched_pays_in_band(server: Server, mint: HttpMint, mint_process: MintProcess) -> None:
    token = await buy(mint, mint_process, 64)
    assert await get_change(server, await fund(server, token)) == 64, "nothing was taken"
    waited = await post(server, "/runs/wait", order(1), **{"X-Cashu": token})
    assert (waited.status_code, _worth(waited.headers["X-Cashu"])) == (200, 64 - 1 - PRICE - 1), waited.text


async def test_in_band_change_of_a_paused_run_stays_in_its_session(
    server: Server, mint: HttpMint, mint_process: MintProcess
) -> None:
    thread_id = await new_thread(server)
    token = await buy(mint, mint_process, 8)
    paused = await post(server, f"/threads/{thread_id}/runs/wait", order(3), **{"X-Cashu": token})
    assert "X-Cashu" not in paused.headers
    funding_id = paused.headers["X-Stepwell-Funding-Id"]
    assert await fund(server, token) == funding_id, "also for whoever lost the response"
    assert (await balance(server, funding_id))["balance"] == 8 - 1 - PRICE


async def test_a_raw_token_of_an_older_client_is_exchanged(
    server: Server, folder: Path, mint: HttpMint, mint_process: MintProcess
) -> None:
    """In the input, and in an answer: it is stored nowhere but in the ledger."""
    first, second = await buy(mint, mint_process, 8), await buy(mint, mint_process, 32)
    thread_id = await new_thread(server)
    body = order(3)
    body["input"]["payment_token"] = first
    paused = (await post(server, f"/threads/{thread_id}/runs/wait", body)).json()
    (interrupt,) = paused["__interrupt__"]
    resume = {"assistant_id": "paid", "command": {"resume": {interrupt["id"]: {"payment_token": second}}}}
    done = (await post(server, f"/threads/{thread_id}/runs/wait", resume)).json()
    assert done["messages"][-1]["content"] == "done"
    assert done["payment_spent_sats"] == 3 * PRICE
    secrets = [proof.secret for token in (first, second) for proof in decode_token(token).proofs]
    found = tables_with(folder / "server.db", [first, second, *secrets])
    assert found <= {"payment_fundings", "payment_operations", "payment_inputs", "payment_proofs", "payment_tokens"}, found
    written = await post(server, f"/threads/{thread_id}/state", {"values": {"payment_token": first}})
    assert (written.status_code, written.json()["code"]) == (400, "token_in_graph")


async def test_the_same_token_fifty_times_at_once_is_one_credit(
    server: Server, mint: HttpMint, mint_process: MintProcess
) -> None:
    token = await buy(mint, mint_process, 64)
    funded = await asyncio.gather(*(post(server, "/api/wallet/fund", {"token": token}) for _ in range(50)))
    (funding_id,) = {response.json()["funding_id"] for response in funded}
    config = {"configurable": {"funding_id": funding_id}}
    runs = await asyncio.gather(*(post(server, "/runs/wait", order(1, config=config)) for _ in range(20)))
    paid = [run for run in runs if "__interrupt__" not in run.json()]
    stands = await balance(server, funding_id)
    assert (stands["funded"], len(paid), stands["spent"], stands["balance"]) == (64, 12, 60, 3)
    assert stands["reserved"] == 0


async def test_what_does_not_fit_is_said(server: Server, mint: HttpMint, mint_process: MintProcess) -> None:
    for token, code in (("cashuBgarbage", "token_damaged"), ("hello", "token_malformed")):
        looked = (await post(server, "/api/wallet/validate", {"token": token})).json()
        assert (looked["ok"], looked["code"]) == (False, code)
        assert (await post(server, "/api/wallet/fund", {"token": token})).status_code == 400
    assert (await server.http.get("/api/wallet/balance", params={"funding_id": "nobody's"})).status_code == 404
    assert (await post(server, "/api/wallet/refund", {"funding_id": "nobody's"})).status_code == 404
    nobody = order(1, config={"configurable": {"funding_id": "nobody's"}})
    assert (await post(server, "/runs/wait", nobody)).status_code == 404
    spent = await buy(mint, mint_process, 16)
    await get_change(server, await _spend_all(server, spent))
    looked = (await post(server, "/api/wallet/validate", {"token": spent})).json()
    assert (looked["ok"], looked["code"]) == (False, "token_spent")


async def test_prices_are_shown_and_cannot_be_set(server: Server, mint: HttpMint, mint_process: MintProcess) -> None:
    pricing = (await server.http.get("/api/wallet/pricing")).json()
    assert pricing["price"] == {"kind": "flat", "sats_per_call": PRICE}
    assert (pricing["charged"], pricing["graphs"], pricing["mints"]) == (True, ["paid"], [mint.url])
    funding_id = await fund(server, await buy(mint, mint_process, 16))
    cheap = {"funding_id": funding_id, "sats_per_call": 0, "price": 0, "__stepwell_payments": {"meter": None}}
    await post(server, "/runs/wait", order(1, config={"configurable": cheap}))
    assert (await balance(server, funding_id))["spent"] == PRICE


async def test_a_copy_is_paid_for_by_the_same_session(server: Server, mint: HttpMint, mint_process: MintProcess) -> None:
    """Copies and older checkpoints: every answer that is kept is charged once."""
    funding_id = await fund(server, await buy(mint, mint_process, 100))
    thread_id = await new_thread(server)
    await post(server, f"/threads/{thread_id}/runs/wait", order(2, config={"configurable": {"funding_id": funding_id}}))
    copy = (await server.http.post(f"/threads/{thread_id}/copy")).json()["thread_id"]
    for thread in (copy, thread_id):
        assert (await post(server, f"/threads/{thread}/runs/wait", order(1))).status_code == 200
    assert (await balance(server, funding_id))["spent"] == 4 * PRICE
    checkpoints = (await server.http.get(f"/threads/{thread_id}/history", params={"limit": 50})).json()
    before = next(state for state in reversed(checkpoints) if state["next"] and len(state["values"].get("messages", [])) == 1)
    again = {"assistant_id": "paid", "checkpoint_id": before["checkpoint"]["checkpoint_id"]}
    assert (await post(server, f"/threads/{thread_id}/runs/wait", again)).status_code == 200
    assert (await balance(server, funding_id))["spent"] == 6 * PRICE
    await server.http.delete(f"/threads/{thread_id}")
    await server.http.delete(f"/threads/{copy}")
    assert (await balance(server, funding_id))["spent"] == 6 * PRICE


async def test_a_charge_counts_as_stored_in_a_thread_that_is_written_at_the_end_only(
    server: Server, mint: HttpMint, mint_process: MintProcess
) -> None:
    """Or the answer of a run that ran out of time would be in the thread, and its charge taken back."""
    funding_id, thread_id = await fund(server, await buy(mint, mint_process, 64)), await new_thread(server)
    body = order(2, config={"configurable": {"funding_id": funding_id}}, durability="exit")
    answer = (await post(server, f"/threads/{thread_id}/runs/wait", body)).json()
    assert CHARGED not in answer, "clients see no bookkeeping"
    stored = await server.services.persistence.saver().aget_tuple(
        {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
    )
    assert stored is not None
    key = stored.checkpoint["channel_values"][CHARGED]
    assert (await stored_charges(server.services.persistence, thread_id, [key, "another"])).kept == {key}


async def _spend_all(server: Server, token: str) -> str:
    funding_id = await fund(server, token)
    await post(server, "/runs/wait", order(1, config={"configurable": {"funding_id": funding_id}}))
    return funding_id


def _worth(token: str) -> int:
    return sum(proof.amount for proof in decode_token(token).proofs)


def tables_with(database: Path, needles: list[str]) -> set[str]:
    """The tables that have one of these texts anywhere."""
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables}
    wanted = [needle.encode() for needle in needles]
    return {
        table
        for table, found in rows.items()
        for row in found
        for value in row
        if any(needle in (value if isinstance(value, bytes) else str(value).encode()) for needle in wanted)
    }
