"""Databases that are not there, not ours, not to be used: what real commands and servers say, and that they touch nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import psycopg
import pytest
from tests.integration.full_disk import fill
from tests.integration.operations.conftest import HERE, Place
from tests.integration.served.warm import Started, start_warm
from tests.support.postgres import PostgresCluster
from tests.support.products import installed, write_product

from stepwell.database.forms import Migration
from stepwell.database.postgres import migrate as migrating
from stepwell.database.postgres.database import PostgresDatabase
from stepwell.database.postgres.migrate import migrations
from stepwell.errors import ConfigurationError

PATIENCE_S = 60.0
PASSWORD = "hunter2-and-more"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "data").mkdir()
    return Place(tmp_path)


@pytest.fixture
def empty(postgres_cluster: PostgresCluster, tmp_path: Path) -> Iterator[str]:
    """A database without any tables."""
    name = f"bad-{tmp_path.name}"
    yield postgres_cluster.create(name)
    postgres_cluster.drop(name)


def execute(url: str, *statements: str) -> list[tuple]:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            found = connection.execute(statement.encode())
        return found.fetchall() if found.description else []


def tables_of(url: str) -> set[str]:
    return {row[0] for row in execute(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}


def until(fact: Callable[[], bool], say: Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not fact():
        assert time.monotonic() < deadline, say()
        time.sleep(0.02)


class Running:
    """A command under way, and what it has said."""

    def __init__(self, place: Place, *arguments: str, **variables: str) -> None:
        self._said = place.folder / f"{arguments[0]}.said"
        self._said.touch()
        self.process: Started = start_warm(
            arguments, place.folder, place.environment(**variables), out=self._said, err=self._said
        )

    @property
    def said(self) -> str:
        return self._said.read_text()

    def wait_for(self, words: str) -> None:
        until(lambda: words in self.said or self.process.poll() is not None, lambda: self.said)
        assert words in self.said, self.said


@contextmanager
def running(place: Place, *arguments: str, **variables: str) -> Iterator[Running]:
    command = Running(place, *arguments, **variables)
    try:
        yield command
    finally:
        command.process.kill()


def serving(place: Place, url: str, **variables: str) -> Running:
    return running(
        place, "serve", "--port", "0", "--graphs", str(HERE / "langgraph.json"), STEPWELL_DATABASE_URL=url, **variables
    )


def at_socket(url: str, **changes: str) -> str:
    """The address of the same database, other words in it."""
    named = (
        {key: values[0] for key, values in parse_qs(urlsplit(url).query).items()} | {"name": urlsplit(url).path[1:]} | changes
    )
    secret = f":{named['password']}" if "password" in named else ""
    return f"postgresql://{named['user']}{secret}@/{named['name']}?host={named['host']}"


@pytest.fixture
def careful(empty: str) -> Iterator[str]:
    """The address of a database that wants a password of its user."""
    [[file]] = execute(empty, "SHOW hba_file")
    before = Path(file).read_text()
    execute(empty, f"CREATE USER careful PASSWORD '{PASSWORD}'")
    Path(file).write_text(f"local all careful scram-sha-256\n{before}")
    execute(empty, "SELECT pg_reload_conf()")
    yield at_socket(empty, user="careful", password=PASSWORD)
    Path(file).write_text(before)
    execute(empty, "SELECT pg_reload_conf()", "DROP OWNED BY careful", "DROP USER careful")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("SET default_transaction_read_only = on", "it is read-only"),
        ("SET search_path = nowhere", "no schema has been selected to create in. Create the schema"),
        ("CONNECTION LIMIT 0", "has no connections left: too many connections for"),
    ],
)
def test_a_database_that_cannot_be_written_says_what_to_do(place: Place, empty: str, setting: str, sentence: str) -> None:
    name = urlsplit(empty).path[1:]
    execute(empty, f'CREATE USER guest; GRANT ALL ON DATABASE "{name}" TO guest', f'ALTER DATABASE "{name}" {setting}')
    try:
        said = place.run("keys", "list", "--database-url", at_socket(empty, user="guest"), STEPWELL_DATABASE_WAIT_S="0")
    finally:
        execute(empty.replace(name, "postgres"), f'REVOKE ALL ON DATABASE "{name}" FROM guest', "DROP USER guest")
    assert said.returncode == 2
    assert sentence in said.stderr
    assert "Traceback" not in said.stderr


def test_what_cannot_be_reached_or_used_is_said_in_a_sentence_without_the_password(place: Place, careful: str) -> None:
    with_password = f"careful:{PASSWORD}"
    bad = {
        f"mysql://{with_password}@localhost/x": "must name a file or a Postgres database",
        f"postgresql://{with_password}@no-such-host.invalid/x": "cannot be reached: failed to resolve host",
        f"postgresql://{with_password}@127.0.0.1:{free_port()}/x": "cannot be reached: ",
        f"postgresql://{with_password}@ssword@localhost/x": "is invalid. Write it as",
        careful.replace(PASSWORD, "wrong-" + PASSWORD): "the user or the password is wrong",
        careful.replace(f":{PASSWORD}", ""): "it requires a password",
        careful.replace("/bad-", "/other-"): "there is no such database. Make one with `createdb`",
        careful.replace("careful:", "nobody:"): "there is no such user",
        careful: "permission denied for schema public. Ask its owner to grant the user what is missing",
    }
    for url, sentence in bad.items():
        said = place.run("keys", "list", "--database-url", url)
        assert said.returncode == 2, said
        assert sentence in said.stderr, url
        assert len(said.stderr.strip().splitlines()) == 1, said.stderr
        assert PASSWORD not in said.stdout + said.stderr
        assert "ssword" not in said.stderr.replace("password", ""), said.stderr


def test_no_password_is_in_the_log_or_in_what_the_doctor_says(place: Place, careful: str) -> None:
    wrong = careful.replace("/bad-", "/other-")
    for url, sentence in ((careful, "still empty"), (wrong, "there is no such database")):
        said = place.run("doctor", STEPWELL_DATABASE_URL=url)
        assert sentence in said.stdout
        assert PASSWORD not in said.stdout + said.stderr
    with serving(place, wrong, STEPWELL_LOG_LEVEL="debug") as server:
        assert server.process.wait(PATIENCE_S) == 2
        assert "there is no such database" in server.said
        assert PASSWORD not in server.said
        assert "Traceback" not in server.said


def test_a_server_that_starts_before_its_database_waits_for_it(place: Place, empty: str) -> None:
    sockets = place.folder / "s"
    sockets.mkdir()
    [there] = parse_qs(urlsplit(empty).query)["host"]
    url = at_socket(empty, host=str(sockets))
    with serving(place, url, STEPWELL_DATABASE_WAIT_S="60") as server:
        server.wait_for("cannot be reached")
        assert "Retrying for up to 60 s." in server.said
        (sockets / ".s.PGSQL.5432").symlink_to(f"{there}/.s.PGSQL.5432")
        server.wait_for("Serving at ")


def test_a_server_gives_up_on_a_database_that_does_not_come(place: Place) -> None:
    with serving(place, f"postgresql://127.0.0.1:{free_port()}/x", STEPWELL_DATABASE_WAIT_S="1") as server:
        assert server.process.wait(PATIENCE_S) == 2
        assert "Traceback" not in server.said
        assert server.said.count("cannot be reached") == 2, "at first and at last"


def test_without_the_extra_the_way_to_it_is_said(place: Place, empty: str) -> None:
    hidden = place.folder / "hidden" / "psycopg"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'psycopg'\", name='psycopg')\n")
    for command in (["keys", "list"], ["db", "move", "--to", empty]):
        said = subprocess.run(
            [sys.executable, "-m", "stepwell", *command],
            cwd=place.folder,
            env=place.environment(PYTHONPATH=str(hidden.parent), STEPWELL_DATABASE_URL="postgresql:///x"),
            capture_output=True,
            text=True,
            check=False,
        )
        assert said.returncode == 2, said.stderr
        assert "pip install 'stepwell[postgres]'" in said.stderr


def test_tables_are_made_once_however_many_processes_start_at_once(place: Place, empty: str) -> None:
    folders = [place.folder / str(number) for number in range(4)]
    commands = []
    for folder in folders:
        (folder / "data").mkdir(parents=True)
        commands.append(Running(Place(folder), "keys", "list", STEPWELL_DATABASE_URL=empty))
    for command in commands:
        assert command.process.wait(PATIENCE_S) == 0, command.said
    assert execute(empty, "SELECT number FROM stepwell_form ORDER BY 1") == [(step.number,) for step in migrations()]


NOTES, PINNED = "CREATE TABLE notes (x BIGINT);", "ALTER TABLE notes ADD COLUMN pinned BIGINT;"


@pytest.fixture
def older(place: Place) -> Path:
    return write_product(place.folder, "notes", [NOTES])


@pytest.fixture
def newer(place: Place) -> Path:
    return write_product(place.folder, "notes", [NOTES, PINNED])


def make(url: str, product: Path) -> None:
    """As somebody with this product has left it."""
    with installed(product):
        PostgresDatabase(url).close()


def notes_of(url: str) -> tuple[int, set[str]]:
    """The form of the product's tables, and their columns."""
    [[form]] = execute(url, "SELECT number FROM product_forms WHERE product = 'notes'")
    columns = execute(url, "SELECT column_name FROM information_schema.columns WHERE table_name = 'notes'")
    return form, {column for (column,) in columns}


