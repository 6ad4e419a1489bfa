"""A run from its order to its end, on a real database: ends, questions, strategies, cancelling, restarts."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from pathlib import Path

import orjson
import pytest

from stepwell.errors import InterruptAnsweredError, NotFoundError, ResumeError, ThreadBusyError

from .conftest import OWNER, OpenRuns, Runs, new_id


async def test_a_run_journals_what_it_says_and_ends(runs: Runs, thread_id: str) -> None:
    run = await runs.start("two", thread_id, input={"words": ["say"]}, stream_modes=["values", "updates"])
    events = await runs.events(run)
    assert [event.event for event in events] == ["metadata", "values", "updates", "values", "updates", "values", "end"]
    assert [event.seq for event in events] == list(range(1, 8))
    assert orjson.loads(events[-1].data) == {"run_id": run.run_id, "status": "success"}
    thread = await runs.thread(thread_id)
    assert (thread.status, thread.values) == ("idle", {"words": ["say", "hello", "world"]})
    assert thread.metadata["graph_id"] == "two"


async def test_only_the_modes_that_were_asked_for_are_sent(runs: Runs, thread_id: str) -> None:
    run = await runs.start("two", thread_id, input={"words": []}, stream_modes=["values", "updates"])
    assert {event.event for event in await runs.events(run, modes=["updates"])} == {"metadata", "updates", "end"}


async def test_a_second_run_goes_on_from_the_first(runs: Runs, thread_id: str) -> None:
    await runs.result(await runs.start("two", thread_id, input={"words": ["1"]}))
    result = await runs.result(await runs.start("two", thread_id, input={"words": ["2"]}))
    assert result == {"words": ["1", "hello", "world", "2", "hello", "world"]}


async def test_a_failing_run_says_why_and_keeps_its_finished_steps(runs: Runs, thread_id: str) -> None:
    run = await runs.start("failing", thread_id, input={"words": []})
    assert await runs.result(run) == {"__error__": {"error": "ValueError", "message": "the third word is missing"}}
    assert [event.event for event in (await runs.events(run))[-2:]] == ["error", "end"]
    thread = await runs.thread(thread_id)
    assert (thread.status, thread.values) == ("error", {"words": ["hello"]})


async def test_a_stateless_run_leaves_no_thread_to_be_listed(runs: Runs) -> None:
    run = await runs.start("two", None, input={"words": []})
    assert await runs.result(run) == {"words": ["hello", "world"]}


async def test_a_question_pauses_the_thread_and_its_answer_goes_on(runs: Runs, thread_id: str) -> None:
    run = await runs.start("asking", thread_id, input={"words": []}, stream_modes=[])
    result = await runs.result(run)
    (question,) = (await runs.thread(thread_id)).interrupts
    asked = {"value": {"question": "which word?"}, "id": question.interrupt_id, "response_schema": None}
    assert result["__interrupt__"] == [asked]
    assert ((await runs.run(run)).status, (await runs.thread(thread_id)).status) == ("success", "interrupted")
    resumed = await runs.start("asking", thread_id, command={"resume": {question.interrupt_id: "water"}})
    assert await runs.result(resumed) == {"words": ["hello", "water"]}
    assert (await runs.thread(thread_id)).status == "idle"


async def test_each_of_two_questions_in_one_node_has_its_own_answer(runs: Runs, thread_id: str) -> None:
    await runs.result(await runs.start("asking_twice", thread_id, input={"words": []}))
    (first,) = (await runs.thread(thread_id)).interrupts
    await runs.result(await runs.start("asking_twice", thread_id, command={"resume": {first.interrupt_id: "1"}}))
    (second,) = (await runs.thread(thread_id)).interrupts
    assert second.interrupt_id != first.interrupt_id
    with pytest.raises(InterruptAnsweredError):
        await runs.start("asking_twice", thread_id, command={"resume": {first.interrupt_id: "2"}})
    result = await runs.result(await runs.start("asking_twice", thread_id, command={"resume": {second.interrupt_id: "2"}}))
    assert result == {"words": ["1", "2"]}


async def test_resuming_nothing_is_refused(runs: Runs, thread_id: str) -> None:
    await runs.result(await runs.start("two", thread_id, input={"words": []}))
    with pytest.raises(ResumeError, match="Nothing to resume"):
        await runs.start("two", thread_id, command={"resume": "yes"})


async def test_an_answer_while_a_sibling_runs_waits_for_it(runs: Runs, thread_id: str) -> None:
    run = await runs.start("siblings", thread_id, input={"words": []}, stream_modes=["updates"])
    seen = None
    async for batch in runs.engine.events(OWNER, thread_id, run.run_id):
        for event in batch:
            if b"__interrupt__" in event.data and seen is None:
                seen = orjson.loads(event.data)["__interrupt__"][0]["id"]
                assert (await runs.run(run)).status == "running", "the question came before its sibling had ended"
                resumed = await runs.start("siblings", thread_id, command={"resume": {seen: "early"}})
    assert seen is not None
    assert sorted((await runs.result(resumed))["words"]) == ["early", "waited"]


async def test_200_double_answers_at_once_are_200_effects(runs: Runs) -> None:
    """One answer per interrupt."""
    threads = [new_id() for _ in range(200)]
    first = [await runs.start("asking", thread, input={"words": []}, stream_modes=[]) for thread in threads]
    await asyncio.gather(*(runs.result(run) for run in first))
    questions = [(await runs.thread(thread)).interrupts[0].interrupt_id for thread in threads]
    pairs = [(thread, question) for thread, question in zip(threads, questions, strict=True) for _ in range(2)]
    answered = await asyncio.gather(
        *(runs.start("asking", thread, command={"resume": {question: "once"}}, stream_modes=[]) for thread, question in pairs)
    )
    assert len({run.run_id for run in answered}) == 200
    results = await asyncio.gather(*(runs.result(run) for run in answered))
    assert all(result["words"].count("once") == 1 for result in results)


async def test_no_message_of_concurrent_posts_is_lost(runs: Runs) -> None:
    """Bare LangGraph lost 34 of 80 messages with four concurrent runs on one thread."""
    threads = [new_id() for _ in range(25)]
    posts = [(thread, f"{thread} {n}") for thread in threads for n in range(4)]
    started = await asyncio.gather(
        *(runs.start("two", thread, input={"words": [word]}, stream_modes=[]) for thread, word in posts)
    )
    await asyncio.gather(*(runs.result(run) for run in started))
    kept = [word for thread in threads for word in (await runs.thread(thread)).values["words"]]
    assert sorted(word for word in kept if word not in ("hello", "world")) == sorted(word for _, word in posts)


async def test_cancelling_ends_a_run_in_the_middle_of_a_step(runs: Runs, thread_id: str) -> None:
    run = await runs.start("waiting", thread_id, input={"words": []})
    await _until_said(runs, run.run_id, thread_id, b"hello")
    async with asyncio.timeout(120):  # the step takes an hour
        await runs.engine.cancel(OWNER, thread_id, [run.run_id], wait=True)
    assert ((await runs.run(run)).status, (await runs.thread(thread_id)).status) == ("interrupted", "interrupted")
    assert (await runs.events(run))[-1].event == "end"


async def test_the_text_of_a_cancelled_answer_is_kept_and_marked(runs: Runs, thread_id: str) -> None:
    run = await runs.start(
        "slow_chat", thread_id, input={"messages": [{"role": "user", "content": "count"}]}, stream_modes=["messages-tuple"]
    )
    await _until_said(runs, run.run_id, thread_id, b"three")
    await runs.engine.cancel(OWNER, thread_id, [run.run_id], wait=True)
    thread = await runs.thread(thread_id)
    assert thread.values is not None
    _, answer = thread.values["messages"]
    assert answer["content"].startswith("one two three")
    assert answer["response_metadata"]["finish_reason"] == "cancelled"
    run = await runs.start("chat", thread_id, input={"messages": [{"role": "user", "content": "again"}]})
    assert (await runs.result(run))["messages"][-1]["content"] == "a short answer"


async def test_rolling_back_leaves_the_thread_as_it_was(runs: Runs, thread_id: str) -> None:
    await runs.result(await runs.start("two", thread_id, input={"words": ["kept"]}))
    doomed = await runs.start("waiting", thread_id, input={"words": ["dropped"]})
    await _until_said(runs, doomed.run_id, thread_id, b"dropped")
    newest = await runs.start("two", thread_id, input={"words": ["new"]}, multitask_strategy="rollback")
    assert (await runs.result(newest))["words"] == ["kept", "hello", "world", "new", "hello", "world"]
    with pytest.raises(NotFoundError):
        await runs.run(doomed)


async def test_interrupting_keeps_what_was_done_and_reject_refuses(runs: Runs, thread_id: str) -> None:
    first = await runs.start("waiting", thread_id, input={"words": ["1"]})
    await _until_said(runs, first.run_id, thread_id, b"hello")
    with pytest.raises(ThreadBusyError):
        await runs.start("two", thread_id, input={"words": ["2"]}, multitask_strategy="reject")
    second = await runs.start("two", thread_id, input={"words": ["2"]}, multitask_strategy="interrupt")
    assert (await runs.result(second))["words"] == ["1", "hello", "2", "hello", "world"]
    assert (await runs.run(first)).status == "interrupted"


async def test_a_run_that_takes_too_long_is_stopped(open_runs: OpenRuns, thread_id: str) -> None:
    async with open_runs(run_timeout_s=0.3) as runs:
        run = await runs.start("waiting", thread_id, input={"words": []})
        assert "longer than 0.3 s" in (await runs.result(run))["__error__"]["message"]
        assert (await runs.run(run)).status == "timeout"


async def test_a_stopped_server_hands_its_runs_to_the_next(open_runs: OpenRuns, thread_id: str) -> None:
    async with open_runs() as runs:
        run = await runs.start("siblings", thread_id, input={"words": ["kept"]}, stream_modes=["values"])
        await _until_said(runs, run.run_id, thread_id, b"kept")
    async with open_runs() as runs:
        await runs.result(run)
        assert (await runs.run(run)).attempt == 2
        events = await runs.events(run)
        assert [orjson.loads(event.data)["attempt"] for event in events if event.event == "metadata"] == [1, 2]
        thread = await runs.thread(thread_id)
        assert (thread.status, thread.values) == ("interrupted", {"words": ["kept", "waited"]})


async def test_a_delayed_run_begins_when_it_is_due(runs: Runs, thread_id: str) -> None:
    began = time.monotonic()
    run = await runs.start("two", thread_id, input={"words": []}, after_seconds=0.3)
    await runs.result(run)
    assert time.monotonic() - began >= 0.3


async def _until_said(runs: Runs, run_id: str, thread_id: str, text: bytes) -> None:
    said = b""
    async with asyncio.timeout(60):
        async for batch in runs.engine.events(OWNER, thread_id, run_id):
            said += b"".join(event.data for event in batch)
            if text in said:
                return


async def test_a_key_in_the_request_is_used_but_not_kept(open_runs: OpenRuns, thread_id: str, tmp_path: Path) -> None:
    secret = "a-key-that-nobody-should-find"
    config = {"configurable": {"openai_api_key": secret, "style": "short"}}
    async with open_runs() as runs:
        await runs.result(await runs.start("two", thread_id, input={"words": []}, config=config))
    kept = _all_bytes(tmp_path)
    assert b"style" in kept
    assert secret.encode() not in kept


def _all_bytes(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


async def test_a_message_that_names_the_newest_checkpoint_goes_on_after_the_run_under_way(runs: Runs, thread_id: str) -> None:
    """Web clients send the checkpoint they know with every message; neither of two messages may be lost to a branch."""
    await runs.result(await runs.start("two", thread_id, input={"words": ["0"]}))
    known = await _newest_checkpoint(runs, thread_id)
    first = await runs.start(
        "siblings", thread_id, input={"words": ["1"]}, checkpoint={"checkpoint_id": known, "checkpoint_ns": ""}
    )
    second = await runs.start(
        "two", thread_id, input={"words": ["2"]}, checkpoint={"checkpoint_id": known, "checkpoint_ns": ""}
    )
    await runs.result(first)
    words = (await runs.result(second))["words"]
    assert [word for word in words if word.isdigit()] == ["0", "1", "2"]


async def test_a_message_that_names_an_older_checkpoint_begins_a_branch(runs: Runs, thread_id: str) -> None:
    await runs.result(await runs.start("two", thread_id, input={"words": ["0"]}))
    known = await _newest_checkpoint(runs, thread_id)
    await runs.result(await runs.start("two", thread_id, input={"words": ["1"]}))
    branch = await runs.start("two", thread_id, input={"words": ["2"]}, checkpoint={"checkpoint_id": known})
    assert [word for word in (await runs.result(branch))["words"] if word.isdigit()] == ["0", "2"]
    with pytest.raises(NotFoundError):
        await runs.start("two", thread_id, input={"words": []}, checkpoint_id="1ef00000-0000-6000-8000-000000000000")


async def _newest_checkpoint(runs: Runs, thread_id: str) -> str:
    newest = await runs.persistence.saver().aget_tuple({"configurable": {"thread_id": thread_id}})
    assert newest is not None
    return str(newest.config["configurable"]["checkpoint_id"])


async def test_many_runs_that_waited_for_the_process_are_all_driven(open_runs: OpenRuns) -> None:
    threads = [new_id() for _ in range(20)]
    async with open_runs(concurrency=0) as runs:
        orders = [
            [runs.start("two", thread, input={"words": [str(n)]}, stream_modes=[]) for thread in threads] for n in range(10)
        ]
        waiting = [run for several in orders for run in await asyncio.gather(*several)]
    async with open_runs(concurrency=7) as runs:
        await asyncio.gather(*(runs.result(run) for run in waiting))
        for thread in threads:
            values = (await runs.thread(thread)).values
            assert values is not None
            assert [word for word in values["words"] if word.isdigit()] == [str(n) for n in range(10)], "in their order"


async def test_a_run_that_has_waited_for_the_database_a_thousand_times_still_waits(
    runs: Runs, thread_id: str, caplog: pytest.LogCaptureFixture
) -> None:
    database = runs.persistence.database
    run = await runs.start("two", thread_id, input={"words": ["x" * 1_000_000]}, after_seconds=1)

    def spoil(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE runs SET attempt = 5000 WHERE run_id = ?", (run.run_id,))
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")  # the disk is full

    await database.write(spoil)
    while "the run waits" not in caplog.text:  # noqa: ASYNC110 - nothing else tells
        await asyncio.sleep(0.01)
    await database.write(lambda connection: connection.execute("PRAGMA max_page_count = 1000000"))
    await runs.engine.cancel(OWNER, thread_id, [run.run_id])
    assert await runs.persistence.queue.finished(run.run_id, timeout_s=60) == "finished"
