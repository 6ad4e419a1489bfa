from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from tests.support.postgres import PostgresCluster

from benchmarks.reference_tests.sdk import serve_their_graphs
from stepwell.database.postgres.database import PostgresDatabase

ALIAS = Path(__file__).parent / "alias"
SQLITE = ("test_store.py", "test_async_store.py", "test_ttl.py")
POSTGRES = ("test_store.py", "test_async_store.py")
WANTED = {"sdk": 52, "sqlite_store": 59, "postgres_store": 24}
"""How many test functions must pass: what was measured, not what we wish for. Of `postgres_store` only the sync file was measured whole
(24 of 31). Most of the others look at the SQL of LangGraph's stores; the rest expect an error of a sync call inside an event loop, a
refused filter key or no refresh by default (LangGraph's SQLite only), L2 distances, or a query without an index to be ignored."""
THEIR_DATABASE = "postgres://postgres:postgres@localhost:5441/postgres?sslmode=disable"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reference_tests", description="Run LangGraph's tests against this project."
    )
    parser.add_argument("checkout", type=Path, help="a checkout of langgraph's repository")
    parser.add_argument("parts", nargs="*", help=f"which parts to run: {', '.join(WANTED)} (default: all)")
    parser.add_argument("-v", "--verbose", action="store_true", help="show why tests fail")
    parser.add_argument("-k", metavar="EXPRESSION", help="only tests that match, as for pytest")
    options = parser.parse_args()
    if not (options.checkout / "libs" / "sdk-py").is_dir():
        parser.error(f"{options.checkout} has no libs/sdk-py. Give the path of a checkout of langgraph.")
    if unknown := [part for part in options.parts if part not in WANTED]:
        parser.error(f"unknown parts: {', '.join(unknown)}. Known parts: {', '.join(WANTED)}.")
    print("| part | functions that pass | wanted |\n|---|---|---|")
    reached = True
    for part in options.parts or list(WANTED):
        outcome = {"sdk": _run_sdk, "sqlite_store": _run_sqlite, "postgres_store": _run_postgres}[part](options)
        passed = sum(outcome.values())
        reached &= passed >= WANTED[part]
        print(f"| {part} | {passed} of {len(outcome)} | {WANTED[part]} |")
        for name in sorted(name for name, good in outcome.items() if not good):
            print(f"    fails: {name}", file=sys.stderr)
    return 0 if reached else 1


def _run_sdk(options: argparse.Namespace) -> Mapping[str, bool]:
    with tempfile.TemporaryDirectory() as folder, serve_their_graphs(options.checkout, Path(folder)) as address:
        tests = options.checkout / "libs" / "sdk-py" / "tests"
        return _run_tests(tests, ["integration"], Path(folder), {}, options, {"http://localhost:2024": address})


def _run_sqlite(options: argparse.Namespace) -> Mapping[str, bool]:
    with tempfile.TemporaryDirectory() as folder:
        tests = options.checkout / "libs" / "checkpoint-sqlite" / "tests"
        return _run_tests(tests, SQLITE, Path(folder), _with_alias(folder), options)


def _run_postgres(options: argparse.Namespace) -> Mapping[str, bool]:
    # An address of its own, because the port is always the same.
    host = f"127.{os.getpid() % 200 + 20}.{os.getpid() // 200 % 200 + 20}.5"
    with tempfile.TemporaryDirectory() as folder, PostgresCluster(Path(folder), listen_addresses=host) as cluster:
        # Each test creates two or more databases. They are copies of this one, so that the tables are made once.
        PostgresDatabase(cluster.url("template1")).close()
        tests = options.checkout / "libs" / "checkpoint-postgres" / "tests"
        address = {THEIR_DATABASE: f"postgres://postgres@{host}/postgres"}
        return _run_tests(tests, POSTGRES, Path(folder), _with_alias(folder), options, address)


def _with_alias(folder: str) -> Mapping[str, str]:
    return {"PYTHONPATH": f"{ALIAS}{os.pathsep}{folder}"}


def _run_tests(
    tests: Path,
    files: Sequence[str],
    root: Path,
    environment: Mapping[str, str],
    options: argparse.Namespace,
    addresses: Mapping[str, str] | None = None,
) -> Mapping[str, bool]:
    """Each test function, and whether it passes with all its parameters. `addresses` are those written into the tests, and ours."""
    shutil.copytree(tests, root / "tests")
    for theirs, ours in (addresses or {}).items():
        for file in (root / "tests").rglob("*.py"):
            file.write_text(file.read_text().replace(theirs, ours))
    report = root / "report.xml"
    subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=",
            "-o", "asyncio_mode=auto", "-o", "markers=integration", "--timeout=300", f"--rootdir={root}", f"--junitxml={report}",
            *(["-k", options.k] if options.k else []),
            *(str(root / "tests" / file) for file in files),
        ],
        cwd=root,
        env={**os.environ, **environment},
        stdout=None if options.verbose else subprocess.DEVNULL,
        check=False,
    )  # fmt: skip
    return _read(report)


def _read(report: Path) -> Mapping[str, bool]:
    if not report.exists():
        return {"everything: the tests could not be collected (-v says why)": False}
    outcome: dict[str, bool] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}.{(case.get('name') or '').partition('[')[0]}"
        good = all(child.tag not in ("failure", "error", "skipped") for child in case)
        outcome[name] = outcome.get(name, True) and good
    return outcome


if __name__ == "__main__":
    sys.exit(main())