def test_an_older_form_is_upgraded_once_however_many_processes_start_at_once(
    place: Place, empty: str, older: Path, newer: Path
) -> None:
    make(empty, older)
    variables = {"STEPWELL_DATABASE_URL": empty, "PYTHONPATH": str(newer)}
    with ExitStack() as started:
        workers = []
        for number in range(3):
            (place.folder / str(number) / "data").mkdir(parents=True)
            command = ("worker", "--graphs", str(HERE / "langgraph.json"))
            workers.append(started.enter_context(running(Place(place.folder / str(number)), *command, **variables)))
        for worker in workers:
            worker.wait_for("Working on")
            assert "connection" not in worker.said, "nobody was cut off"
    assert notes_of(empty) == (2, {"x", "pinned"})


def test_an_older_form_is_upgraded_by_a_server_and_by_migrate_and_by_nothing_else(
    place: Place, empty: str, older: Path, newer: Path
) -> None:
    make(empty, older)
    variables = {"STEPWELL_DATABASE_URL": empty, "PYTHONPATH": str(newer)}
    refused = place.run("keys", "list", **variables)
    assert refused.returncode == 2
    assert (
        "this version of Stepwell needs version 2 of the product 'notes'. Upgrade it with `stepwell db migrate`"
        in refused.stderr
    )
    assert notes_of(empty) == (1, {"x"})
    done = place.run("db", "migrate", **variables)
    assert done.returncode == 0, done.stderr
    assert "schema version 2: step of notes" in done.stdout
    assert "Nothing to do" in place.run("db", "migrate", **variables).stdout
    assert place.run("keys", "list", **variables).returncode == 0


