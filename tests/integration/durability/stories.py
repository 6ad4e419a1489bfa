"""What the clients of the kill loop do: one story after the other, each a few messages long, all of them at the same time."""

from __future__ import annotations

import random
import threading
import time
import traceback
import uuid
from collections.abc import Callable

from tests.integration.durability.clients import Book, Client

MODES = ["values", "updates", "messages-tuple", "custom"]
Story = Callable[[Client, Book, random.Random], None]


def _thread(book: Book, graph: str, chance: random.Random) -> str:
    """A new thread, or one that has been talked on before."""
    known = book.threads(graph)
    return chance.choice(known) if known and chance.random() < 0.4 else str(uuid.uuid4())


def talk(client: Client, book: Book, chance: random.Random) -> None:
    """Several messages on one thread without waiting, then reading along."""
    thread_id = _thread(book, "chat", chance)
    said = [client.say("chat", thread_id, stream_mode=MODES) for _ in range(chance.randint(1, 3))]
    for one in said:
        if one.run_id:
            client.follow(thread_id, one.run_id)
    client.settle(thread_id)


def act(client: Client, book: Book, chance: random.Random) -> None:
    """Three keyed effects, one step each."""
    said = client.say("keyed", _thread(book, "keyed", chance), stream_mode=["updates"])
    if said.run_id:
        client.follow(said.thread_id, said.run_id)


def work(client: Client, book: Book, chance: random.Random) -> None:
    """A deep agent: plan, files, a payment, two subagents."""
    said = client.say("deep", _thread(book, "deep", chance), stream_mode=MODES, stream_subgraphs=True)
    if said.run_id:
        client.follow(said.thread_id, said.run_id)


def steer(client: Client, book: Book, chance: random.Random) -> None:
    """An agent at work, corrected on the way. What comes too late is said as a message of its own."""
    said = client.say("steered", _thread(book, "steered", chance), stream_mode=MODES)
    if said.run_id:
        for _ in range(chance.randint(1, 3)):
            time.sleep(chance.uniform(0, 0.1))
            if client.steer(said) is None:
                break
        client.follow(said.thread_id, said.run_id)
    client.settle(said.thread_id)


def _asked(graph: str) -> Story:
    def asked(client: Client, book: Book, chance: random.Random) -> None:
        """A question, answered by id, twice, and then otherwise."""
        said = client.say(graph, str(uuid.uuid4()), stream_mode=["values"])
        thread = client.settle(said.thread_id)
        if thread is None or not thread["interrupts"]:
            assert said.run_id is None, f"an acknowledged question was never asked on {said.thread_id}: {thread}"
            return
        (question,) = (one for several in thread["interrupts"].values() for one in several)
        answer = f"answer-{said.mark}"
        first = client.answer(graph, said.thread_id, question["id"], answer)
        assert client.answer(graph, said.thread_id, question["id"], answer) == first, "the same answer again is the same run"
        assert client.answer_otherwise(graph, said.thread_id, question["id"], "something else").status_code == 409
        client.follow(said.thread_id, first)

    return asked


def decide(client: Client, book: Book, chance: random.Random) -> None:
    """A payment behind a question, on a thread and its copies: approved, rolled back in the middle, approved again."""
    said = client.say("gated", str(uuid.uuid4()))
    if not _questions(client, said.thread_id):
        assert said.run_id is None, f"an acknowledged question was never asked on {said.thread_id}"
        return
    threads = [said.thread_id, *(client.copy(said.thread_id) for _ in range(chance.randint(0, 2)))]
    chance.shuffle(threads)
    for thread_id in threads:
        (question,) = _questions(client, thread_id)
        run_id = client.approve(thread_id, question)
        if run_id is not None and chance.random() < 0.6:
            time.sleep(chance.uniform(0, 0.15))
            client.roll_back(thread_id, run_id)
    for thread_id in threads:
        while questions := _questions(client, thread_id):
            client.approve(thread_id, questions[0])
        _go_on(client, thread_id)


def change_mind(client: Client, book: Book, chance: random.Random) -> None:
    """A deep agent at work, rolled back with its message, wherever it is."""
    said = client.say("deep", str(uuid.uuid4()), stream_mode=["updates"])
    if said.run_id:
        time.sleep(chance.uniform(0, 0.4))
        client.roll_back(said.thread_id, said.run_id)
    client.settle(said.thread_id)


def _questions(client: Client, thread_id: str) -> list[str]:
    thread = client.settle(thread_id) or {"interrupts": {}}
    return [question["id"] for several in thread["interrupts"].values() for question in several]


def _go_on(client: Client, thread_id: str) -> None:
    """Until a message has been taken, so that the thread comes to rest behind it."""
    while (said := client.say("noting", thread_id)).run_id is None:
        client.settle(thread_id)
    client.follow(thread_id, said.run_id)


STORIES: tuple[Story, ...] = (talk, steer, act, decide, work, _asked("asking"), change_mind, steer, _asked("nested"), decide)


class Crowd:
    """Clients at work until `finish`."""

    def __init__(self, url: str, book: Book, *, clients: int, seed: int) -> None:
        self._stop = threading.Event()
        self._book = book
        self.failures: list[str] = []
        self._threads = [
            threading.Thread(target=self._live, args=(url, place, random.Random(seed + place)), daemon=True)
            for place in range(clients)
        ]
        for thread in self._threads:
            thread.start()

    def finish(self) -> None:
        """No new stories; those that have begun come to their end."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _live(self, url: str, place: int, chance: random.Random) -> None:
        client = Client(url, self._book)
        try:
            for number in range(10**9):
                if self._stop.is_set() or self.failures:
                    return
                STORIES[(place + number) % len(STORIES)](client, self._book, chance)
        except BaseException:  # shown by the test: a thread has nobody to raise to
            self.failures.append(traceback.format_exc())
        finally:
            client.close()
