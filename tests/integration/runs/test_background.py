"""Background tasks on a server: runs of their own, which wake their parent once, on SQLite and on Postgres."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from stepwell.clock import SystemClock
from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.database.records.background import of_parent
from stepwell.database.records.types import Page, ThreadFilter
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.database.types import BackgroundTask
from stepwell.errors import InterruptAnsweredError, ThreadBusyError
from stepwell.middleware.background.tools import MAX_TASKS
from stepwell.runs.assistants import Assistants
from stepwell.runs.engine import Engine, EngineOptions
from stepwell.runs.graphs.registry import GraphRegistry

from . import background_graphs
from .conftest import OWNER, Runs

GRAPHS = ("parent", "hurried", "silent", "thrifty", "few_calls", "few_tokens", "few_in_all", "other", "nesting")
PATIENCE_S = 120.0
APPROVE = {"decisions": [{"type": "approve"}]}

Open = Callable[..., AbstractAsyncContextManager[Runs]]


def new_id() -> str:
    return str(uuid.uuid4())


@pytest.fixture(params=["sqlite", "postgres"])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else None

    @asynccontextmanager
    async def opened(concurrency: int = 16) -> AsyncIterator[Runs]:
        clock = SystemClock()
        persistence: Any = PostgresPersistence(url) if url else EmbeddedPersistence(tmp_path / "stepwell.db", clock=clock)
        async with persistence:
            specs = {name: f"tests.integration.runs.background_graphs:{name}" for name in GRAPHS}
            specs["at@home"] = specs["parent"]
            registry = GraphRegistry.from_specs(specs, tmp_path)
            assistants = Assistants(persistence.records, registry, clock, new_id)
            await assistants.install_defaults()
            options = EngineOptions(drain_s=0.0, concurrency=concurrency)
            async with Engine(persistence, registry, assistants, clock=clock, new_id=new_id, options=options) as engine:
                yield Runs(engine, persistence, registry)

    return opened


@pytest.fixture
async def runs(opening: Open) -> AsyncIterator[Runs]:
    background_graphs.RELEASED.clear()
    async with opening() as opened:
        yield opened


async def say(runs: Runs, thread_id: str, text: str, assistant: str = "parent", **more: Any) -> Any:
    given = {"messages": [{"role": "user", "content": text}]}
    return await runs.result(await runs.start(assistant, thread_id, input=given, **more))


async def tasks_of(runs: Runs, thread_id: str) -> list[BackgroundTask]:
    return await runs.persistence.database.read(lambda connection: of_parent(connection, thread_id))


async def until(fact: Callable[[], Any], what: str) -> Any:
    """Wait for a fact of the database."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not (found := await fact()):  # noqa: ASYNC110 - nobody announces it
                await asyncio.sleep(0.02)
            return found
    except TimeoutError:
        raise AssertionError(f"never came to pass: {what}") from None


async def is_running(runs: Runs, thread_id: str) -> bool:
    return (await tasks_of(runs, thread_id))[0].status == "running"


async def is_idle(runs: Runs, thread_id: str) -> bool:
    return (await runs.thread(thread_id)).status == "idle"


async def questions(runs: Runs, thread_id: str) -> Any:
    thread = await runs.thread(thread_id)
    return thread.status == "interrupted" and thread.interrupts


async def texts(runs: Runs, thread_id: str, kind: str) -> list[str]:
    values = (await runs.thread(thread_id)).values or {}
    return [message["content"] for message in values.get("messages", ()) if message["type"] == kind]


async def heard(runs: Runs, thread_id: str, times: int) -> list[str]:
    async def fact() -> Any:
        thread = await runs.thread(thread_id)
        said = [text for text in await texts(runs, thread_id, "ai") if text.startswith("heard of")]
        return thread.status == "idle" and len(said) >= times and said

    said: list[str] = await until(fact, f"the parent is woken {times} times")
    return said


