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

from benchmarks.reference_tests.sdk import serve_their_graphs

ALIAS = Path(__file__).parent / "alias"
STORES = {
    "checkpoint-sqlite": ("test_store.py", "test_async_store.py"),
    "checkpoint-postgres": ("test_store.py", "test_async_store.py"),
}
WANTED = {"sdk": 52, "store": 92}
"""How many test functions we want to pass: as many as the reference does."""


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
        outcome = (_run_sdk if part == "sdk" else _run_stores)(options)
        passed = sum(outcome.values())
        reached &= passed >= WANTED[part]
        print(f"| {part} | {passed} of {len(outcome)} | {WANTED[part]} |")
        for name in sorted(name for name, good in outcome.items() if not good):
            print(f"    fails: {name}", file=sys.stderr)
    return 0 if reached else 1


def _run_sdk(options: argparse.Namespace) -> Mapping[str, bool]:
    with tempfile.TemporaryDirectory() as folder, serve_their_graphs(options.checkout, Path(folder)) as address:
        tests = options.checkout / "libs" / "sdk-py" / "tests"
        return _run_tests(tests, ["integration"], Path(folder), {"LANGGRAPH_INTEGRATION_URL": address}, options)


def _run_stores(options: argparse.Namespace) -> Mapping[str, bool]:
    outcome: dict[str, bool] = {}
    for library, files in STORES.items():
        with tempfile.TemporaryDirectory() as folder:
            tests = options.checkout / "libs" / library / "tests"
            found = _run_tests(tests, files, Path(folder), {"PYTHONPATH": f"{ALIAS}{os.pathsep}{folder}"}, options)
            outcome.update({f"{library}: {name}": good for name, good in found.items()})
    return outcome


def _run_tests(
    tests: Path, files: Sequence[str], root: Path, environment: Mapping[str, str], options: argparse.Namespace
) -> Mapping[str, bool]:
    """Each test function, and whether it passes with all its parameters."""
    shutil.copytree(tests, root / "tests")
    if address := environment.get("LANGGRAPH_INTEGRATION_URL"):  # some tests have it written into them
        for file in (root / "tests" / "integration").glob("*.py"):
            file.write_text(file.read_text().replace("http://localhost:2024", address))
    report = root / "report.xml"
    subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=",
            "-o", "asyncio_mode=auto", "-o", "markers=integration", f"--rootdir={root}", f"--junitxml={report}",
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