def test_a_newer_form_of_a_product_is_refused_and_left_alone(place: Place, empty: str, older: Path, newer: Path) -> None:
    make(empty, newer)
    for command in (
        ["keys", "create", "--user", "ada"],
        ["db", "status"],
        ["db", "migrate"],
        ["db", "prune", "--keep-last", "1"],
    ):
        refused = place.run(*command, STEPWELL_DATABASE_URL=empty, PYTHONPATH=str(older))
        assert refused.returncode == 2
        assert "schema version 2 of the product 'notes', and the one installed here knows versions up to 1" in refused.stderr
    assert execute(empty, "SELECT COUNT(*) FROM api_keys") == [(0,)]


def test_tables_of_a_product_that_is_gone_stay(place: Place, empty: str, newer: Path) -> None:
    make(empty, newer)
    done = place.run("keys", "create", "--user", "ada", STEPWELL_DATABASE_URL=empty)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("tables of products that are not installed here: notes") == 1
    assert notes_of(empty) == (2, {"x", "pinned"})


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("CREATE TABLE threads (x BIGINT);", "'threads' is brought both by Stepwell itself and by the product 'notes'"),
        ("CREATE TABLE IF NOT EXISTS stepwell_form (x BIGINT);", "'stepwell_form' is brought both by Stepwell itself and by"),
        ("CREATE TABLE trail (x BIGINT);", "'trail' is brought both by the product 'research' and by the product 'notes'"),
    ],
)
def test_a_product_with_a_name_that_is_taken_is_refused(place: Place, empty: str, sql: str, told: str, is_new: bool) -> None:
    if not is_new:
        PostgresDatabase(empty).close()
    before = tables_of(empty)
    with installed(write_product(place.folder, "notes", [sql])), pytest.raises(ConfigurationError, match=told):
        PostgresDatabase(empty)
    assert tables_of(empty) == before


