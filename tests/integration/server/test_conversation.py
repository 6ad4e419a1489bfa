"""A thread as the page reads it: messages, turns and branches, steps, what waits, what it cost."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.integration.server.conftest import Server, serve
from tests.integration.server.graphs import GRAPHS
from tests.support.growth import TIMES, assert_linear_async

from stepwell.agent import create_deep_agent
from stepwell.middleware import SubAgent
from stepwell.testing import ScriptedModel, call, each_run, say

pytestmark = pytest.mark.asyncio(loop_scope="module")


def _agent() -> Any:
    """It plans, asks a subagent that may not write without being allowed to, and answers."""
    scripts = {
        "main": each_run(
            [
                call("write_todos", todos=[{"content": "Ask", "status": "in_progress"}]),
                call("task", description="Write it down", subagent_type="scribe"),
                say("All done."),
            ]
        ),
        "scribe": each_run([call("write_file", file_path="/note.md", content="x"), say("Written.")]),
    }
    scribe: SubAgent = {"name": "scribe", "description": "Writes.", "system_prompt": "You write."}
    model = ScriptedModel.by_agent(scripts, key=lambda asked: "scribe" if asked.agent == "scribe" else "main", usage=(100, 20))
    return create_deep_agent(model, subagents=[scribe], interrupt_on={"write_file": True})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    async with serve(tmp_path_factory.mktemp("server"), graphs={**GRAPHS, "agent": _agent()}) as running:
        yield running


async def new_thread(server: Server, **fields: Any) -> str:
    return (await server.client.threads.create(**fields))["thread_id"]


async def get(server: Server, path: str, **query: Any) -> Any:
    answer = await server.http.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def say_to(server: Server, thread: str, text: str, graph: str = "echo", **options: Any) -> str:
    """One message with an id; gives that id."""
    message = {"type": "human", "id": str(uuid.uuid4()), "content": text}
    async for _ in server.client.runs.stream(thread, graph, input={"messages": [message]}, **options):
        pass
    return message["id"]


async def test_messages_come_newest_first_in_pages_that_fit_together(server: Server):
    thread = await new_thread(server)
    for text in ("one", "two", "three"):
        await say_to(server, thread, text)
    first = await get(server, f"/threads/{thread}/messages", limit=4)
    await say_to(server, thread, "meanwhile")
    second = await get(
        server, f"/threads/{thread}/messages", limit=4, before=first["next"], checkpoint_id=first["checkpoint_id"]
    )
    assert [message["content"] for message in first["messages"]] == ["You said: three", "three", "You said: two", "two"]
    assert [message["content"] for message in second["messages"]] == ["You said: one", "one"]
    assert (first["total"], second["total"], second["next"]) == (6, 6, None)


def _turn(number: int, results: int) -> list[dict[str, Any]]:
    """A question with so many calls, the result of each, and an answer."""
    calls = [
        [
            {
                "type": "ai",
                "id": f"c{number}.{n}",
                "content": "",
                "tool_calls": [{"id": f"t{number}.{n}", "name": "ls", "args": {}}],
            },
            {"type": "tool", "id": f"r{number}.{n}", "content": "", "tool_call_id": f"t{number}.{n}"},
        ]
        for n in range(results)
    ]
    asked = {"type": "human", "id": f"q{number}", "content": "?"}
    return [asked, *(message for pair in calls for message in pair), {"type": "ai", "id": f"a{number}", "content": "!"}]


async def test_a_page_of_whole_turns_begins_with_a_question(server: Server):
    steps = [{"updates": [{"values": {"messages": [*_turn(0, 2), *_turn(1, 12)]}, "as_node": "model"}]}]
    thread = await new_thread(server, graph_id="agent", supersteps=steps)
    first = await get(server, f"/threads/{thread}/messages", limit=20, whole_turns=True)
    assert (len(first["messages"]), first["messages"][-1]["id"]) == (26, "q1")
    before = await get(server, f"/threads/{thread}/messages", limit=2, before=first["next"], whole_turns=True)
    assert (len(before["messages"]), before["messages"][-1]["id"], before["next"]) == (6, "q0", None)
    assert len((await get(server, f"/threads/{thread}/messages", limit=20))["messages"]) == 20


async def test_a_page_of_a_turn_without_end_keeps_results_with_their_calls(server: Server):
    steps = [{"updates": [{"values": {"messages": _turn(0, 300)}, "as_node": "model"}]}]
    thread = await new_thread(server, graph_id="agent", supersteps=steps)
    page = await get(server, f"/threads/{thread}/messages", limit=20, whole_turns=True)
    assert (len(page["messages"]), page["messages"][-1]["id"]) == (21, "c0.290")


async def test_a_thread_without_messages_has_an_empty_page(server: Server):
    thread = await new_thread(server)
    assert await get(server, f"/threads/{thread}/messages") == {
        "messages": [],
        "total": 0,
        "next": None,
        "checkpoint_id": None,
    }


async def test_the_cost_of_a_page_grows_at_most_with_the_conversation(server: Server):
    async def conversation(length: int) -> str:
        messages = [{"type": ("human", "ai")[n % 2], "content": f"{n} " + "word " * 60, "id": f"m{n}"} for n in range(length)]
        steps = [{"updates": [{"values": {"messages": messages}, "as_node": "model"}]}]
        return await new_thread(server, graph_id="agent", supersteps=steps)

    async def newest(thread: str) -> dict[str, Any]:
        return await get(server, f"/threads/{thread}/messages", limit=50)

    long = await conversation(10_000)
    page = await newest(long)
    assert [message["id"] for message in page["messages"][:2]] == ["m9999", "m9998"]
    assert page["total"] == 10_000
    await assert_linear_async(newest, await conversation(10_000 // TIMES), long)


async def test_messages_of_siblings_that_are_done_show_while_one_waits(server: Server):
    thread = await new_thread(server)
    await say_to(server, thread, "hi", "asks")
    page = await get(server, f"/threads/{thread}/messages")
    assert [message["content"] for message in page["messages"]] == ["hi"]


async def test_a_checkpoint_and_a_cursor_that_are_none_are_refused(server: Server):
    thread = await new_thread(server)
    await say_to(server, thread, "hi")
    missing = await server.http.get(f"/threads/{thread}/messages", params={"checkpoint_id": str(uuid.uuid4())})
    wrong = [
        await server.http.get(f"/threads/{thread}/{path}", params=query)
        for path, query in (("messages", {"before": "x"}), ("turns", {"before": "-1"}), ("interrupts", {"after": "x"}))
    ]
    assert missing.status_code == 404
    assert [answer.status_code for answer in wrong] == [422, 422, 422]


async def test_an_edited_message_is_a_second_turn_after_the_same_one(server: Server):
    thread = await new_thread(server)
    first = await say_to(server, thread, "one")
    second = await say_to(server, thread, "two")
    before = (await get(server, f"/threads/{thread}/turns"))["turns"]
    edited = await say_to(server, thread, "two, better", checkpoint_id=before[0]["fork_from"])
    after = await get(server, f"/threads/{thread}/turns")
    by_message = {turn["message_ids"][0]: turn for turn in after["turns"]}
    old, new = by_message[second], by_message[edited]
    assert old["previous"] == new["previous"] == by_message[first]["turn_id"]
    assert by_message[first]["previous"] is None
    assert after["head"] == new["turn_id"]
    there = await get(server, f"/threads/{thread}/messages", checkpoint_id=old["last_checkpoint_id"])
    here = await get(server, f"/threads/{thread}/messages")
    assert [message["content"] for message in there["messages"]][:2] == ["You said: two", "two"]
    assert [message["content"] for message in here["messages"]] == [
        *("You said: two, better", "two, better"),
        *("You said: one", "one"),
    ]


async def test_the_first_message_can_be_edited_again_and_again(server: Server):
    thread = await new_thread(server)
    ids = [await say_to(server, thread, "one")]
    root = (await get(server, f"/threads/{thread}/turns"))["turns"][0]
    for text in ("won", "wan"):
        ids.append(await say_to(server, thread, text, checkpoint_id=root["fork_from"]))
    later = await say_to(server, thread, "more")
    turns = (await get(server, f"/threads/{thread}/turns"))["turns"]
    by_message = {turn["message_ids"][0]: turn for turn in turns}
    assert [by_message[each]["previous"] for each in ids] == [None, None, None]
    assert by_message[later]["previous"] == by_message[ids[-1]]["turn_id"]
    now = await get(server, f"/threads/{thread}/messages")
    assert [message["content"] for message in now["messages"]] == ["You said: more", "more", "You said: wan", "wan"]


async def test_a_branch_that_was_left_can_be_gone_on_with(server: Server):
    thread = await new_thread(server)
    await say_to(server, thread, "one")
    left = (await get(server, f"/threads/{thread}/turns"))["turns"][0]
    await say_to(server, thread, "other", checkpoint_id=left["fork_from"])
    back = await say_to(server, thread, "and then", checkpoint_id=left["last_checkpoint_id"])
    turns = await get(server, f"/threads/{thread}/turns")
    assert turns["turns"][0]["message_ids"] == [back]
    assert turns["turns"][0]["previous"] == left["turn_id"]
    now = await get(server, f"/threads/{thread}/messages")
    assert [message["content"] for message in now["messages"]][1:] == ["and then", "You said: one", "one"]


async def test_turns_come_in_pages(server: Server):
    thread = await new_thread(server)
    ids = [await say_to(server, thread, str(n)) for n in range(3)]
    first = await get(server, f"/threads/{thread}/turns", limit=2)
    second = await get(server, f"/threads/{thread}/turns", limit=2, before=first["next"])
    assert [turn["message_ids"][0] for page in (first, second) for turn in page["turns"]] == ids[::-1]
    assert second["next"] is None


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asking(server: Server) -> str:
    """A thread on which a subagent asks whether it may write."""
    thread = await new_thread(server, metadata={"title": "Notes"})
    await say_to(server, thread, "Write a note", "agent")
    return thread


async def test_a_subagents_question_names_it(server: Server, asking: str):
    page = await get(server, f"/threads/{asking}/interrupts")
    (waiting,) = page["interrupts"]
    assert (waiting["type"], waiting["asker"], waiting["thread_title"]) == ("tool_approval", "scribe", "Notes")
    assert waiting["payload"]["action_requests"][0]["name"] == "write_file"
    assert waiting["response_schema"]["required"] == ["decisions"]
    assert waiting["created_at"] is not None
    assert (page["next"], page["total"]) == (None, 1)


async def test_it_is_named_also_where_subagents_are_streamed(server: Server):
    thread = await new_thread(server)
    await say_to(server, thread, "Write a note", "agent", stream_subgraphs=True)
    (waiting,) = (await get(server, f"/threads/{thread}/interrupts"))["interrupts"]
    assert waiting["asker"] == "scribe"
    assert waiting["namespace"][0].startswith("tools:")


async def test_a_question_of_the_graph_itself_has_no_asker(server: Server):
    thread = await new_thread(server)
    await say_to(server, thread, "hi", "asks")
    (waiting,) = (await get(server, f"/threads/{thread}/interrupts"))["interrupts"]
    assert (waiting["type"], waiting["asker"], waiting["payload"]) == ("unknown", None, {"question": "Which one?"})


async def test_a_list_of_all_that_waits_cuts_long_texts_when_asked_to(server: Server):
    thread = await new_thread(server)
    await say_to(server, thread, "hi", "asks")
    listed = (await get(server, "/interrupts", limit=1000, longest_text=6))["interrupts"]
    (waiting,) = (each for each in listed if each["thread_id"] == thread)
    assert (waiting["type"], waiting["payload"]) == ("unknown", {"question": "Which…"})


async def test_all_that_waits_is_listed_oldest_first_in_pages(server: Server, asking: str):
    threads = [await new_thread(server) for _ in range(3)]
    for thread in threads:
        await say_to(server, thread, "hi", "asks")
    found: list[str] = []
    after: str | None = None
    for _ in range(20):
        page = await get(server, "/interrupts", limit=2, **({"after": after} if after else {}))
        found += [waiting["thread_id"] for waiting in page["interrupts"]]
        after = page["next"]
        if after is None:
            break
    assert len(found) == len(set(found)) == page["total"]
    assert found.index(asking) < found.index(threads[0]) < found.index(threads[1]) < found.index(threads[2])


async def test_what_a_run_without_a_thread_asks_waits_for_nobody(server: Server):
    before = (await get(server, "/interrupts"))["total"]
    await server.client.runs.wait(None, "asks", input={"messages": []})
    assert (await get(server, "/interrupts"))["total"] == before


async def test_steps_tell_models_tools_and_subagents_with_what_they_used(server: Server, asking: str):
    (waiting,) = (await get(server, f"/threads/{asking}/interrupts"))["interrupts"]
    resume = {waiting["interrupt_id"]: {"decisions": [{"type": "approve"}]}}
    await server.client.runs.wait(asking, "agent", command={"resume": resume})
    steps = (await get(server, f"/threads/{asking}/steps"))["steps"]
    told = [(step["kind"], step["name"], step["agent"], step["status"]) for step in steps]
    model = ("model", "scriptedmodel")
    assert told == [
        (*model, None, "success"),
        ("tool", "write_todos", None, "success"),
        (*model, None, "success"),
        (*model, "scribe", "success"),
        ("agent", "scribe", None, "interrupted"),
        ("tool", "write_file", "scribe", "success"),
        (*model, "scribe", "success"),
        ("agent", "scribe", None, "success"),
        (*model, None, "success"),
    ]
    assert [step["number"] for step in steps] == list(range(1, 10))
    assert steps[3]["namespace"] == steps[5]["namespace"] != []
    assert (steps[0]["input_tokens"], steps[0]["output_tokens"], steps[1]["input_tokens"]) == (100, 20, None)
    assert steps[7]["duration_ms"] >= steps[6]["duration_ms"] > 0
    assert steps[7]["call_id"] == steps[4]["call_id"]
    assert (await get(server, f"/threads/{asking}/interrupts"))["interrupts"] == []
    gauge = await get(server, f"/threads/{asking}/usage")
    assert gauge["context"] == {"tokens": 120, "window": None, "model": "scriptedmodel"}
    assert (gauge["calls"], gauge["input_tokens"], gauge["output_tokens"]) == (5, 500, 100)
    assert (gauge["cost_usd"], gauge["unpriced_runs"]) == (None, 2)
    (turn,) = (await get(server, f"/threads/{asking}/turns"))["turns"]
    assert len(turn["run_ids"]) == 2
    assert turn["status"] == "success"


async def test_nodes_of_a_graph_are_steps_in_pages_and_by_run(server: Server):
    thread = await new_thread(server)
    run = await server.client.runs.create(thread, "fails", input={"messages": []})
    await server.client.runs.join(thread, run["run_id"])
    await say_to(server, thread, "hi")
    first = await get(server, f"/threads/{thread}/steps", limit=3)
    rest = await get(server, f"/threads/{thread}/steps", after=first["next"])
    told = [(step["kind"], step["name"], step["status"]) for step in first["steps"] + rest["steps"]]
    assert told == [
        *(("node", "hear", "success"), ("node", "fail", "error")),
        *(("node", "hear", "success"), ("node", "answer", "success")),
    ]
    assert "fell over" in first["steps"][1]["error"]
    of_run = (await get(server, f"/threads/{thread}/steps", run_id=run["run_id"]))["steps"]
    assert of_run == first["steps"][:2]


async def test_steps_stay_when_events_go_and_go_with_their_run_and_thread(server: Server):
    thread = await new_thread(server)
    for text in ("hi", "ho"):
        await say_to(server, thread, text)
    newest, older = await server.client.runs.list(thread)
    persistence = server.services.persistence
    await persistence.maintenance.trim_events(server.services.clock.now())
    assert {event.run_id for event in await persistence.events.read(thread)} == {newest["run_id"]}
    assert len((await get(server, f"/threads/{thread}/steps"))["steps"]) == 4
    await server.client.runs.delete(thread, older["run_id"])
    left = (await get(server, f"/threads/{thread}/steps"))["steps"]
    assert {step["run_id"] for step in left} == {newest["run_id"]}
    await say_to(server, thread, "hi")
    await server.client.threads.delete(thread)
    left = await server.services.persistence.database.read(  # type: ignore[attr-defined]  # it is the embedded one here
        lambda connection: connection.execute("SELECT COUNT(*) FROM steps WHERE thread_id = ?", (thread,)).fetchone()[0]
    )
    assert left == 0


async def test_a_run_that_is_cancelled_leaves_the_step_it_was_at(server: Server):
    thread = await new_thread(server)
    run = await server.client.runs.create(thread, "ticks", input={"count": 1000, "seconds": 0.01}, stream_mode="custom")
    async for part in server.client.runs.join_stream(thread, run["run_id"]):
        if part.event == "custom":
            break
    await server.client.runs.cancel(thread, run["run_id"], wait=True)
    (step,) = (await get(server, f"/threads/{thread}/steps"))["steps"]
    assert (step["name"], step["status"]) == ("tick", "interrupted")


async def test_nothing_of_somebody_elses_thread_is_found(server: Server):
    stranger = str(uuid.uuid4())
    for path in ("messages", "turns", "steps", "usage", "interrupts"):
        assert (await server.http.get(f"/threads/{stranger}/{path}")).status_code == 404
