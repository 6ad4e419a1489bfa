"""What the clients of the kill loop do: one story after the other, each a few messages long, all of them at the same time."""

from __future__ import annotations

import random
import threading
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


STORIES: tuple[Story, ...] = (talk, act, work, _asked("asking"), _asked("nested"))


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
