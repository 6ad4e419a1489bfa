"""Crons over HTTP, with LangGraph's own client: the seven operations, and runs that start by themselves."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import orjson
import pytest
from langgraph_sdk.errors import NotFoundError, UnprocessableEntityError
from tests.integration.server.conftest import Server
from tests.support.waiting import PATIENCE_S

from stepwell.runs.crons.scheduler import CronScheduler

HELLO = {"messages": [{"role": "user", "content": "hello"}]}
DAILY = "0 3 * * *"


class LaterClock:
    """The time of day, some time from now."""

    def __init__(self) -> None:
        self.later = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.later


def scheduler_of(server: Server, clock: LaterClock) -> CronScheduler:
    persistence = server.services.persistence
    return CronScheduler(persistence.crons, server.services.engine, persistence.access, clock)


async def run_of(server: Server, thread_id: str) -> dict[str, Any]:
    (run,) = await server.client.runs.list(thread_id)
    await server.client.runs.join(thread_id, run["run_id"])
    return await server.client.runs.get(thread_id, run["run_id"])


async def slots_of(server: Server, cron_id: str) -> list[dict[str, Any]]:
    return (await server.http.get(f"/runs/crons/{cron_id}/slots")).raise_for_status().json()


async def test_a_cron_is_created_found_changed_and_deleted(server: Server):
    crons = server.client.crons
    made = await crons.create("echo", schedule=DAILY, input=HELLO, metadata={"label": "x"}, timezone="Europe/Berlin")
    cron_id = made["cron_id"]
    assert made["schedule"] == DAILY
    assert made["thread_id"] is None
    assert made["on_run_completed"] == "delete"
    assert made["enabled"] is True
    assert made["payload"]["timezone"] == "Europe/Berlin"
    assert made["payload"]["input"] == HELLO
    assert datetime.fromisoformat(made["next_run_date"]) > datetime.now(UTC)

    assert [cron["cron_id"] for cron in await crons.search(assistant_id="echo", enabled=True, metadata={"label": "x"})] == [
        cron_id
    ]
    assert await crons.search(metadata={"label": "y"}) == []
    assert await crons.count(assistant_id=made["assistant_id"]) == 1

    changed = await crons.update(cron_id, schedule="0 4 * * *", enabled=False, metadata={"more": 1})
    assert (changed["schedule"], changed["enabled"], changed["next_run_date"]) == ("0 4 * * *", False, None)
    assert changed["metadata"] == {"label": "x", "more": 1}
    assert changed["payload"]["input"] == HELLO
    again = await crons.update(cron_id, enabled=True, input={"count": 1}, stream_mode=["updates"], on_run_completed="keep")
    assert again["next_run_date"] is not None
    assert again["payload"]["input"] == {"count": 1}
    assert again["payload"]["stream_mode"] == ["updates"]
    assert again["on_run_completed"] == "keep"
    assert (await server.http.get(f"/runs/crons/{cron_id}")).json() == again

    await crons.delete(cron_id)
    assert await crons.search() == []
    with pytest.raises(NotFoundError):
        await crons.delete(cron_id)


async def test_the_end_time_can_be_removed(server: Server):
    end = datetime.now(UTC) + timedelta(days=400)
    made = await server.client.crons.create("echo", schedule="0 0 1 1 *", end_time=end)
    assert datetime.fromisoformat(made["end_time"]) == end
    unchanged = await server.client.crons.update(made["cron_id"], metadata={"a": 1})
    assert unchanged["end_time"] == made["end_time"]
    assert (await server.client.crons.update(made["cron_id"], end_time=None))["end_time"] is None


async def test_crons_are_sorted_selected_and_paged(server: Server):
    ids = [(await server.client.crons.create("echo", schedule=f"{n} 3 1 1 *"))["cron_id"] for n in (30, 10, 20)]
    found = await server.client.crons.search(sort_by="next_run_date", sort_order="asc", select=["cron_id", "schedule"])
    assert [cron["cron_id"] for cron in found] == [ids[1], ids[2], ids[0]]
    assert set(found[0]) == {"cron_id", "schedule"}
    page = await server.http.post("/runs/crons/search", json={"limit": 2})
    assert len(page.json()) == 2
    assert page.headers["x-pagination-next"] == "2"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("schedule", "every day", "has 2 fields"),
        ("schedule", "61 * * * *", "bad minute"),
        ("schedule", "0 0 30 2 *", "bad day"),
        ("schedule", "* * * * * *", "has 6 fields"),
        ("schedule", "*" * 1024, "256"),
        ("timezone", "Europe/Nowhere", "There is no time zone 'Europe/Nowhere'"),
        ("timezone", "../etc/passwd", "There is no time zone"),
        ("timezone", "X" * 256, "100"),
        ("end_time", "2020-01-01T00:00:00Z", "is over"),
        ("end_time", "9999-12-31T23:59:59-12:00", "between the years 1970 and 9900"),
        ("end_time", "9999-12-31T23:59:59.999999Z", "between the years 1970 and 9900"),
        ("end_time", "0001-01-01T00:00:00+14:00", "between the years 1970 and 9900"),
        ("thread_id", "6a0c2b1e-5d0f-4c55-9d5e-0d7b8a6f3c11", "/threads/{thread_id}/runs/crons"),
        ("webhook", "ftp://example.com/hook", "http"),
        ("webhook", "javascript:alert(1)", "http"),
        ("on_run_completed", "create_new", "keep"),
        ("multitask_strategy", "steer", "enqueue"),
        ("input", "text", "echo"),
        ("context", {"a": 1}, "Both context and config.configurable"),
    ],
)
async def test_a_wrong_field_is_named(shared_server: Server, field: str, value: object, said: str):
    body = {"assistant_id": "echo", "schedule": DAILY, field: value}
    if field == "context":
        body["config"] = {"configurable": {"b": 1}}
    refused = await shared_server.http.post("/runs/crons", json=body)
    assert refused.status_code == 422, refused.text
    assert said in refused.text
    assert await shared_server.client.crons.count() == 0


async def test_a_cron_without_input_runs_its_graph_with_an_empty_one(server: Server):
    made = await server.client.crons.create("echo", schedule=DAILY, on_run_completed="keep")
    assert "input" not in made["payload"]
    clock = LaterClock()
    clock.later = timedelta(days=1)
    assert await scheduler_of(server, clock).step() == 1
    (slot,) = await slots_of(server, made["cron_id"])
    assert (await run_of(server, slot["thread_id"]))["status"] == "success"


async def test_an_end_before_the_first_run_is_refused(server: Server):
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    rare = f"0 0 1 {(datetime.now(UTC) + timedelta(days=90)).month} *"
    refused = await server.http.post("/runs/crons", json={"assistant_id": "echo", "schedule": rare, "end_time": soon})
    assert refused.status_code == 422
    assert "so nothing would ever run" in refused.text
    made = await server.client.crons.create("echo", schedule=rare)
    path = f"/runs/crons/{made['cron_id']}"
    assert (await server.http.patch(path, json={"end_time": soon})).status_code == 422
    assert (await server.http.patch(path, json={"end_time": "9999-12-31T23:59:59-12:00"})).status_code == 422
    assert (await server.http.get(path)).json() == made
    often = await server.client.crons.create("echo", schedule="*/15 * * * *", end_time=datetime.fromisoformat(soon))
    assert (await server.http.patch(f"/runs/crons/{often['cron_id']}", json={"schedule": rare})).status_code == 422


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("before", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00", "0001-01-01T00:00:00+14:00"])
async def test_slots_before_an_impossible_time_are_refused(shared_server: Server, before: str):
    refused = await shared_server.http.get(f"/runs/crons/{uuid4()}/slots", params={"before": before})
    assert refused.status_code == 422, refused.text


async def test_unknown_assistants_threads_and_crons_are_not_found(server: Server):
    with pytest.raises(NotFoundError):
        await server.client.crons.create("nothing", schedule=DAILY)
    with pytest.raises(NotFoundError):
        await server.client.crons.create_for_thread(str(uuid4()), "echo", schedule=DAILY)
    assert (await server.http.patch(f"/runs/crons/{uuid4()}", json={"enabled": False})).status_code == 404
    with pytest.raises(UnprocessableEntityError):
        await server.client.crons.update((await server.client.crons.create("echo", schedule=DAILY))["cron_id"])


async def test_a_repeated_request_makes_one_cron(server: Server):
    body, headers = {"assistant_id": "echo", "schedule": DAILY}, {"Idempotency-Key": "one"}
    first, second = [(await server.http.post("/runs/crons", json=body, headers=headers)).json() for _ in range(2)]
    assert first["cron_id"] == second["cron_id"]
    assert await server.client.crons.count() == 1


async def test_a_due_cron_starts_a_run_on_a_new_thread_each_time(server: Server):
    clock = LaterClock()
    scheduler = scheduler_of(server, clock)
    cron = await server.client.crons.create(
        "echo", schedule="0 * * * *", input=HELLO, metadata={"label": "x"}, on_run_completed="keep"
    )
    assert await scheduler.step() == 0
    for _ in range(2):
        clock.later += timedelta(hours=1)
        assert await scheduler.step() == 1
        assert await scheduler.step() == 0
    second, first = await slots_of(server, cron["cron_id"])
    assert (first["state"], second["state"]) == ("fired", "fired")
    assert first["thread_id"] != second["thread_id"]
    run = await run_of(server, first["thread_id"])
    assert run["run_id"] == first["run_id"]
    assert run["status"] == "success"
    assert run["metadata"]["cron_id"] == cron["cron_id"]
    assert run["metadata"]["cron_slot"] == first["slot"].replace("Z", "+00:00")
    assert run["metadata"]["label"] == "x"
    assert run["kwargs"]["config"]["configurable"]["cron_id"] == cron["cron_id"]
    values = (await server.client.threads.get(first["thread_id"]))["values"]
    assert values["messages"][-1]["content"] == "You said: hello"


async def test_a_thread_of_a_finished_run_is_not_listed(server: Server):
    clock = LaterClock()
    cron = await server.client.crons.create("echo", schedule="0 * * * *", input=HELLO)
    clock.later = timedelta(hours=1)
    assert await scheduler_of(server, clock).step() == 1
    (slot,) = await slots_of(server, cron["cron_id"])
    await server.client.runs.join(slot["thread_id"], slot["run_id"])
    assert await server.client.threads.search() == []


async def test_a_cron_on_a_thread_adds_to_it_and_goes_with_it(server: Server):
    clock = LaterClock()
    thread_id = (await server.client.threads.create())["thread_id"]
    cron = await server.client.crons.create_for_thread(
        thread_id, "echo", schedule="0 * * * *", input=HELLO, multitask_strategy="enqueue"
    )
    assert (cron["thread_id"], cron["on_run_completed"]) == (thread_id, None)
    assert await server.client.crons.count(thread_id=thread_id) == 1
    for _ in range(2):
        clock.later += timedelta(hours=1)
        assert await scheduler_of(server, clock).step() == 1
    runs = await server.client.runs.list(thread_id)
    for run in runs:
        await server.client.runs.join(thread_id, run["run_id"])
    assert len((await server.client.threads.get(thread_id))["values"]["messages"]) == 4
    await server.client.threads.delete(thread_id)
    assert await server.client.crons.count() == 0


async def test_after_an_outage_the_latest_slot_fires_and_the_others_are_recorded(server: Server):
    clock = LaterClock()
    cron = await server.client.crons.create("echo", schedule="0 * * * *", input=HELLO)
    clock.later = timedelta(hours=5)
    assert await scheduler_of(server, clock).step() == 1
    slots = await slots_of(server, cron["cron_id"])
    assert [slot["state"] for slot in slots] == ["fired", "missed", "missed", "missed", "missed"]
    moments = [datetime.fromisoformat(slot["slot"]) for slot in slots]
    assert moments == [moments[0] - timedelta(hours=n) for n in range(5)]
    shown = await server.client.crons.search()
    assert datetime.fromisoformat(shown[0]["next_run_date"]) == moments[0] + timedelta(hours=1)
    one = (
        await server.http.get(f"/runs/crons/{cron['cron_id']}/slots", params={"before": slots[1]["slot"], "limit": 1})
    ).json()
    assert one == slots[2:3]


async def test_after_a_long_outage_old_slots_are_one_record(server: Server):
    clock = LaterClock()
    cron = await server.client.crons.create("echo", schedule="* * * * *", input=HELLO)
    clock.later = timedelta(days=365)
    assert await scheduler_of(server, clock).step() == 1
    slots = (await server.http.get(f"/runs/crons/{cron['cron_id']}/slots", params={"limit": 1000})).json()
    assert len(slots) == 102
    oldest, next_one = slots[-1], slots[-2]
    assert oldest["state"] == "missed"
    assert datetime.fromisoformat(oldest["last_slot"]) + timedelta(minutes=1) == datetime.fromisoformat(next_one["slot"])
    assert datetime.fromisoformat(oldest["slot"]) - datetime.now(UTC) <= timedelta(minutes=1)
    assert "late" not in (slots[0]["note"] or "")


async def test_nothing_starts_after_the_end_time(server: Server):
    clock = LaterClock()
    end = datetime.now(UTC) + timedelta(hours=2, minutes=30)
    cron = await server.client.crons.create("echo", schedule="0 * * * *", input=HELLO, end_time=end)
    clock.later = timedelta(hours=4)
    assert await scheduler_of(server, clock).step() == 0
    assert {slot["state"] for slot in await slots_of(server, cron["cron_id"])} == {"missed"}
    assert (await server.client.crons.search())[0]["next_run_date"] is None


async def test_a_disabled_cron_misses_nothing(server: Server):
    clock = LaterClock()
    cron = await server.client.crons.create("echo", schedule="0 * * * *", input=HELLO, enabled=False)
    clock.later = timedelta(hours=4)
    assert await scheduler_of(server, clock).step() == 0
    await server.client.crons.update(cron["cron_id"], enabled=True)
    assert await slots_of(server, cron["cron_id"]) == []


async def test_a_busy_thread_refuses_a_slot_and_the_cron_goes_on(server: Server):
    clock = LaterClock()
    thread_id = (await server.client.threads.create())["thread_id"]
    cron = await server.client.crons.create_for_thread(
        thread_id, "echo", schedule="0 * * * *", input=HELLO, multitask_strategy="reject"
    )
    busy = await server.client.runs.create(thread_id, "ticks", input={"count": 1000, "seconds": 1})
    clock.later = timedelta(hours=1)
    assert await scheduler_of(server, clock).step() == 0
    (slot,) = await slots_of(server, cron["cron_id"])
    assert slot["state"] == "refused"
    assert "has a run under way" in slot["note"]
    assert (await server.client.crons.search())[0]["next_run_date"] is not None
    await server.client.runs.cancel(thread_id, busy["run_id"], wait=True)
    clock.later = timedelta(hours=2)
    assert await scheduler_of(server, clock).step() == 1


async def test_a_cron_whose_assistant_was_deleted_ends_with_a_sentence(server: Server):
    clock = LaterClock()
    assistant = await server.client.assistants.create("echo", name="mine")
    cron = await server.client.crons.create(assistant["assistant_id"], schedule="0 * * * *", input=HELLO)
    await server.client.assistants.delete(assistant["assistant_id"])
    clock.later = timedelta(hours=1)
    assert await scheduler_of(server, clock).step() == 0
    ended = (await server.http.get(f"/runs/crons/{cron['cron_id']}")).json()
    assert assistant["assistant_id"] in ended["ended_because"]
    assert (ended["enabled"], ended["next_run_date"]) == (False, None)


async def test_secrets_of_a_cron_reach_its_runs_and_are_not_shown(server: Server):
    cron = await server.client.crons.create(
        "echo", schedule=DAILY, config={"configurable": {"openai_api_key": "sk-secret-secret-secret", "tone": "dry"}}
    )
    assert cron["payload"]["config"]["configurable"] == {"tone": "dry"}
    assert "sk-secret" not in (await server.http.get(f"/runs/crons/{cron['cron_id']}")).text


async def test_the_scheduler_starts_runs_by_itself_and_wakes_for_a_new_cron(server: Server):
    clock = LaterClock()
    clock.later = timedelta(hours=2)  # the slots of a new cron are over, for this scheduler
    async with scheduler_of(server, clock), asyncio.timeout(PATIENCE_S):
        cron = await server.client.crons.create("echo", schedule="0 * * * *", input=HELLO)
        while not (slots := await slots_of(server, cron["cron_id"])):  # noqa: ASYNC110 - another process may as well do it
            await asyncio.sleep(0.02)
    assert [slot["state"] for slot in slots] == ["fired", "missed"]
    assert slots[0]["run_id"] is not None


async def test_crons_and_their_slots_are_exported(server: Server):
    clock = LaterClock()
    await server.client.crons.create(
        "echo", schedule="0 * * * *", input=HELLO, config={"configurable": {"openai_api_key": "sk-secret-secret-secret"}}
    )
    clock.later = timedelta(hours=1)
    assert await scheduler_of(server, clock).step() == 1
    lines = [orjson.loads(line) for line in (await server.http.get("/api/export")).text.splitlines()]
    assert [line["kind"] for line in lines if line["kind"].startswith("cron")] == ["cron", "cron_slot"]
    assert "sk-secret" not in str(lines)
