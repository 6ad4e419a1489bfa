"""What existing chat pages do, request by request, against a server process."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

HI = {"messages": [{"type": "human", "content": "hi"}]}
LONG = {"count": 1000, "seconds": 0.02}


async def new_thread(http: httpx.AsyncClient) -> str:
    """As pages do it: with empty metadata."""
    response = await http.post("/threads", json={"metadata": {}})
    return str(response.json()["thread_id"])


async def wait(http: httpx.AsyncClient, thread_id: str, assistant_id: str, **body: Any) -> dict[str, Any]:
    response = await http.post(f"/threads/{thread_id}/runs/wait", json={"assistant_id": assistant_id, **body})
    assert response.status_code == 200, response.text
    return dict(response.json())


async def start(http: httpx.AsyncClient, thread_id: str, assistant_id: str, **body: Any) -> str:
    response = await http.post(f"/threads/{thread_id}/runs", json={"assistant_id": assistant_id, **body})
    assert response.status_code == 200, response.text
    return str(response.json()["run_id"])


async def thread(http: httpx.AsyncClient, thread_id: str) -> dict[str, Any]:
    return dict((await http.get(f"/threads/{thread_id}")).json())


async def history(http: httpx.AsyncClient, thread_id: str, limit: int = 20) -> list[dict[str, Any]]:
    return list((await http.post(f"/threads/{thread_id}/history", json={"limit": limit})).json())


def texts(values: dict[str, Any]) -> list[str]:
    return [message["content"] for message in values["messages"]]


async def test_a_thread_made_without_metadata_is_found_by_the_graph_and_the_assistant_it_ran(http: httpx.AsyncClient) -> None:
    thread_id = await new_thread(http)
    assistant = (await http.get("/assistants/echo")).json()
    await start(http, thread_id, "echo", input=HI)  # found at once, not only when the run has ended
    for wanted in ({"graph_id": "echo"}, {"assistant_id": assistant["assistant_id"]}):
        body = {"metadata": wanted, "limit": 100, "sort_by": "updated_at", "sort_order": "desc"}
        found = (await http.post("/threads/search", json=body)).json()
        assert found[0]["thread_id"] == thread_id


async def test_a_threads_values_and_questions_come_with_a_search(http: httpx.AsyncClient) -> None:
    thread_id = await new_thread(http)
    await wait(http, thread_id, "asks", input=HI)
    (found,) = (await http.post("/threads/search", json={"ids": [thread_id]})).json()
    assert texts(found["values"]) == ["hi"]
    assert [each["value"] for each in next(iter(found["interrupts"].values()))] == [{"question": "Which one?"}]


async def test_the_header_of_a_key_that_is_not_set_does_no_harm(http: httpx.AsyncClient) -> None:
    response = await http.post("/assistants/search", json={}, headers={"x-api-key": ""})
    assert response.status_code == 200


async def test_the_assistants_of_the_system_are_found_by_who_made_them(http: httpx.AsyncClient) -> None:
    body = {"metadata": {"created_by": "system"}, "limit": 100}
    found = (await http.post("/assistants/search", json=body)).json()
    assert {each["graph_id"] for each in found} == {"echo", "asks", "fails", "ticks", "nested", "deep", "sums"}


async def test_a_follow_up_names_the_head_as_its_checkpoint(http: httpx.AsyncClient) -> None:
    thread_id = await new_thread(http)
    await wait(http, thread_id, "echo", input=HI)
    head = (await history(http, thread_id, 1))[0]["checkpoint"]
    checkpoint = {"checkpoint_id": head["checkpoint_id"], "checkpoint_ns": ""}
    after = await wait(
        http, thread_id, "echo", input={"messages": [{"type": "human", "content": "more"}]}, checkpoint=checkpoint
    )
    assert texts(after) == ["hi", "You said: hi, I think", "more", "You said: more, I think"]


@pytest.mark.parametrize("beside", [{}, {"input": None}, {"input": {}}])
@pytest.mark.parametrize("with_checkpoint", [False, True])
async def test_an_answer_may_come_with_an_empty_input_and_a_checkpoint(
    http: httpx.AsyncClient, beside: dict[str, Any], with_checkpoint: bool
) -> None:
    thread_id = await new_thread(http)
    await wait(http, thread_id, "asks", input=HI)
    body = dict(beside)
    if with_checkpoint:
        head = (await history(http, thread_id, 1))[0]["checkpoint"]
        body["checkpoint"] = {"checkpoint_id": head["checkpoint_id"], "checkpoint_ns": ""}
    after = await wait(http, thread_id, "asks", command={"resume": "this"}, **body)
    assert after["log"] == ["heard", "told this", "answered"]


async def test_an_answer_is_made_again_as_a_second_branch(http: httpx.AsyncClient) -> None:
    thread_id = await new_thread(http)
    await wait(http, thread_id, "echo", input=HI)
    (before,) = [state for state in await history(http, thread_id) if state["next"] == ["answer"]]
    again = await wait(http, thread_id, "echo", checkpoint=before["checkpoint"])
    assert len(again["messages"]) == 2
    states = await history(http, thread_id)
    parent = before["checkpoint"]["checkpoint_id"]
    children = [state for state in states if (state["parent_checkpoint"] or {}).get("checkpoint_id") == parent]
    assert len(children) == 2, "two branches hang on the checkpoint before the answer"
    answers = {state["values"]["messages"][1]["id"] for state in states if len(state["values"].get("messages", ())) == 2}
    assert len(answers) == 2


async def test_a_run_outlives_the_page_and_is_told_to_the_next_one(http: httpx.AsyncClient) -> None:
    thread_id = await new_thread(http)
    body = {
        "assistant_id": "ticks",
        "input": {"count": 20, "seconds": 0.01},
        "stream_mode": ["custom"],
        "on_disconnect": "continue",
        "stream_resumable": True,
    }
    async with http.stream("POST", f"/threads/{thread_id}/runs/stream", json=body) as response:
        await anext(response.aiter_raw())
        place = response.headers["content-location"]
    whole = await http.get(f"{place}/stream", headers={"last-event-id": "-1"})
    assert [data["n"] for event, data in events(whole.text) if event == "custom"] == list(range(20))


async def test_a_cancel_that_does_not_wait_is_accepted(http: httpx.AsyncClient) -> None:
    thread_id = await new_thread(http)
    run_id = await start(http, thread_id, "ticks", input=LONG)
    place = f"/threads/{thread_id}/runs/{run_id}"
    assert (await http.post(f"{place}/cancel?wait=0&action=interrupt")).status_code == 202
    await http.get(f"{place}/join")
    assert (await http.get(place)).json()["status"] == "interrupted"
    assert (await thread(http, thread_id))["status"] == "interrupted"


async def test_a_finished_and_a_failed_run_are_told_again(http: httpx.AsyncClient) -> None:
    for assistant, last in (("echo", "values"), ("fails", "error")):
        thread_id = await new_thread(http)
        run_id = await start(http, thread_id, assistant, input=HI)
        await http.get(f"/threads/{thread_id}/runs/{run_id}/join")
        again = await http.get(f"/threads/{thread_id}/runs/{run_id}/stream")
        assert again.status_code == 200
        assert [event for event, _ in events(again.text)][-2:] == [last, "end"]


@pytest.mark.parametrize(
    ("assistant", "thread_status", "run_status"),
    [("echo", "idle", "success"), ("asks", "interrupted", "success"), ("fails", "error", "error")],
)
async def test_statuses_are_what_pages_expect(
    http: httpx.AsyncClient, assistant: str, thread_status: str, run_status: str
) -> None:
    thread_id = await new_thread(http)
    run_id = await start(http, thread_id, assistant, input=HI)
    assert (await http.get(f"/threads/{thread_id}/runs/{run_id}/join")).status_code == 200
    assert (await http.get(f"/threads/{thread_id}/runs/{run_id}")).json()["status"] == run_status
    assert (await thread(http, thread_id))["status"] == thread_status


async def test_the_head_of_the_history_has_the_question_and_the_error(http: httpx.AsyncClient) -> None:
    asked, failed = await new_thread(http), await new_thread(http)
    await wait(http, asked, "asks", input=HI)
    await wait(http, failed, "fails", input=HI)
    (task,) = (await history(http, asked, 1))[0]["tasks"]
    assert [each["value"] for each in task["interrupts"]] == [{"question": "Which one?"}]
    (task,) = (await history(http, failed, 1))[0]["tasks"]
    assert "the node fell over" in task["error"]


async def test_a_history_read_during_the_run_has_the_message_already(http: httpx.AsyncClient) -> None:
    thread_id = await new_thread(http)
    run_id = await start(http, thread_id, "nested", input={**HI, **LONG})
    async with asyncio.timeout(60):
        while not (states := await history(http, thread_id, 1)) or not states[0]["values"].get("messages"):  # noqa: ASYNC110 - a page can only ask again
            await asyncio.sleep(0.02)
    assert texts(states[0]["values"]) == ["hi"]
    assert (await thread(http, thread_id))["status"] == "busy"
    await http.post(f"/threads/{thread_id}/runs/{run_id}/cancel?wait=1")


async def test_a_message_during_a_run_is_answered_too(http: httpx.AsyncClient) -> None:
    """Pages send no `multitask_strategy`."""
    thread_id = await new_thread(http)
    await start(http, thread_id, "echo", input={**HI, "seconds": 0.05})
    after = await wait(http, thread_id, "echo", input={"messages": [{"type": "human", "content": "and?"}]})
    assert texts(after) == ["hi", "You said: hi, I think", "and?", "You said: and?, I think"]


async def test_a_state_may_be_written_with_values_alone(http: httpx.AsyncClient) -> None:
    thread_id = await new_thread(http)
    await wait(http, thread_id, "echo", input=HI)
    response = await http.post(f"/threads/{thread_id}/state", json={"values": {"data": {"edited": True}}})
    assert response.status_code == 200, response.text
    assert (await http.get(f"/threads/{thread_id}/state")).json()["values"]["data"] == {"edited": True}


async def test_a_page_on_another_port_may_ask_and_may_read_the_headers(http: httpx.AsyncClient) -> None:
    asked = {"origin": "http://localhost:3000", "access-control-request-method": "POST"}
    wanted = "x-api-key,last-event-id,content-type"
    allowed = await http.options("/threads", headers={**asked, "access-control-request-headers": wanted})
    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] in ("*", "http://localhost:3000")
    names = {name.strip().lower() for name in allowed.headers["access-control-allow-headers"].split(",")}
    assert set(wanted.split(",")) <= names

    answer = await http.post(
        "/runs/wait", json={"assistant_id": "echo", "input": HI}, headers={"origin": "http://localhost:3000"}
    )
    exposed = {name.strip().lower() for name in answer.headers["access-control-expose-headers"].split(",")}
    assert {"content-location", "location"} <= exposed


def events(text: str) -> list[tuple[str, Any]]:
    """The events of a stream, each with its data."""
    found = []
    for frame in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in frame.splitlines() if ": " in line and not line.startswith(":"))
        if "event" in fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found