async def test_a_task_is_a_run_on_its_own_thread_and_wakes_its_parent_once(runs: Runs, thread_id: str) -> None:
    final = await say(runs, thread_id, "start")
    (task,) = await tasks_of(runs, thread_id)
    assert final["async_tasks"][task.task_id]["run_id"] == task.run_id
    assert await heard(runs, thread_id, 1) == [f"heard of {task.task_id}"]
    told = (await texts(runs, thread_id, "human"))[-1]
    assert "answer to: answer" in told
    thread = await runs.thread(task.task_id)
    assert thread.metadata["subagent_name"] == "researcher"
    assert thread.metadata["parent_thread_id"] == thread_id
    assert thread.metadata["graph_id"] == "researcher@parent"
    state = (await runs.thread(thread_id)).values
    assert state is not None
    assert state["async_tasks"][task.task_id]["status"] == "success"


async def test_the_threads_of_tasks_are_listed_only_by_their_parent(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start")
    (task,) = await tasks_of(runs, thread_id)
    records = runs.persistence.records
    listed = await records.search_threads(OWNER, ThreadFilter(), Page(limit=10))
    assert [thread.thread_id for thread in listed] == [thread_id]
    found = await records.search_threads(OWNER, ThreadFilter(metadata={"parent_thread_id": thread_id}), Page(limit=10))
    assert [thread.thread_id for thread in found] == [task.task_id]
    named = await records.search_threads(OWNER, ThreadFilter(ids=[task.task_id]), Page(limit=10))
    assert [thread.thread_id for thread in named] == [task.task_id]


async def test_two_tasks_at_once_wake_the_parent_twice(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "twice")
    one, two = await tasks_of(runs, thread_id)
    assert sorted(await heard(runs, thread_id, 2)) == sorted([f"heard of {one.task_id}", f"heard of {two.task_id}"])


async def test_no_more_tasks_than_allowed_start_in_one_step(runs: Runs, thread_id: str) -> None:
    final = await say(runs, thread_id, "many")
    results = [message["content"] for message in final["messages"] if message["type"] == "tool"]
    assert len(await tasks_of(runs, thread_id)) == len([text for text in results if "Launched" in text]) == MAX_TASKS
    assert len([text for text in results if f"{MAX_TASKS} background tasks are under way" in text]) == 3
    background_graphs.RELEASED.add("many")
    await heard(runs, thread_id, MAX_TASKS)
    await say(runs, thread_id, "start")
    assert len(await tasks_of(runs, thread_id)) == MAX_TASKS + 1


async def test_a_task_goes_on_while_the_parent_talks_and_is_checked(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start wait tea")
    final = await say(runs, thread_id, "check")
    assert '"status": "running"' in final["messages"][-1]["content"] or '"pending"' in final["messages"][-1]["content"]
    background_graphs.RELEASED.add("tea")
    await heard(runs, thread_id, 1)
    final = await say(runs, thread_id, "check")
    assert "found: tea came" in final["messages"][-1]["content"]


async def test_a_task_is_cancelled_and_wakes_nobody(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start wait never")
    final = await say(runs, thread_id, "cancel")
    assert "Cancelled" in final["messages"][-1]["content"]

    async def fact() -> bool:
        return (await tasks_of(runs, thread_id))[0].status == "cancelled"

    await until(fact, "the task is cancelled")
    assert await runs.persistence.records.open_runs(OWNER, None, None) == []
    assert [text for text in await texts(runs, thread_id, "ai") if "heard" in text] == []


async def test_a_task_that_waits_for_an_answer_is_cancelled_with_its_question(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start change")
    (task,) = await tasks_of(runs, thread_id)
    question = (await until(lambda: questions(runs, task.task_id), "the task asks"))[0]
    await say(runs, thread_id, "cancel")
    assert (await tasks_of(runs, thread_id))[0].status == "cancelled"
    assert (await runs.thread(task.task_id)).status == "idle"
    with pytest.raises(InterruptAnsweredError):
        await runs.start("parent", task.task_id, command={"resume": {question.interrupt_id: APPROVE}})
    final = await say(runs, thread_id, "check")
    assert '"cancelled"' in final["messages"][-1]["content"]


async def test_a_copied_conversation_cannot_change_the_tasks_of_the_original(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start wait never")
    await until(lambda: is_running(runs, thread_id), "the task works")
    copied = await runs.persistence.records.copy_thread(OWNER, thread_id, new_id())
    for order in ("cancel", "update more"):
        final = await say(runs, copied.thread_id, order)
        assert "belongs to another conversation" in final["messages"][-1]["content"]
    assert await is_running(runs, thread_id)


async def test_another_message_interrupts_the_task_which_then_wakes_once(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start wait never")
    await say(runs, thread_id, "update something else")
    (task,) = await tasks_of(runs, thread_id)
    assert await heard(runs, thread_id, 1) == [f"heard of {task.task_id}"]
    assert "answer to: something else" in (await texts(runs, thread_id, "human"))[-1]
    assert await texts(runs, task.task_id, "human") == ["wait never", "something else"]


async def test_a_message_to_a_task_that_has_not_begun_is_added_to_its_description(opening: Open, thread_id: str) -> None:
    async with opening(concurrency=1) as runs:
        await say(runs, thread_id, "hasty")
        (task,) = await tasks_of(runs, thread_id)
        assert await heard(runs, thread_id, 1) == [f"heard of {task.task_id}"]
        assert await texts(runs, task.task_id, "human") == ["one", "two"]


async def test_a_task_that_does_not_notify_its_parent_does_not_after_a_message_either(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start", "silent")
    await say(runs, thread_id, "update more", "silent")
    (task,) = await tasks_of(runs, thread_id)

    async def answered() -> bool:
        return "answer to: more" in await texts(runs, task.task_id, "ai") and await is_idle(runs, task.task_id)

    await until(answered, "the task has answered")
    assert await runs.persistence.records.open_runs(OWNER, None, None) == []
    assert [text for text in await texts(runs, thread_id, "ai") if "heard" in text] == []


async def test_no_message_to_a_task_is_lost(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start wait never")
    for message in ("update u1", "update u2", "updates u3 u4"):
        await say(runs, thread_id, message)
    (task,) = await tasks_of(runs, thread_id)
    await heard(runs, thread_id, 1)
    await until(lambda: is_idle(runs, task.task_id), "the task has ended")
    seen = await texts(runs, task.task_id, "human")
    assert sorted(seen) == sorted(["wait never", "u1", "u2", "u3", "u4"])
    assert seen[:3] == ["wait never", "u1", "u2"]


async def test_messages_in_a_queue_keep_their_order_when_another_one_replaces_them(opening: Open, thread_id: str) -> None:
    async with opening(concurrency=1) as runs:
        await say(runs, thread_id, "start wait never")
        (task,) = await tasks_of(runs, thread_id)
        await until(lambda: is_running(runs, thread_id), "the task works")
        for word in ("one", "two"):
            await runs.start("parent", task.task_id, input={"messages": [{"role": "user", "content": word}]})
        await say(runs, task.task_id, "three", multitask_strategy="interrupt")
        assert await texts(runs, task.task_id, "human") == ["wait never", "one", "two", "three"]


async def test_a_task_that_fails_says_why(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start fail")
    await heard(runs, thread_id, 1)
    told = (await texts(runs, thread_id, "human"))[-1]
    assert "failed" in told
    assert "it cannot be done" in told


async def test_a_task_that_takes_too_long_is_stopped(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start wait never", "hurried")
    await heard(runs, thread_id, 1)
    assert "took longer than 0.3 s" in (await texts(runs, thread_id, "human"))[-1]


async def test_a_task_that_waits_for_a_person_wakes_its_parent_after_the_answer(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start change")
    (task,) = await tasks_of(runs, thread_id)

    async def waits() -> Any:
        return (await tasks_of(runs, thread_id))[0].status == "waiting" and (await runs.thread(task.task_id)).interrupts

    question = (await until(waits, "the task asks"))[0]
    assert [text for text in await texts(runs, thread_id, "ai") if "heard" in text] == []
    # The person answers with the parent's assistant; the task's own graph goes on all the same.
    await runs.result(await runs.start("parent", task.task_id, command={"resume": {question.interrupt_id: APPROVE}}))
    await heard(runs, thread_id, 1)
    assert "found: changed the task's" in (await texts(runs, thread_id, "human"))[-1]


async def test_a_person_who_writes_to_the_subagent_gets_its_answer_and_the_parent_sleeps(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start")
    (task,) = await tasks_of(runs, thread_id)
    await heard(runs, thread_id, 1)
    final = await say(runs, task.task_id, "more")
    assert final["messages"][-1]["content"] == "answer to: more"
    assert await runs.persistence.records.open_runs(OWNER, None, None) == []
    assert len(await heard(runs, thread_id, 1)) == 1


async def test_the_same_answer_twice_leaves_the_task_as_it_is(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start change")
    (task,) = await tasks_of(runs, thread_id)
    question = (await until(lambda: questions(runs, task.task_id), "the task asks"))[0]
    for _ in range(2):
        await runs.result(await runs.start("parent", task.task_id, command={"resume": {question.interrupt_id: APPROVE}}))
    assert (await tasks_of(runs, thread_id))[0].status == "success"


async def test_a_message_that_steers_leaves_the_task_at_work(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start wait tea")
    (task,) = await tasks_of(runs, thread_id)
    await until(lambda: is_running(runs, thread_id), "the task works")
    more = {"messages": [{"role": "user", "content": "with milk"}]}
    await runs.start("parent", task.task_id, input=more, multitask_strategy="steer")
    assert (await tasks_of(runs, thread_id))[0].run_id == task.run_id
    assert (await tasks_of(runs, thread_id))[0].status == "running"
    background_graphs.RELEASED.add("tea")
    assert await heard(runs, thread_id, 1) == [f"heard of {task.task_id}"]
    assert "answer to: with milk" in (await texts(runs, thread_id, "human"))[-1]
    assert await runs.persistence.records.open_runs(OWNER, None, None) == []


async def test_a_message_that_its_run_could_not_take_does_not_wake_the_parent_again(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start wait tea")
    (task,) = await tasks_of(runs, thread_id)
    await until(lambda: is_running(runs, thread_id), "the task works")
    more = {"messages": [{"role": "user", "content": "refuse"}]}
    await runs.start("parent", task.task_id, input=more, multitask_strategy="steer")
    background_graphs.RELEASED.add("tea")

    async def answered() -> bool:
        return "answer to: refuse" in await texts(runs, task.task_id, "ai") and await is_idle(runs, task.task_id)

    await until(answered, "the message has a run of its own")
    assert len(await heard(runs, thread_id, 1)) == 1
    assert await runs.persistence.records.open_runs(OWNER, None, None) == []
    (now,) = await tasks_of(runs, thread_id)
    assert (now.status, now.run_id != task.run_id) == ("success", True)


async def test_a_finished_task_stays_finished_when_a_later_run_is_rolled_back(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start")
    await heard(runs, thread_id, 1)
    (task,) = await tasks_of(runs, thread_id)
    later = await runs.start("parent", task.task_id, input={"messages": [{"role": "user", "content": "wait never"}]})
    await until(lambda: is_running(runs, thread_id), "the later run works")
    await runs.engine.cancel(OWNER, task.task_id, [later.run_id], action="rollback", wait=True)
    assert (await tasks_of(runs, thread_id))[0].run_id == task.run_id
    assert (await tasks_of(runs, thread_id))[0].status == "success"


async def test_a_task_keeps_the_parent_s_configuration_when_a_person_goes_on_with_it(runs: Runs, thread_id: str) -> None:
    given = {"configurable": {"colour": "red", "permission_mode": "plan"}}
    await say(runs, thread_id, "start", config=given)
    await heard(runs, thread_id, 1)
    (task,) = await tasks_of(runs, thread_id)
    assert (await say(runs, task.task_id, "configured"))["messages"][-1]["content"] == "found: red in plan"
    own = {"configurable": {"colour": "blue"}}
    assert (await say(runs, task.task_id, "configured", config=own))["messages"][-1]["content"] == "found: blue in plan"
    assert (await say(runs, task.task_id, "configured"))["messages"][-1]["content"] == "found: red in plan"


async def test_the_waking_run_has_the_parent_s_configuration_after_an_answer(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start change", config={"configurable": {"colour": "red"}})
    (task,) = await tasks_of(runs, thread_id)
    question = (await until(lambda: questions(runs, task.task_id), "the task asks"))[0]
    answer = {"resume": {question.interrupt_id: APPROVE}}
    own = {"configurable": {"permission_mode": "accept_edits"}}
    await runs.result(await runs.start("parent", task.task_id, command=answer, config=own))
    await heard(runs, thread_id, 1)
    wake = (await runs.persistence.records.list_runs(OWNER, thread_id, None, Page(limit=1)))[0]
    assert wake.request.config["configurable"] == {"colour": "red"}
    assert wake.request.context == {"colour": "red"}


async def test_a_wake_waits_until_the_parent_s_question_is_answered(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start wait tea")
    await say(runs, thread_id, "question")
    assert (await runs.thread(thread_id)).status == "interrupted"
    background_graphs.RELEASED.add("tea")

    async def ended() -> bool:
        return (await tasks_of(runs, thread_id))[0].status == "success"

    await until(ended, "the task ends")
    thread = await runs.thread(thread_id)
    assert thread.status == "interrupted"
    assert len(thread.interrupts) == 1
    resume = {thread.interrupts[0].interrupt_id: APPROVE}
    await runs.result(await runs.start("parent", thread_id, command={"resume": resume}))
    await heard(runs, thread_id, 1)
    said = await texts(runs, thread_id, "ai")
    assert said.index("done: changed the parent's") < len(said) - 1


async def test_a_served_graph_can_be_a_background_subagent(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "served")
    (task,) = await tasks_of(runs, thread_id)
    await heard(runs, thread_id, 1)
    assert "from another graph" in (await texts(runs, thread_id, "human"))[-1]
    assert (await runs.thread(task.task_id)).metadata["graph_id"] == "other"


async def test_a_subagent_s_own_background_subagent_is_found_in_it(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "nest", "nesting")
    (nest,) = await tasks_of(runs, thread_id)
    await heard(runs, nest.task_id, 1)
    (task,) = await tasks_of(runs, nest.task_id)
    assert (await runs.thread(task.task_id)).metadata["graph_id"] == "researcher@nest@nesting"
    assert await texts(runs, task.task_id, "ai") == ["from the inner researcher"]


async def test_a_subagent_that_works_in_the_parent_s_run_starts_no_tasks(runs: Runs, thread_id: str) -> None:
    """The server could only look for its helpers in the parent, which has another one of the same name."""
    final = await say(runs, thread_id, "delegate", "nesting")
    assert "Only the agent of this conversation can start background tasks" in final["messages"][-1]["content"]
    assert await tasks_of(runs, thread_id) == []


async def test_a_stateless_run_starts_no_tasks(runs: Runs) -> None:
    """Its thread is deleted when it ends, so there would be nobody to tell."""
    given = {"messages": [{"role": "user", "content": "start"}]}
    final = await runs.result(await runs.start("parent", None, input=given))
    assert "This run is stateless" in final["messages"][-1]["content"]
    assert not final.get("async_tasks")


async def test_a_graph_whose_name_has_an_at_sign_has_background_subagents_too(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start", "at@home")
    await heard(runs, thread_id, 1)
    assert "answer to: answer" in (await texts(runs, thread_id, "human"))[-1]


async def test_tasks_share_the_budget_of_the_turn(runs: Runs, thread_id: str) -> None:
    """Two calls of the parent and one of the task use it up: the parent's next run, which continues the turn, has none left."""
    await say(runs, thread_id, "start", "thrifty")

    async def stopped() -> Any:
        said = await texts(runs, thread_id, "ai")
        return (await runs.thread(thread_id)).status == "idle" and "used up" in said[-1] and said

    assert "3 model calls" in (await until(stopped, "the budget is used up"))[-1]


async def test_a_thread_with_a_task_under_way_is_not_deleted(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start wait tea")
    (task,) = await tasks_of(runs, thread_id)
    with pytest.raises(ThreadBusyError, match=task.task_id):
        await runs.persistence.records.delete_thread(OWNER, thread_id)
    background_graphs.RELEASED.add("tea")
    await heard(runs, thread_id, 1)
    await runs.persistence.records.delete_thread(OWNER, thread_id)
    assert task.task_id in await runs.persistence.records.delete_expired_threads()


async def test_a_thread_with_a_question_and_a_wake_that_waits_for_its_answer_is_deleted(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "start wait tea")
    await say(runs, thread_id, "question")
    background_graphs.RELEASED.add("tea")

    async def waits() -> bool:
        return bool(await runs.persistence.records.open_runs(OWNER, thread_id, None))

    await until(waits, "the wake is held")
    await runs.persistence.records.delete_thread(OWNER, thread_id)
    assert await runs.persistence.records.open_runs(OWNER, None, None) == []


async def test_a_restart_loses_no_task(opening: Open, thread_id: str) -> None:
    background_graphs.RELEASED.clear()
    async with opening() as runs:
        await say(runs, thread_id, "start wait tea")
    async with opening() as runs:
        background_graphs.RELEASED.add("tea")
        await heard(runs, thread_id, 1)
        assert len(await tasks_of(runs, thread_id)) == 1


def in_mode(mode: str | None) -> dict[str, Any]:
    return {"config": {"configurable": {"permission_mode": mode}}} if mode else {}


async def files_of(runs: Runs, thread_id: str) -> list[str]:
    return sorted(((await runs.thread(thread_id)).values or {}).get("files") or {})


@pytest.mark.parametrize(
    ("mode", "status", "files"), [(None, "success", ["/task.md"]), ("plan", "success", []), ("ask", "waiting", [])]
)
async def test_a_task_is_held_to_the_mode_in_which_it_was_started(
    runs: Runs, thread_id: str, mode: str | None, status: str, files: list[str]
) -> None:
    await say(runs, thread_id, "start write", **in_mode(mode))

    async def rests() -> Any:
        (task,) = await tasks_of(runs, thread_id)
        return task if task.status in ("success", "waiting", "error") else None

    task = await until(rests, "the task has done what it may")
    assert (task.status, await files_of(runs, task.task_id)) == (status, files)


async def test_a_wake_is_held_to_the_mode_that_the_parent_has_now(runs: Runs, thread_id: str) -> None:
    """The task keeps the mode it has. The person who has changed the mode since has changed it for the conversation."""
    await say(runs, thread_id, "start wait writing", **in_mode("accept_edits"))
    await say(runs, thread_id, "what", **in_mode("plan"))
    background_graphs.RELEASED.add("writing")

    async def woken() -> Any:
        said = [text for text in await texts(runs, thread_id, "ai") if text.startswith("done: ")]
        return (await runs.thread(thread_id)).status == "idle" and len(said) >= 2

    await until(woken, "the parent has heard of the task, and tried to write")
    assert await files_of(runs, thread_id) == []


async def test_a_wake_by_another_graph_has_the_parent_s_own_configuration(runs: Runs, thread_id: str) -> None:
    await say(runs, thread_id, "served", config={"configurable": {"colour": "blue"}})
    await heard(runs, thread_id, 1)
    (task,) = await tasks_of(runs, thread_id)
    wake, first = await runs.persistence.records.list_runs(OWNER, thread_id, None, Page(limit=2))
    assert wake.metadata["background_task"] == task.task_id
    assert wake.request.config["configurable"] == first.request.config["configurable"]
    (of_task,) = await runs.persistence.records.list_runs(OWNER, task.task_id, None, Page(limit=2))
    assert "colour" not in (of_task.request.config.get("configurable") or {})


@pytest.mark.parametrize(("assistant", "made"), [("few_calls", {8}), ("few_tokens", {6, 7, 8, 9}), ("few_in_all", {8})])
async def test_five_tasks_at_once_spend_no_more_than_their_parent_may(
    opening: Open, thread_id: str, assistant: str, made: set[int], request: pytest.FixtureRequest
) -> None:
    """Each alone would need five calls. A limit in tokens (eight calls have as many) can be passed by one call, as in any run, and
    stops calls early that look larger than they are."""
    background_graphs.RELEASED.clear()
    background_graphs.ASKED.clear()
    background_graphs.RELEASED.update(f"go{number}" for number in range(5))
    async with AsyncExitStack() as stack:
        runs = await stack.enter_async_context(opening())
        if "postgres" in request.node.name:
            await stack.enter_async_context(opening())  # another worker
        await say(runs, thread_id, "five go", assistant)

        async def all_are_done() -> Any:
            tasks = await tasks_of(runs, thread_id)
            told = [text for text in await texts(runs, thread_id, "human") if text.startswith("Background task")]
            return len(tasks) == len(told) == 5 and (await runs.thread(thread_id)).status == "idle"

        await until(all_are_done, "five tasks end, and the parent hears of each")
    assert len(background_graphs.ASKED) in made
