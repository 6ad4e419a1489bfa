"""Every call of the Python SDK's `runs`, against a real server."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest
from langgraph_sdk.errors import ConflictError, NotFoundError
from tests.integration.server.conftest import Server

HI = {"messages": [{"role": "user", "content": "hi"}]}
MODES = ["values", "updates", "messages-tuple", "custom", "debug", "tasks", "checkpoints", "events"]


async def new_thread(server: Server) -> str:
    return str((await server.client.threads.create())["thread_id"])


async def test_all_stream_modes_arrive_in_one_stream(server: Server) -> None:
    created: list[Any] = []
    thread_id = await new_thread(server)
    stream = server.client.runs.stream(
        thread_id, "ticks", input={"count": 2}, stream_mode=MODES, stream_subgraphs=True, on_run_created=created.append
    )
    parts = [part async for part in stream]
    names = {part.event.split("|")[0] for part in parts}
    assert {"metadata", "values", "updates", "custom", "debug", "tasks", "checkpoints", "events", "end"} <= names
    assert [part.data for part in parts if part.event == "custom"] == [{"n": 0}, {"n": 1}]
    assert created == [{"run_id": parts[0].data["run_id"], "thread_id": thread_id}]
    ids = [int(part.id) for part in parts if part.id]
    assert ids == sorted(set(ids))


async def test_a_background_run_is_listed_joined_and_deleted(server: Server) -> None:
    runs, thread_id = server.client.runs, await new_thread(server)
    run = await runs.create(thread_id, "echo", input=HI, metadata={"why": "test"})
    assert (await runs.join(thread_id, run["run_id"]))["log"] == ["heard", "answered"]
    done = await runs.get(thread_id, run["run_id"])
    assert done["status"] == "success"
    assert done["metadata"]["why"] == "test"
    assert [each["run_id"] for each in await runs.list(thread_id, status="success")] == [run["run_id"]]
    assert await runs.list(thread_id, select=["status"]) == [{"status": "success"}]
    await runs.delete(thread_id, run["run_id"])
    with pytest.raises(NotFoundError):
        await runs.get(thread_id, run["run_id"])


async def test_a_run_that_has_ended_is_told_again_from_any_place(server: Server) -> None:
    runs, thread_id = server.client.runs, await new_thread(server)
    first = [part async for part in runs.stream(thread_id, "ticks", input={"count": 5}, stream_mode="custom")]
    run_id = first[0].data["run_id"]
    assert [part async for part in runs.join_stream(thread_id, run_id)] == first
    assert [part async for part in runs.join_stream(thread_id, run_id, last_event_id="-1")] == first
    for n, seen in enumerate(first[:-1]):
        rest = [part async for part in runs.join_stream(thread_id, run_id, last_event_id=seen.id)]
        assert rest == first[n + 1 :]


async def test_a_join_gives_only_the_modes_asked_for(server: Server) -> None:
    runs, thread_id = server.client.runs, await new_thread(server)
    run = await runs.create(thread_id, "ticks", input={"count": 2}, stream_mode=["custom", "values"])
    events = [part.event async for part in runs.join_stream(thread_id, run["run_id"], stream_mode="custom")]
    assert set(events) == {"metadata", "custom", "end"}


async def _told(server: Server, path: str, query: str) -> set[str]:
    """The names of the events up to the first `end`."""
    names: set[str] = set()
    async with server.http.stream("GET", f"{path}?{query}", headers={"Last-Event-ID": "-1"}) as response:
        assert response.status_code == 200, await response.aread()
        async for line in response.aiter_lines():
            if line.startswith("event: "):
                names.add(line.removeprefix("event: "))
            if "end" in names:
                return names
    return names


async def test_stream_modes_in_a_query_are_read_in_each_form_that_clients_write(server: Server) -> None:
    runs, thread_id = server.client.runs, await new_thread(server)
    run = await runs.create(thread_id, "ticks", input={"count": 2}, stream_mode=["custom", "values", "updates"])
    of_run, of_thread = f"/threads/{thread_id}/runs/{run['run_id']}/stream", f"/threads/{thread_id}/stream"
    forms = [
        "{0}={1}&{0}={2}",
        "{0}={1},{2}",
        "{0}=%5B%22{1}%22%2C%22{2}%22%5D",
        '{0}=["{1}"]&{0}=["{2}"]',
        "{0}={1}, {2}&{0}=",
    ]
    for form in forms:
        assert await _told(server, of_run, form.format("stream_mode", "custom", "updates")) == {
            "metadata", "custom", "updates", "end"
        }, form  # fmt: skip
        told = await _told(server, of_thread, form.format("stream_mode", "lifecycle", "state_update"))
        assert told == {"metadata", "values", "updates", "end"}, form
    for query in ("stream_mode=", "stream_mode=[]"):
        assert await _told(server, of_run, query) == {"metadata", "custom", "values", "updates", "end"}
    for query in (
        "stream_mode=custom,nonsense",
        'stream_mode=["custom"',
        "stream_mode=[1]",
        "stream_mode=[[]]",
        "stream_mode=" + "[" * 4000,
    ):
        refused = await server.http.get(f"{of_run}?{query}")
        assert (refused.status_code, refused.json()["errors"][0]["field"][:17]) == (422, "query.stream_mode"), query


async def test_an_interrupt_is_answered_by_id_and_only_once(server: Server) -> None:
    runs, thread_id = server.client.runs, await new_thread(server)
    asked = await runs.wait(thread_id, "asks", input=HI)
    (question,) = asked["__interrupt__"]
    assert question["value"] == {"question": "Which one?"}
    thread = await server.client.threads.get(thread_id)
    assert thread["status"] == "interrupted"
    assert [each["id"] for each in next(iter(thread["interrupts"].values()))] == [question["id"]]

    resume = {"resume": {question["id"]: "this one"}}
    answered = await runs.wait(thread_id, "asks", command=resume)
    assert answered["log"] == ["heard", "told this one", "answered"]
    assert await runs.wait(thread_id, "asks", command=resume) == answered
    with pytest.raises(ConflictError) as refused:
        await runs.create(thread_id, "asks", command={"resume": {question["id"]: "that one"}})
    assert refused.value.body["interrupt_ids"] == [question["id"]]


async def test_a_resume_of_nothing_is_a_conflict_that_says_so(server: Server) -> None:
    with pytest.raises(ConflictError):
        await server.client.runs.create(await new_thread(server), "asks", command={"resume": "yes"})


async def test_a_failed_wait_is_an_answer_with_an_error(server: Server) -> None:
    thread_id = await new_thread(server)
    result = await server.client.runs.wait(thread_id, "fails", input=HI, raise_error=False)
    assert result["__error__"]["error"] == "ValueError"
    assert (await server.client.threads.get(thread_id))["status"] == "error"
    parts = [part async for part in server.client.runs.stream(await new_thread(server), "fails", input=HI)]
    assert [part.event for part in parts][-2:] == ["error", "end"]


async def test_stateless_runs_stream_wait_and_go(server: Server) -> None:
    runs = server.client.runs
    assert (await runs.wait(None, "echo", input=HI))["log"] == ["heard", "answered"]
    parts = [part async for part in runs.stream(None, "echo", input=HI)]
    assert parts[-1].event == "end"
    assert parts[-2].data["log"] == ["heard", "answered"]
    kept = await runs.create(None, "echo", input=HI, on_completion="keep")
    assert (await runs.join(kept["thread_id"], kept["run_id"]))["log"] == ["heard", "answered"]
    assert await server.client.threads.count() == 1


async def test_a_batch_starts_all_its_runs(server: Server) -> None:
    started = await server.client.runs.create_batch(
        [{"assistant_id": "ticks", "input": {"count": n}, "on_completion": "keep"} for n in range(3)]  # type: ignore[typeddict-item]
    )
    results = [await server.client.runs.join(run["thread_id"], run["run_id"]) for run in started]
    assert [result["count"] for result in results] == [0, 1, 2]


async def test_a_running_run_is_cancelled_and_waited_for(server: Server) -> None:
    runs, thread_id = server.client.runs, await new_thread(server)
    run = await runs.create(thread_id, "ticks", input={"count": 100_000, "seconds": 0.05})
    await until(server, thread_id, run["run_id"], "running")
    async with asyncio.timeout(120):  # by itself it would go on for longer
        await runs.cancel(thread_id, run["run_id"], wait=True)
    assert (await runs.get(thread_id, run["run_id"]))["status"] == "interrupted"
    assert await runs.cancel(thread_id, run["run_id"]) is None


async def test_many_runs_are_cancelled_by_status(server: Server) -> None:
    runs, thread_id = server.client.runs, await new_thread(server)
    started = [await runs.create(thread_id, "ticks", input={"count": 100_000, "seconds": 0.05}) for _ in range(3)]
    await runs.cancel_many(thread_id=thread_id, status="all")
    for run in started:
        await runs.join(thread_id, run["run_id"])
        assert (await runs.get(thread_id, run["run_id"]))["status"] == "interrupted"


async def test_a_second_message_is_answered_after_the_first_unless_rejected(server: Server) -> None:
    runs, thread_id = server.client.runs, await new_thread(server)
    first = await runs.create(thread_id, "ticks", input={"count": 4, "seconds": 0.5})
    with pytest.raises(ConflictError):
        await runs.create(thread_id, "ticks", input={}, multitask_strategy="reject")
    second = await runs.create(thread_id, "ticks", input={"count": 0})
    assert (await runs.join(thread_id, second["run_id"]))["log"] == ["ticked", "ticked"]
    assert (await runs.get(thread_id, first["run_id"]))["status"] == "success"


async def test_a_missing_thread_is_made_when_asked_for(server: Server) -> None:
    thread_id = str(uuid.uuid4())
    with pytest.raises(NotFoundError):
        await server.client.runs.create(thread_id, "echo", input=HI)
    await server.client.runs.wait(thread_id, "echo", input=HI, if_not_exists="create")
    assert (await server.client.threads.get(thread_id))["metadata"]["graph_id"] == "echo"


async def test_a_run_waits_as_long_as_it_was_told(server: Server) -> None:
    thread_id = await new_thread(server)
    began = asyncio.get_running_loop().time()
    await server.client.runs.wait(thread_id, "echo", input=HI, after_seconds=1)
    assert asyncio.get_running_loop().time() - began >= 0.9  # measured by another clock


async def test_an_unknown_assistant_is_not_found(server: Server) -> None:
    with pytest.raises(NotFoundError, match="nobody"):
        await server.client.runs.create(await new_thread(server), "nobody", input=HI)


async def until(server: Server, thread_id: str, run_id: str, status: str) -> None:
    async with asyncio.timeout(60):
        while (await server.client.runs.get(thread_id, run_id))["status"] != status:  # noqa: ASYNC110 - a client can only ask
            await asyncio.sleep(0.01)
