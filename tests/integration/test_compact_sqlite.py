"""Compaction of a SQLite thread by real processes: killed at any instant, or while an agent is still running."""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from stepwell.agent import create_deep_agent
from stepwell.state import compact
from stepwell.testing import ScriptedModel, call, say

THREAD: dict[str, Any] = {"configurable": {"thread_id": "t"}}

# Compacts a little more in each round, so that every instant of its life is near a transaction or within one.
COMPACTOR = """
import sqlite3, sys
from langgraph.checkpoint.sqlite import SqliteSaver
from stepwell.state import compact
path, start = sys.argv[1], int(sys.argv[2])
saver = SqliteSaver(sqlite3.connect(path))
print("ready", flush=True)
sys.stdin.readline()
for keep_last in range(start, 0, -1):
    compact(saver, "t", keep_last=keep_last)
print("finished", flush=True)
sys.stdin.readline()
"""


def turns(count: int) -> list[Any]:
    return [call("write_file", file_path=f"/f{n}.md", content=f"text {n}\n" * 50) for n in range(count)]


def open_thread(path: Path, script: Any = ()) -> tuple[sqlite3.Connection, Any]:
    connection = sqlite3.connect(path, check_same_thread=False)
    return connection, create_deep_agent(ScriptedModel(script), checkpointer=SqliteSaver(connection))


def write_thread(path: Path, count: int) -> list[Any]:
    """A thread of some turns, and its whole history as it is read back."""
    connection, agent = open_thread(path, [*turns(count), say("done")])
    with closing(connection):
        agent.invoke({"messages": "go"}, THREAD)
        return list(agent.get_state_history(THREAD))


def kill_while_compacting(path: Path, start: int, delay_s: float) -> bool:
    """Let a process compact for so long and no longer. Whether it was still at work."""
    command = [sys.executable, "-c", COMPACTOR, str(path), str(start)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.stdin.write("go\n")
            process.stdin.flush()
            time.sleep(delay_s)
        finally:
            process.send_signal(signal.SIGKILL)
        return "finished" not in process.stdout.read()


@pytest.mark.prove
@pytest.mark.timeout(600)
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this platform has no SIGKILL")
def test_a_kill_at_any_instant_leaves_the_old_history_or_the_new(tmp_path: Path, effort: Any, record_property: Any):
    template = tmp_path / "template.sqlite"
    history = write_thread(template, 40)
    chance = random.Random(20261115)
    kills, at_work, left = effort.cases(3, 60), 0, Counter[int]()
    for number in range(kills):
        path = tmp_path / f"{number}.sqlite"
        shutil.copy(template, path)
        at_work += kill_while_compacting(path, len(history), chance.uniform(0, 0.6))
        connection, agent = open_thread(path)
        with closing(connection):
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            loaded = list(agent.get_state_history(THREAD))
            assert loaded == history[: len(loaded)]
            assert loaded
            stray = connection.execute(
                "SELECT COUNT(*) FROM writes WHERE checkpoint_id NOT IN (SELECT checkpoint_id FROM checkpoints)"
            )
            assert stray.fetchone() == (0,)
        left[len(loaded)] += 1
        path.unlink()
    record_property("kills", kills)
    record_property("killed_at_work", at_work)
    record_property("different_lengths_left", len(left))
    assert at_work, "every process had finished before it was killed: the thread is too short for this machine"


def test_an_agent_that_runs_meanwhile_loses_nothing(tmp_path: Path):
    path = tmp_path / "t.sqlite"
    connection, agent = open_thread(path, [*turns(40), say("done")])
    stop, rounds, failures = threading.Event(), Counter[str](), list[BaseException]()

    def keep_compacting() -> None:
        with closing(sqlite3.connect(path, check_same_thread=False, timeout=60)) as own:
            saver = SqliteSaver(own)
            try:
                while not stop.is_set():
                    compact(saver, "t")
                    rounds["done"] += 1
            except BaseException as error:
                failures.append(error)

    connection.execute("PRAGMA busy_timeout = 60000")
    compactor = threading.Thread(target=keep_compacting)
    with closing(connection):
        compactor.start()
        try:
            returned = agent.invoke({"messages": "go"}, THREAD)
        finally:
            stop.set()
            compactor.join()
        assert failures == []
        assert rounds["done"] > 1
        read = agent.get_state(THREAD).values
        assert read["messages"] == returned["messages"]
        assert read["files"] == returned["files"]
        assert len(read["messages"]) == 82
        compact(SqliteSaver(connection), "t")
        assert agent.get_state(THREAD).values["messages"] == returned["messages"]


def test_the_file_on_disk_shrinks(tmp_path: Path):
    path = tmp_path / "t.sqlite"
    connection, agent = open_thread(path, [*turns(60), say("done")])
    with closing(connection):
        agent.invoke({"messages": "go"}, THREAD)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = path.stat().st_size
        report = compact(SqliteSaver(connection), "t")
        assert path.stat().st_size < before / 2
        assert path.stat().st_size < report.after.size_bytes * 1.5
