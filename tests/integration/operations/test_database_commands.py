"""`stepwell db`: real processes on a real file, with a server at work beside them or not."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.integration.operations.conftest import Place, Served


def words(served: Served, thread_id: str) -> list[str]:
    return list(served.http.get(f"/threads/{thread_id}/state").json()["values"]["words"])


def integrity(file: Path) -> str:
    with closing(sqlite3.connect(file)) as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])


def count(file: Path, table: str) -> int:
    with closing(sqlite3.connect(file)) as connection:
        return int(connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])


def test_a_backup_under_load_is_whole_and_private_and_comes_back(place: Place) -> None:
    """Runs go on while it is made; restored, every thread in it stands as some finished step left it, and goes on."""
    copy = place.folder / "copy.db"
    with place.serving() as served:
        threads = [served.thread() for _ in range(5)]
        for thread_id in threads:
            served.wait("words", thread_id, input={"words": ["x" * 100_000]})
        stopping = threading.Event()
        loads = [threading.Thread(target=_load, args=(served, thread_id, stopping)) for thread_id in threads[1:]]
        for load in loads:
            load.start()
        made = place.run("db", "backup", str(copy))
        stopping.set()
        for load in loads:
            load.join()
        assert made.returncode == 0, made.stderr
        assert "checked" in made.stdout
        assert place.run("db", "backup", str(copy)).returncode == 2, "an existing file is not overwritten"
        assert place.run("db", "backup", str(copy), "--force").returncode == 0
        refused = place.run("db", "restore", str(copy))
        assert refused.returncode == 2
        assert "Another process uses the database" in refused.stderr
        served.http.delete(f"/threads/{threads[0]}").raise_for_status()
    assert integrity(copy) == "ok"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert not list(place.folder.glob("*.partial"))
    restored = place.run("db", "restore", str(copy))
    assert restored.returncode == 0, restored.stderr
    assert stat.S_IMODE(place.database.stat().st_mode) == 0o600
    [aside] = place.database.parent.glob("stepwell.db.before-restore-*")
    assert count(aside, "threads") == 4
    with place.serving() as served:
        for thread_id in threads:
            before = words(served, thread_id)
            after = served.wait("words", thread_id, input={"words": []})["words"]
            assert after == [*before, "hello", "world"]


def _load(served: Served, thread_id: str, stopping: threading.Event) -> None:
    while not stopping.is_set():
        served.wait("words", thread_id, input={"words": ["more"]})


def test_a_backup_that_cannot_be_written_says_so_and_leaves_nothing(place: Place) -> None:
    with closing(sqlite3.connect(place.database)) as connection:
        connection.execute("CREATE TABLE of_an_older_time (x)")
    for file in ("/proc/copy.db", "/dev/full/copy.db", str(place.folder / "missing" / "copy.db")):
        refused = place.run("db", "backup", file)
        assert refused.returncode == 2, file
        assert "Traceback" not in refused.stderr
        assert "copy.db" in refused.stderr or "folder" in refused.stderr


def test_a_damaged_or_foreign_file_is_not_restored(place: Place) -> None:
    with place.serving() as served:
        thread_id = served.thread()
    before = place.database.read_bytes()
    broken, foreign, text = (place.folder / name for name in ("broken.db", "foreign.db", "text.db"))
    other = place.folder / "other.db"
    broken.write_bytes(before[: len(before) // 2])
    text.write_text("no database at all " * 1000)
    with closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE somebody (x)")
        connection.execute("PRAGMA user_version = 1")
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE somebody (x)")
    for file in (broken, foreign, other, text, place.folder / "missing.db"):
        refused = place.run("db", "restore", str(file))
        assert refused.returncode == 2, file
        assert str(place.folder) not in refused.stderr
        assert "Traceback" not in refused.stderr
    assert place.database.read_bytes() == before
    with place.serving() as served:
        assert served.http.get(f"/threads/{thread_id}").status_code == 200


def test_migrate_shows_the_steps_and_keeps_the_file_as_it_was(place: Place) -> None:
    with closing(sqlite3.connect(place.database)) as connection:
        connection.execute("CREATE TABLE of_an_older_time (x)")
    done = place.run("db", "migrate")
    assert done.returncode == 0, done.stderr
    assert "schema version 17: initial" in done.stdout
    assert "schema version 1: initial of research" in done.stdout
    [kept] = place.database.parent.glob("stepwell.db.form-0-*")
    assert count(kept, "of_an_older_time") == 0
    assert "Nothing to do" in place.run("db", "migrate").stdout
    with closing(sqlite3.connect(place.database)) as connection:
        connection.execute("PRAGMA user_version = 99")
    for command in (("db", "prune", "--older-than", "1d"), ("db", "migrate"), ("db", "status")):
        newer = place.run(*command)
        assert newer.returncode == 2, newer.stdout
        assert "schema version 99" in newer.stderr


@pytest.mark.parametrize(
    "command", [["db", "status"], ["db", "migrate"], ["db", "prune", "--keep-last", "1"], ["keys", "list"]]
)
def test_a_file_from_before_the_first_release_is_left_as_it_is(place: Place, command: list[str]) -> None:
    place.run("keys", "list")
    with closing(sqlite3.connect(place.database)) as connection:
        connection.execute("PRAGMA user_version = 16")
    before = place.database.read_bytes()
    refused = place.run(*command)
    assert refused.returncode == 2, refused.stdout
    assert "made by a version of Stepwell before the first release (schema version 16)" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert place.database.read_bytes() == before


def test_status_counts_and_says_whether_a_server_is_at_work(place: Place) -> None:
    assert place.run("db", "status").returncode == 2
    with place.serving() as served:
        served.wait("asks", served.thread(), input={"words": []})
        beside = place.run("db", "status").stdout
    assert "by a server" in beside
    assert "0 runs, 1 open questions" in beside
    assert "in use       no" in place.run("db", "status").stdout


def test_prune_beside_a_server_deletes_what_is_old_and_gives_the_space_back(place: Place) -> None:
    with place.serving() as served:
        old, asking, fresh = (served.thread() for _ in range(3))
        served.wait("words", old, input={"words": ["x" * 3_000_000]})
        served.wait("asks", asking, input={"words": ["y"]})
        for _ in range(3):
            served.wait("words", fresh, input={"words": ["z"]})
        _age(place.database, old, asking)
        dry = place.run("db", "prune", "--older-than", "30d", "--keep-last", "1", "--dry-run")
        assert dry.stdout.startswith("Would delete: 1 threads")
        assert served.http.get(f"/threads/{old}").status_code == 200
        done = place.run("db", "prune", "--older-than", "30d", "--keep-last", "1", "--compact")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("Deleted: 1 threads")
        assert "MB" in done.stdout.splitlines()[-1]
        assert served.http.get(f"/threads/{old}").status_code == 404
        assert words(served, fresh) == ["z", "hello", "world"] * 3
        assert len(served.http.get(f"/threads/{fresh}/history").json()) == 1
        [question] = served.http.get(f"/threads/{asking}").json()["interrupts"].values()
        answer = {"resume": {question[0]["id"]: "this"}}
        assert served.wait("asks", asking, command=answer)["words"] == ["y", "hello", "this"]
        assert served.wait("words", fresh, input={"words": ["!"]})["words"][-3:] == ["!", "hello", "world"]


def _age(database: Path, *thread_ids: str) -> None:
    """As if they had been left alone for a long time."""
    with closing(sqlite3.connect(database, timeout=60)) as connection, connection:
        for thread_id in thread_ids:
            connection.execute("UPDATE threads SET updated_at = updated_at - 86400 * 40 WHERE thread_id = ?", (thread_id,))


def test_prune_without_rules_takes_those_of_the_environment(place: Place) -> None:
    with place.serving() as served:
        old = served.thread()
        served.wait("words", old, input={"words": []})
    _age(place.database, old)
    assert place.run("db", "prune").stdout.startswith("Deleted: 0 threads")
    assert place.run("db", "prune", STEPWELL_RETENTION_DAYS="30").stdout.startswith("Deleted: 1 threads")


def test_a_server_with_retention_days_deletes_by_itself(place: Place) -> None:
    with place.serving() as served:
        old = served.thread()
        served.wait("words", old, input={"words": []})
    _age(place.database, old)
    with place.serving(STEPWELL_RETENTION_DAYS="30") as served:
        deadline = time.monotonic() + 60
        while served.http.get(f"/threads/{old}").status_code != 404:
            assert time.monotonic() < deadline, "the thread is still there"
            time.sleep(0.02)


def test_usage_is_read_from_the_database_and_from_a_server(place: Place) -> None:
    with place.serving() as served:
        thread_id = served.thread()
        served.wait("chats", thread_id, input={"messages": [{"role": "user", "content": "hello"}]})
        asked = place.run("usage", "--url", served.url, "--by", "thread", "--json")
        everybody = place.run("usage", "--url", served.url, "--by", "owner", "--all", "--json")
        table = place.run("usage")
    local = place.run("usage", "--by", "thread", "--json")
    assert local.returncode == asked.returncode == 0, asked.stderr
    assert json.loads(local.stdout) == json.loads(asked.stdout)
    [line] = json.loads(asked.stdout)
    assert (line["key"], line["runs"], line["calls"], line["cost_usd"], line["unpriced_runs"]) == (thread_id, 1, 1, None, 1)
    assert json.loads(everybody.stdout)[0]["key"] == "local"
    assert "unknown" in table.stdout
    assert "0.0" not in table.stdout


def test_the_database_is_readable_by_its_owner_only(place: Place) -> None:
    if os.name == "nt":
        pytest.skip("no such rights")
    with place.serving():
        for file in place.database.parent.glob("stepwell.db*"):
            assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file.name
