"""What a conversation with a paid assistant costs beyond its runs: messages to a run, side questions, rewinds, background tasks."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.integration.payments.mints import MintProcess, buy
from tests.integration.payments.test_paid_server import balance, fund, new_thread, post
from tests.integration.server.conftest import Server, serve
from tests.support.steered_agent import MODELS, TOOLS, work

from stepwell import CashuPaymentMiddleware, RewindMiddleware, create_deep_agent
from stepwell.payments.configuration import Charging
from stepwell.payments.pricing import FlatPrice
from stepwell.payments.wallet.mint import HttpMint
from stepwell.settings import Secret
from stepwell.testing import Asked, ScriptedModel, call, calls, say

pytestmark = pytest.mark.asyncio(loop_scope="module")

PRICE = 5
ASKED: list[str] = []
"""The last message of each model call."""


async def answer(asked: Asked) -> Any:
    """`hold MARK` answers when its gate is opened, `tool MARK` calls a tool that waits for it; `start N` starts background tasks; anything
    else is repeated."""
    last = asked.messages[-1]
    ASKED.append(last.text)
    match last.text.split():
        case ["hold", mark]:
            await MODELS[mark].pass_through()
        case ["tool", mark]:
            return call("work", mark=mark)
        case ["start", number]:
            return calls(*(_start(f"look {each}", "researcher") for each in range(int(number))))
        case ["served"]:
            return _start("look", "elsewhere")
    return say(f"heard {last.text}")


def _start(description: str, agent: str) -> Any:
    return call("start_async_task", description=description, subagent_type=agent)


def make_paid(name: str) -> Any:
    background: list[Any] = [
        {"name": "researcher", "description": "looks", "system_prompt": "Look.", "mode": "background"},
        {"name": "elsewhere", "description": "another assistant", "graph_id": "second"},
    ]
    return create_deep_agent(
        ScriptedModel.answering(answer),
        [work],
        middleware=[CashuPaymentMiddleware(), RewindMiddleware()],
        subagents=background if name == "paid" else [],
        name=name,
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def mint(mint_process: MintProcess) -> AsyncIterator[HttpMint]:
    async with HttpMint(mint_process.url) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory, mint_process: MintProcess) -> AsyncIterator[Server]:
    charging = Charging((mint_process.url,), FlatPrice(PRICE), Secret("ab" * 32), ("paid", "second"), deposit_sats=100)
    graphs = {"paid": make_paid("paid"), "second": make_paid("second")}
    async with serve(tmp_path_factory.mktemp("paid"), graphs=graphs, charging=charging) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def funding_id(server: Server, mint: HttpMint, mint_process: MintProcess) -> str:
    return await fund(server, await buy(mint, mint_process, 64))


def order(text: str, funding_id: str | None = None, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": text, "id": str(uuid.uuid4())}
    config = {"configurable": {"funding_id": funding_id}} if funding_id else {}
    return {"assistant_id": "paid", "input": {"messages": [message]}, "config": config, **more}


async def hold(server: Server, funding_id: str) -> tuple[str, str, str]:
    """The thread and the run of an assistant in the middle of its last model call, and what to release it with."""
    thread_id, mark = await new_thread(server), uuid.uuid4().hex
    run = (await post(server, f"/threads/{thread_id}/runs", order(f"hold {mark}", funding_id))).json()
    await MODELS[mark].reached.wait()
    return thread_id, run["run_id"], mark


async def steer(server: Server, thread_id: str, run_id: str, text: str, message_id: str | None = None) -> Any:
    message = {"content": text, **({"id": message_id} if message_id else {})}
    return await post(server, f"/threads/{thread_id}/runs/{run_id}/messages", {"message": message})


async def rest(server: Server, thread_id: str) -> Any:
    """The thread once nothing works on it."""
    async with asyncio.timeout(60):
        while (thread := (await server.http.get(f"/threads/{thread_id}")).json())["status"] == "busy":  # noqa: ASYNC110 - nobody announces it
            await asyncio.sleep(0.02)
    return thread


def texts(thread: Any, kind: str) -> list[str]:
    return [message["content"] for message in thread["values"]["messages"] if message["type"] == kind]


async def test_a_message_that_comes_too_late_is_paid_for_like_any_run(server: Server, funding_id: str) -> None:
    thread_id, run_id, mark = await hold(server, funding_id)
    assert (await steer(server, thread_id, run_id, "and this")).status_code == 202
    MODELS[mark].open.set()
    assert texts(await rest(server, thread_id), "ai") == [f"heard hold {mark}", "heard and this"]
    assert (await balance(server, funding_id))["spent"] == 2 * PRICE


async def test_a_strategy_that_steers_is_paid_for_too(server: Server, funding_id: str) -> None:
    thread_id, run_id, mark = await hold(server, funding_id)
    sent = await post(server, f"/threads/{thread_id}/runs", order("and this", multitask_strategy="steer"))
    assert sent.json()["run_id"] == run_id
    MODELS[mark].open.set()
    assert texts(await rest(server, thread_id), "ai")[-1] == "heard and this"
    assert (await balance(server, funding_id))["spent"] == 2 * PRICE


async def spend_back(server: Server, funding_id: str) -> tuple[str, str, str]:
    """The thread and the run of an assistant whose tool works while its payer takes the money back. Before that, `m1` was sent."""
    thread_id, mark = await new_thread(server), uuid.uuid4().hex
    run = (await post(server, f"/threads/{thread_id}/runs", order(f"tool {mark}", funding_id))).json()
    await TOOLS[mark].reached.wait()
    assert (await steer(server, thread_id, run["run_id"], "before", "m1")).status_code == 202
    assert (await post(server, "/api/wallet/refund", {"funding_id": funding_id})).status_code == 200
    return thread_id, run["run_id"], mark


async def test_a_message_is_refused_if_nobody_pays_for_it(server: Server, funding_id: str) -> None:
    thread_id, run_id, mark = await spend_back(server, funding_id)
    refused = await steer(server, thread_id, run_id, "and this")
    assert (refused.status_code, refused.json()["code"]) == (409, "session_closed")
    steered = await post(server, f"/threads/{thread_id}/runs", order("and this", multitask_strategy="steer"))
    assert (steered.status_code, steered.json()["code"]) == (402, "payment_required")
    again = await steer(server, thread_id, run_id, "before", "m1")
    assert (again.status_code, again.json()["status"]) == (202, "waiting"), "what was accepted before is known"
    waiting = (await server.http.get(f"/threads/{thread_id}/waiting-messages")).json()["messages"]
    assert [message["message_id"] for message in waiting] == ["m1"]
    TOOLS[mark].open.set()
    thread = await rest(server, thread_id)
    assert question_of(thread)["type"] == "payment_exhausted"
    waiting = (await server.http.get(f"/threads/{thread_id}/waiting-messages")).json()["messages"]
    assert [message["message_id"] for message in waiting] == ["m1"], "and waits for whoever pays"


async def test_a_message_that_the_session_cannot_pay_for_asks_for_more(
    server: Server, mint: HttpMint, mint_process: MintProcess
) -> None:
    """It was accepted, so it is not lost; and nothing is answered before somebody pays."""
    funding_id = await fund(server, await buy(mint, mint_process, 9))
    thread_id, run_id, mark = await hold(server, funding_id)
    text = f"and {mark}"
    assert (await steer(server, thread_id, run_id, text)).status_code == 202
    MODELS[mark].open.set()
    thread = await rest(server, thread_id)
    assert question_of(thread)["type"] == "payment_exhausted"
    assert texts(thread, "human")[-1] == text
    assert text not in ASKED


def question_of(thread: Any) -> Any:
    (asked,) = [each for several in thread["interrupts"].values() for each in several]
    return asked["value"]


async def test_a_side_question_is_paid_by_the_thread_s_session(server: Server, funding_id: str) -> None:
    thread_id = await new_thread(server)
    await post(server, f"/threads/{thread_id}/runs/wait", order("one", funding_id))
    said = await post(server, f"/threads/{thread_id}/side-question", {"question": "aside"})
    assert (said.status_code, said.json()["answer"]) == (200, "heard aside"), said.text
    assert (await balance(server, funding_id))["spent"] == 2 * PRICE
    usage = (await server.http.get("/api/usage", params={"group_by": "thread", "thread_id": thread_id})).json()
    assert sum(row["calls"] for row in usage) == 2, "it counts as the thread's"


async def test_a_side_question_that_nobody_pays_for_is_refused(
    server: Server, mint: HttpMint, mint_process: MintProcess
) -> None:
    funding_id = await fund(server, await buy(mint, mint_process, 9))
    thread_id = await new_thread(server)
    await post(server, f"/threads/{thread_id}/runs/wait", order("one", funding_id))
    text = f"aside {thread_id}"
    short = await post(server, f"/threads/{thread_id}/side-question", {"question": text})
    assert (short.status_code, short.json()["code"]) == (409, "SIDE_QUESTION_PAUSED"), short.text
    assert "costs up to 5 sats" in short.json()["detail"] or "sats" in short.json()["detail"]
    await post(server, "/api/wallet/refund", {"funding_id": funding_id})
    refused = await post(server, f"/threads/{thread_id}/side-question", {"question": text})
    assert refused.status_code in (402, 409)
    assert text not in ASKED


async def test_a_rewind_costs_nothing(server: Server, funding_id: str) -> None:
    thread_id = await new_thread(server)
    bodies = [order("one", funding_id), order("two", funding_id)]
    for body in bodies:
        await post(server, f"/threads/{thread_id}/runs/wait", body)
    before = len(ASKED)
    second, first = (body["input"]["messages"][0]["id"] for body in reversed(bodies))
    gone_back = await post(server, f"/threads/{thread_id}/rewind", {"turn_id": second})
    assert (gone_back.status_code, gone_back.json()["can_rewind"]) == (200, True), gone_back.text
    assert (await balance(server, funding_id))["spent"] == 2 * PRICE
    await post(server, "/api/wallet/refund", {"funding_id": funding_id})
    unpaid = await post(server, f"/threads/{thread_id}/rewind", {"turn_id": first})
    assert (unpaid.status_code, unpaid.json().get("can_rewind")) == (200, True), unpaid.text
    assert (await rest(server, thread_id))["values"].get("messages", []) == []
    assert len(ASKED) == before


async def test_an_order_to_rewind_buys_no_answer(server: Server) -> None:
    """A client may write such an order itself, without money: no model is asked."""
    thread_id, before = await new_thread(server), len(ASKED)
    turn = {"turn_id": "x", "rewind_id": "y", "head": "z", "last_message": None, "force": True}
    for given in ({"rewind": turn}, {"rewind": None}, {"rewind": {}}):
        await post(server, f"/threads/{thread_id}/runs/wait", {"assistant_id": "paid", "input": given})
        await rest(server, thread_id)
    assert len(ASKED) == before


async def tasks(server: Server, thread_id: str, *, number: int) -> list[Any]:
    """The thread's tasks, once none is under way and the parent has heard of all."""
    async with asyncio.timeout(60):
        while True:
            await rest(server, thread_id)
            found: list[Any] = (await server.http.get(f"/threads/{thread_id}/background-tasks")).json()["tasks"]
            woken = {
                task["task_id"] for task in found for text in ASKED if text.startswith(f"Background task {task['task_id']}")
            }
            if len(found) == len(woken) == number:
                await rest(server, thread_id)
                return found
            await asyncio.sleep(0.02)


