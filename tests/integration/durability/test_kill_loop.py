"""The server is killed again and again while people work with it, and no promise is broken (`checks`)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest
from tests.conftest import Effort
from tests.integration.durability import checks
from tests.integration.durability.clients import Book, Client
from tests.integration.durability.oracle import Oracle
from tests.integration.durability.processes import Server
from tests.integration.durability.stories import Crowd

SEED = 20_260
LATEST_KILL_S = 0.6


@pytest.mark.prove
@pytest.mark.timeout(1800)
def test_no_kill_breaks_a_promise(
    stopped_server: Server, oracle: Oracle, effort: Effort, record_property: Callable[[str, object], None]
) -> None:
    """Mission: 300 random kill -9 of the server process, 0 acknowledged messages lost, 0 stuck runs, each effect once."""
    server, book, chance = stopped_server, Book(), random.Random(SEED)
    kills = effort.cases(10, 300)
    crowd = Crowd(server.url, book, clients=6, seed=SEED)
    began = time.monotonic()
    for _ in range(kills):
        assert crowd.failures == [], "\n".join(crowd.failures)
        server.start()
        time.sleep(chance.uniform(0, LATEST_KILL_S))
        server.kill()
    loop_s = time.monotonic() - began
    server.start()
    crowd.finish()
    assert crowd.failures == [], "\n".join(crowd.failures)
    client = Client(server.url, book)
    for thread_id in {said.thread_id for said in book.said}:
        client.settle(thread_id)
    wrong = [
        *checks.messages_stand_once(client, book),
        *checks.calls_have_results(client, book),
        *checks.effects_happen_once(oracle, book),
        *checks.effects_are_remembered(client, oracle),
    ]
    client.close()
    assert server.stop() == 0
    wrong += checks.database_is_right(server.database, book)
    _record(record_property, kills, loop_s, book, oracle, server)
    assert wrong == []
    assert book.followed, "nothing was tried"


def _record(
    record: Callable[[str, object], None], kills: int, loop_s: float, book: Book, oracle: Oracle, server: Server
) -> None:
    record("kills", kills)
    record("seconds", round(loop_s))
    record("messages_acknowledged", sum(said.run_id is not None for said in book.said))
    record("messages_unconfirmed", sum(said.run_id is None for said in book.said))
    record("answers", len(book.answers))
    record("messages_to_runs", book.steered)
    record("rollbacks", book.rollbacks)
    record("copies", len(book.copies))
    record("streams_followed", len(book.followed))
    record("connections", book.connections)
    record("keyed_effects", len(oracle.effective("keyed")))
    record("keyed_calls", len(oracle.calls("keyed")))
    record("once_calls", len(oracle.calls("once")))
    for name, value in checks.figures(server.database).items():
        record(name, value)
