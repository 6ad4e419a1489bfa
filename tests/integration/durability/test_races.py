"""Many at the same moment, over HTTP, against a server process: one answer per question, no message lost, no event missed."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable

import httpx
import pytest
from tests.conftest import Effort
from tests.integration.durability.clients import Book, Client
from tests.integration.durability.oracle import Oracle
from tests.integration.durability.processes import Server

Record = Callable[[str, object], None]


@pytest.fixture
async def http(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    # As many connections as requests: nobody waits for a free one, so that all arrive together.
    limits = httpx.Limits(max_connections=500, max_keepalive_connections=500)
    async with httpx.AsyncClient(base_url=server.url, timeout=120, limits=limits) as client:
        yield client


async def start(http: httpx.AsyncClient, graph: str, thread_id: str, **order: object) -> httpx.Response:
    body = {"assistant_id": graph, "if_not_exists": "create", "stream_mode": [], **order}
    return await http.post(f"/threads/{thread_id}/runs", json=body)


async def joined(http: httpx.AsyncClient, thread_id: str, run_id: str) -> None:
    response = await http.get(f"/threads/{thread_id}/runs/{run_id}/join")
    assert response.status_code == 200, response.text
    assert "__error__" not in response.json(), response.text


async def ask_all(http: httpx.AsyncClient, threads: list[str]) -> list[str]:
    """A question on each thread; gives their ids."""
    runs = await asyncio.gather(*(start(http, "asking", thread, input={"marks": [thread]}) for thread in threads))
    await asyncio.gather(*(joined(http, thread, run.json()["run_id"]) for thread, run in zip(threads, runs, strict=True)))
    states = await asyncio.gather(*(http.get(f"/threads/{thread}") for thread in threads))
    return [question["id"] for state in states for several in state.json()["interrupts"].values() for question in several]


@pytest.mark.prove
async def test_double_answers_at_once_have_one_effect_each(
    http: httpx.AsyncClient, oracle: Oracle, effort: Effort, record_property: Record
) -> None:
    """Mission: 200 double answers to an interrupt fired at once, 200 effects."""
    threads = [str(uuid.uuid4()) for _ in range(effort.cases(40, 200))]
    questions = await ask_all(http, threads)
    pairs = [(thread, question) for thread, question in zip(threads, questions, strict=True) for _ in range(2)]
    answers = await asyncio.gather(
        *(start(http, "asking", thread, command={"resume": {question: "yes"}}) for thread, question in pairs)
    )
    assert Counter(answer.status_code for answer in answers) == {200: len(pairs)}
    assert all(one.json()["run_id"] == two.json()["run_id"] for one, two in zip(answers[::2], answers[1::2], strict=True))
    await asyncio.gather(*(joined(http, thread, run.json()["run_id"]) for (thread, _), run in zip(pairs, answers, strict=True)))
    effects = oracle.asked("keyed")
    assert [effects[f"{thread} after"] for thread in threads] == [1] * len(threads)
    record_property("double_answers", len(threads))
    record_property("effects", sum(effects[f"{thread} after"] for thread in threads))


async def test_of_two_different_answers_at_once_one_is_refused(http: httpx.AsyncClient, oracle: Oracle) -> None:
    threads = [str(uuid.uuid4()) for _ in range(20)]
    questions = await ask_all(http, threads)
    sent = [(thread, question, word) for thread, question in zip(threads, questions, strict=True) for word in ("yes", "no")]
    answers = await asyncio.gather(
        *(start(http, "asking", thread, command={"resume": {question: word}}) for thread, question, word in sent)
    )
    assert [sorted((one.status_code, two.status_code)) for one, two in zip(answers[::2], answers[1::2], strict=True)] == [
        [200, 409]
    ] * len(threads)
    taken = [(*what, answer) for what, answer in zip(sent, answers, strict=True) if answer.status_code == 200]
    for thread, question, word, answer in taken:
        await joined(http, thread, answer.json()["run_id"])
        again = await start(http, "asking", thread, command={"resume": {question: word}})
        assert (again.status_code, again.json()["run_id"]) == (200, answer.json()["run_id"]), "also after the run has ended"
        other = await start(http, "asking", thread, command={"resume": {question: "maybe"}})
        assert other.status_code == 409
        assert question in other.json()["detail"]
        state = (await http.get(f"/threads/{thread}/state")).json()["values"]
        assert f"{thread} {word}" in state["done"]
    assert max(oracle.asked("keyed").values()) == 1


@pytest.mark.prove
async def test_no_message_of_concurrent_posts_is_lost(http: httpx.AsyncClient, effort: Effort, record_property: Record) -> None:
    """Mission: 500 threads x 4 concurrent posts, 0 of 2,000 messages lost."""
    threads = [str(uuid.uuid4()) for _ in range(effort.cases(50, 500))]
    posts = {thread: [f"{thread} {n}" for n in range(4)] for thread in threads}
    room = asyncio.Semaphore(25)  # a hundred posts under way: beyond that httpx itself becomes what is measured

    async def post_four(thread: str) -> None:
        async with room:
            started = await asyncio.gather(*(start(http, "chat", thread, input=_message(mark)) for mark in posts[thread]))
            assert [run.status_code for run in started] == [200] * 4
            await asyncio.gather(*(joined(http, thread, run.json()["run_id"]) for run in started))

    await asyncio.gather(*(post_four(thread) for thread in threads))
    kept: Counter[str] = Counter()
    for thread in threads:
        values = (await http.get(f"/threads/{thread}/state")).json()["values"]
        assert sorted(values["marks"]) == sorted(values["done"]), "each message has its reply"
        kept.update(message["content"] for message in values["messages"] if message["type"] == "human")
        kept.update(values["marks"])
    sent = [mark for marks in posts.values() for mark in marks]
    lost = [mark for mark in sent if kept[mark] != 2]
    record_property("posts", len(sent))
    record_property("lost", len(lost))
    assert lost == []


def _message(mark: str) -> dict[str, object]:
    return {"marks": [mark], "messages": [{"role": "user", "content": mark, "id": mark}]}


@pytest.mark.prove
def test_a_reader_who_comes_back_at_any_event_misses_none(server: Server, effort: Effort, record_property: Record) -> None:
    """Mission: a 200-event run, reconnect at every index, no gap, no duplicate; here also across a crash in the middle."""
    client = Client(server.url, Book())
    said = client.say("ticking", str(uuid.uuid4()), stream_mode=["custom", "values"])
    assert said.run_id is not None
    seen = client.events(said.thread_id, said.run_id, None, most=80)
    server.kill()
    server.start()
    seen += client.events(said.thread_id, said.run_id, seen[-1].seq)
    assert [event.seq for event in seen] == list(range(1, len(seen) + 1))
    assert (len(seen) >= 200, seen[-1].event) == (True, "end")
    assert sum(event.event == "metadata" for event in seen) == 2, "the second attempt says that it is one"
    for place in range(0, len(seen) + 1, 1 if effort.long else 7):
        assert client.events(said.thread_id, said.run_id, place) == seen[place:]
    client.close()
    record_property("events", len(seen))


def test_readers_who_are_cut_off_while_the_run_goes_on_miss_nothing(server: Server) -> None:
    """The same while the run goes on: each connection takes three events and comes back."""
    client = Client(server.url, Book())
    said = client.say("ticking", str(uuid.uuid4()), stream_mode=["custom"])
    assert said.run_id is not None
    seen = client.events(said.thread_id, said.run_id, None, most=3)
    while seen[-1].event != "end":
        seen += client.events(said.thread_id, said.run_id, seen[-1].seq, most=3)
    assert [event.seq for event in seen] == list(range(1, len(seen) + 1))
    assert [event.data for event in seen if event.event == "custom"] == [f'{{"tick":{n}}}' for n in range(195)]
    client.close()