async def test_background_tasks_and_wakes_are_paid_by_the_parent_s_session(server: Server, funding_id: str) -> None:
    thread_id = await new_thread(server)
    await post(server, f"/threads/{thread_id}/runs/wait", order("start 2", funding_id))
    assert {task["status"] for task in await tasks(server, thread_id, number=2)} == {"success"}
    assert (await balance(server, funding_id))["spent"] == (2 + 2 + 2) * PRICE, "two of the parent, two tasks, two wakes"


async def test_another_assistant_in_the_background_is_paid_by_the_parent_s_session(server: Server, funding_id: str) -> None:
    thread_id = await new_thread(server)
    await post(server, f"/threads/{thread_id}/runs/wait", order("served", funding_id))
    (task,) = await tasks(server, thread_id, number=1)
    assert task["status"] == "success"
    assert (await balance(server, funding_id))["spent"] == (2 + 1 + 1) * PRICE


async def test_a_person_who_writes_to_a_task_pays_too(server: Server, funding_id: str) -> None:
    thread_id = await new_thread(server)
    await post(server, f"/threads/{thread_id}/runs/wait", order("start 1", funding_id))
    (task,) = await tasks(server, thread_id, number=1)
    before = (await balance(server, funding_id))["spent"]
    said = await post(server, f"/threads/{task['thread_id']}/runs/wait", order("more"))
    assert said.json()["messages"][-1]["content"] == "heard more"
    assert (await balance(server, funding_id))["spent"] == before + PRICE
