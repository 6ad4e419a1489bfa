"""The server is killed while subagents are continued and forked: each remembers what it should, and does its work once."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable

import pytest
from tests.conftest import Effort
from tests.integration.durability.clients import Book, Client
from tests.integration.durability.oracle import Oracle
from tests.integration.durability.processes import Server

SEED = 30_013
LATEST_KILL_S = 0.6


@pytest.mark.prove
@pytest.mark.timeout(1800)
def test_no_kill_changes_what_a_continued_task_knows(
    stopped_server: Server, oracle: Oracle, effort: Effort, record_property: Callable[[str, object], None]
) -> None:
    server, book, chance = stopped_server, Book(), random.Random(SEED)
    kills = effort.cases(6, 100)
    client = Client(server.url, book)
    for _ in range(kills):
        server.start()
        client.say("continued", str(uuid.uuid4()))
        time.sleep(chance.uniform(0, LATEST_KILL_S))
        server.kill()
    server.start()
    record_property("kills", kills)
    acknowledged = [said for said in book.said if said.run_id]
    assert acknowledged, "nothing was tried"
    for said in acknowledged:
        client.settle(said.thread_id)
        messages = client.get(f"/threads/{said.thread_id}/state")["values"]["messages"]
        results = [message["content"].partition("\n")[0] for message in messages if message["type"] == "tool"]
        assert results == ["seen 1", "seen 1 2", f"seen {said.mark} 3"]
        tasks = client.get(f"/threads/{said.thread_id}/subagents")["subagents"]
        assert [task["status"] for task in tasks] == ["success"] * 3
        own = [client.get(f"/threads/{said.thread_id}/subagents/{task['task_id']}/messages")["total"] for task in tasks]
        assert own == [4, 8, 4], "newest first: the fork without its parent's messages, the second task with the first"
    wrong = {name: count for name, count in oracle.effective("keyed").items() if count != 1}
    assert wrong == {}
    client.close()
    assert server.stop() == 0