def test_a_table_that_nobody_knows_does_not_become_a_products(empty: str, older: Path) -> None:
    PostgresDatabase(empty).close()
    execute(empty, "CREATE TABLE notes (mine TEXT)")
    with installed(older), pytest.raises(ConfigurationError, match="'notes' brings a table 'notes', and the database has one"):
        PostgresDatabase(empty)
    assert execute(empty, "SELECT product FROM product_forms ORDER BY 1") == [("connections",), ("payments",), ("research",)]


@pytest.mark.parametrize("command", [["keys", "list"], ["db", "status"], ["db", "migrate"], ["db", "move", "--to", "new.db"]])
def test_a_form_from_before_the_first_release_is_refused_and_left_alone(place: Place, empty: str, command: list[str]) -> None:
    execute(
        empty,
        "CREATE TABLE stepwell_form (number BIGINT PRIMARY KEY, name TEXT NOT NULL)",
        "INSERT INTO stepwell_form VALUES (16, 'shown_interrupts')",
    )
    variables = {"STEPWELL_DATABASE_URL": empty}
    if "move" in command:
        command, variables = [*command, "--from", empty], {}
    refused = place.run(*command, **variables)
    assert refused.returncode == 2
    assert "made by a version of Stepwell before the first release (schema version 16)" in refused.stderr
    assert tables_of(empty) == {"stepwell_form"}


def test_a_newer_form_is_refused_and_left_alone(place: Place, empty: str) -> None:
    PostgresDatabase(empty).close()
    execute(empty, "INSERT INTO stepwell_form VALUES (9999, 'future')")
    for command in (
        ["keys", "create", "--user", "ada"],
        ["db", "status"],
        ["db", "migrate"],
        ["db", "prune", "--keep-last", "1"],
    ):
        refused = place.run(*command, STEPWELL_DATABASE_URL=empty)
        assert refused.returncode == 2
        assert "schema version 9999" in refused.stderr
        assert "newer Stepwell that wrote it" in refused.stderr
    with serving(place, empty) as server:
        assert server.process.wait(PATIENCE_S) == 2
        assert "schema version 9999" in server.said
    assert execute(empty, "SELECT COUNT(*) FROM api_keys") == [(0,)]


