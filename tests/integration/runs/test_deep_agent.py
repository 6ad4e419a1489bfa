"""A deep agent on the engine: incremental state in our saver, approvals of the agent and of subagents that run side by side."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.errors import AnswerShapeError

from .conftest import OpenRuns, Runs

ASK = {"messages": [{"role": "user", "content": "go"}]}
APPROVE = {"decisions": [{"type": "approve"}]}


async def test_approvals_of_parallel_subagents_are_answered_one_by_one(runs: Runs, thread_id: str) -> None:
    """D6, D10: each answer resumes exactly its question; nobody's work is done twice."""
    await runs.result(await runs.start("deep", thread_id, input=ASK))
    assert await _answer_all(runs, thread_id) == 3
    await _check(runs, thread_id)


async def test_approvals_outlive_the_server(open_runs: OpenRuns, thread_id: str) -> None:
    """D10: a restart between every two answers changes nothing."""
    async with open_runs() as runs:
        await runs.result(await runs.start("deep", thread_id, input=ASK))
    for left in (2, 1, 0):
        async with open_runs() as runs:
            await _answer_first(runs, thread_id)
            assert bool((await runs.thread(thread_id)).interrupts) is (left > 0)
            if not left:
                await _check(runs, thread_id)


async def _answer_all(runs: Runs, thread_id: str) -> int:
    answered = 0
    while (await runs.thread(thread_id)).interrupts:
        await _answer_first(runs, thread_id)
        answered += 1
    return answered


async def _answer_first(runs: Runs, thread_id: str) -> Any:
    question = (await runs.thread(thread_id)).interrupts[0]
    return await runs.result(await runs.start("deep", thread_id, command={"resume": {question.interrupt_id: APPROVE}}))


async def _check(runs: Runs, thread_id: str) -> None:
    thread = await runs.thread(thread_id)
    assert thread.status == "idle"
    assert thread.values is not None
    assert sorted(thread.values["files"]) == ["/helper-0.md", "/helper-1.md", "/note.md"]
    assert [message["type"] for message in thread.values["messages"]] == [
        "human",
        "ai",
        "tool",
        "tool",
        "ai",
        "tool",
        "tool",
        "ai",
    ]
    assert thread.values["messages"][-1]["content"] == "all done"


async def test_one_wrong_answer_of_several_leaves_all_of_them_open(runs: Runs, thread_id: str) -> None:
    """Two subagents wait side by side: neither begins while the other's answer is none."""
    await runs.result(await runs.start("deep", thread_id, input=ASK))
    await _answer_first(runs, thread_id)
    asked = (await runs.thread(thread_id)).interrupts
    assert len(asked) == 2
    wrong = {asked[0].interrupt_id: APPROVE, asked[1].interrupt_id: True}
    with pytest.raises(AnswerShapeError) as refused:
        await runs.start("deep", thread_id, command={"resume": wrong})
    assert refused.value.interrupt_ids == (asked[1].interrupt_id,)
    assert (await runs.thread(thread_id)).interrupts == asked
    assert await _answer_all(runs, thread_id) == 2
    await _check(runs, thread_id)
