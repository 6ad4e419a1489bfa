"""What every test shares: how much effort to spend, no tracing, and a Postgres and a Redis for those who ask for one.

A test with a long form is marked `prove` and asks the `effort` fixture how far to go. `make test` runs it short, with the same
cases each time; `make prove` sets `STEPWELL_PROVE=1` and runs it long. Figures given to pytest's own `record_property` are
printed at the end of `make prove`.

`make test` runs some processes at once, a file in one of them. So a parameter is the same in every process (no random id), a
port is 0, a folder is `tmp_path`, and a test waits for a fact, never for a time: the other core is busy with other tests.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.integration.payments.mints import MintProcess
    from tests.support.postgres import PostgresCluster
    from tests.support.redis import RedisServer

# Shared suites and helpers say what an assertion compared, as test modules do.
pytest.register_assert_rewrite("tests.contract.suites", "tests.support")

import tests.support.certificates  # noqa: E402, F401 - importing it is all

PROVE = os.environ.get("STEPWELL_PROVE") == "1"

# A developer's shell may have tracing switched on; tests must not send anything anywhere.
os.environ["LANGSMITH_TRACING"] = "false"
os.environ["LANGCHAIN_TRACING_V2"] = "false"

# A shell starts what runs in the background with Ctrl-C ignored, and every process would inherit that; some tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: a busy machine is not a defect. No example database: a run must not depend on an earlier one.
settings.register_profile("short", max_examples=50, deadline=None, database=None, derandomize=True)
settings.register_profile(
    "prove", max_examples=10_000, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
# With another Python, the same properties once more: what it would do otherwise shows in a few cases.
settings.register_profile("again", settings.get_profile("short"), max_examples=20)
settings.load_profile("prove" if PROVE else "short")


@dataclass(frozen=True)
class Effort:
    """How long a proof may take: short in `make test`, long in `make prove`."""

    long: bool

    def cases(self, short: int, long: int) -> int:
        """The number of cases, rounds or files to use."""
        return long if self.long else short

    def seconds(self, short: float, long: float) -> float:
        """The time a race or a load may run."""
        return long if self.long else short


@pytest.fixture(scope="session")
def effort() -> Effort:
    """Ask it for counts and times: `effort.cases(200, 10_000)`, `effort.seconds(1, 15)`."""
    return Effort(long=PROVE)


@pytest.fixture(scope="session")
def mint_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MintProcess]:
    """One real mint for all tests about money, over HTTP and in the browser: it takes ten seconds to start."""
    from tests.integration.payments.mints import run_mint

    with run_mint(tmp_path_factory.mktemp("mint")) as process:
        yield process


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests are made, none is thrown away: looking for garbage all the while takes a seventh of the time. Nor is it looked for
    among them later: a million objects take more than a second each time that a test collects."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> None:
    from tests.support.missing import skip_if_missing

    skip_if_missing(call)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was left out because a program is missing; after `make prove`, one line of figures for each proof that recorded some."""
    from tests.support.missing import left_out

    if lines := left_out(terminalreporter.getreports("skipped")):
        terminalreporter.section("left out, because programs are missing")
        for line in lines:
            terminalreporter.write_line(line)
    if not PROVE:
        return
    terminalreporter.section("figures")
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        if report.when == "call" and report.user_properties:
            figures = ", ".join(f"{name}={value}" for name, value in report.user_properties)
            terminalreporter.write_line(f"{report.nodeid}: {figures}")


@pytest.fixture(scope="session")
def postgres_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresCluster]:
    """A Postgres of this process's own."""
    from tests.support.postgres import PostgresCluster

    with PostgresCluster(tmp_path_factory.mktemp("postgres")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis of this process's own."""
    from tests.support.redis import RedisServer

    with RedisServer() as server:
        yield server


@pytest.fixture(scope="session")
def shared_postgres(postgres_cluster: PostgresCluster) -> str:
    """The address of a database with all tables, for tests that take turns."""
    from stepwell.database.postgres.database import PostgresDatabase

    url = postgres_cluster.create("shared")
    PostgresDatabase(url).close()
    return url


@pytest.fixture
def postgres_url(shared_postgres: str) -> str:
    """The address of a database with all tables and nothing in them: emptied, because a new one would take twenty times as long."""
    import psycopg

    with psycopg.connect(shared_postgres, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")  # no triggers: the ledger's lines would not go
        connection.execute(
            "DO $$ DECLARE name TEXT; BEGIN FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            " AND tablename NOT IN ('stepwell_form', 'product_forms') LOOP EXECUTE format('DELETE FROM %I', name); END LOOP; END $$"
        )
    return shared_postgres