def test_older_processes_stop_when_a_newer_one_upgrades_the_database(
    place: Place, empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rolling upgrade: from the moment the tables change, nothing of the older version writes."""
    variables = {"STEPWELL_DATABASE_URL": empty, "STEPWELL_DRAIN_SECONDS": "1"}
    worker = running(place, "worker", "--graphs", str(HERE / "langgraph.json"), **variables)
    with (
        running(place, "serve", "--port", "0", "--graphs", str(HERE / "langgraph.json"), **variables) as server,
        worker as working,
    ):
        server.wait_for("Serving at ")
        working.wait_for("Working on")
        address = server.said.split("Serving at ")[1].split()[0]
        order = {"assistant_id": "pays", "input": {"messages": [{"role": "user", "content": "pay ada"}]}}
        for _ in range(4):  # under way when they stop, here and there
            httpx.post(f"{address}/runs", json=order, timeout=PATIENCE_S).raise_for_status()
        begun = "SELECT COUNT(*) FROM effects WHERE state = 'begun'"
        until(lambda: execute(empty, begun) == [(4,)], lambda: server.said + working.said)
        newer = [*migrations(), Migration(9999, "future", "ALTER TABLE api_keys ADD COLUMN future BIGINT NOT NULL DEFAULT 0")]
        monkeypatch.setattr(migrating, "migrations", lambda: newer)
        upgraded = PostgresDatabase(empty)
        try:
            refused = httpx.post(f"{address}/threads", json={}, timeout=PATIENCE_S)
            assert (refused.status_code, "it has schema version 9999" in refused.text) == (503, True)
        except httpx.TransportError:
            pass  # it has stopped by now
        for old in (server, working):
            assert old.process.wait(PATIENCE_S) == 1, old.said
            assert "it has schema version 9999, and this Stepwell knows versions up to" in old.said
            assert "Stopped." in old.said
        monkeypatch.undo()
        upgraded.close()
    assert execute(empty, "SELECT MAX(number) FROM stepwell_form") == [(9999,)]
    assert execute(empty, "SELECT COUNT(*) FROM runs WHERE status = 'running'") == [(4,)], "for the newer version to take over"


@pytest.mark.parametrize("variable", ["STEPWELL_DATABASE_URL", "DATABASE_URL"])
def test_a_database_with_somebody_elses_tables_of_our_names_is_not_touched(place: Place, empty: str, variable: str) -> None:
    execute(empty, "CREATE TABLE threads (x INTEGER)", "CREATE TABLE runs (x INTEGER)")
    for command in (["keys", "list"], ["db", "migrate"], ["db", "move", "--from", "gone.db", "--to", empty]):
        refused = place.run(*command, **{variable: empty})
        assert refused.returncode == 2
    refused = place.run("keys", "list", **{variable: empty})
    assert "belongs to another program" in refused.stderr
    assert "(runs, threads)" in refused.stderr
    assert tables_of(empty) == {"threads", "runs"}


def test_a_database_url_of_another_project_gets_no_tables_of_ours_unless_it_is_meant(place: Place, empty: str) -> None:
    execute(empty, "CREATE TABLE auth_user (x INTEGER)", "CREATE VIEW sales AS SELECT 1 AS x")
    (place.folder / ".env").write_text(f"DATABASE_URL={empty}\n")
    command = ["serve", "--port", "0", "--graphs", str(HERE / "langgraph.json")]
    with running(place, *command) as server:
        assert server.process.wait(PATIENCE_S) == 2
        assert "in DATABASE_URL contains tables of another program (auth_user, sales)" in server.said
    assert tables_of(empty) == {"auth_user"}
    with running(place, *command, STEPWELL_DATABASE_URL=empty) as server:
        server.wait_for("Serving at ")
    assert "threads" in tables_of(empty)
    assert place.run("keys", "list").returncode == 0, "it is ours by now"


@pytest.fixture
def small(postgres_cluster: PostgresCluster, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A database on a disk of a few megabytes; its log is elsewhere, or Postgres itself would stop."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root on Linux can mount a small file system")
    [there] = parse_qs(urlsplit(postgres_cluster.url("x")).query)["host"]
    disk = Path(there) / "small"
    disk.mkdir()
    owner = Path(there).stat()
    options = f"size=16m,uid={owner.st_uid},gid={owner.st_gid},mode=700"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        disk.rmdir()
        pytest.skip(f"mounting is not allowed here: {mounted.stderr.strip()}")
    admin = postgres_cluster.url("postgres")
    try:
        execute(
            admin, f"CREATE TABLESPACE small LOCATION '{disk}'", "CREATE DATABASE small TEMPLATE template0 TABLESPACE small"
        )
        yield postgres_cluster.url("small"), disk
    finally:
        execute(admin, "DROP DATABASE IF EXISTS small WITH (FORCE)", "DROP TABLESPACE IF EXISTS small")
        subprocess.run(["umount", str(disk)], check=True)
        disk.rmdir()


def test_a_full_disk_delays_and_loses_nothing(place: Place, small: tuple[str, Path]) -> None:
    url, disk = small
    with serving(place, url) as server:
        server.wait_for("Serving at ")
        with httpx.Client(base_url=server.said.split("Serving at ")[1].split()[0], timeout=60) as http:
            thread_id = http.post("/threads", json={}).json()["thread_id"]
            order = {"assistant_id": "words", "input": {"words": ["x" * 20_000]}}
            http.post(f"/threads/{thread_id}/runs/wait", json=order).raise_for_status()
            filler = fill(disk)
            accepted, deadline = [], time.monotonic() + PATIENCE_S
            while (answer := http.post(f"/threads/{thread_id}/runs", json=order)).status_code == 200:
                accepted.append(answer.json()["run_id"])
                assert time.monotonic() < deadline, "the disk does not get full"
            assert answer.status_code == 503, answer.text
            assert "its disk is full" in answer.json()["detail"]
            assert "retry-after" in answer.headers
            assert http.get("/ok").status_code == 200
            assert http.get(f"/threads/{thread_id}/state").json()["values"]["words"][1:3] == ["hello", "world"]
            filler.unlink()
            for run_id in accepted:
                http.get(f"/threads/{thread_id}/runs/{run_id}/join").raise_for_status()
                assert http.get(f"/threads/{thread_id}/runs/{run_id}").json()["status"] == "success"
            words = http.post(f"/threads/{thread_id}/runs/wait", json=order).json()["words"]
            assert words.count("hello") == words.count("world") == len(accepted) + 2, "each once"
