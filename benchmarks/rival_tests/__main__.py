from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

ALIAS = Path(__file__).parent / "alias"
SUITES = {
    "skills": (("middleware/test_skills_middleware.py", "middleware/test_skills_middleware_async.py"), 100, 105),
    "memory": (("middleware/test_memory_middleware.py", "middleware/test_memory_middleware_async.py"), 50, 55),
    "permissions": (("test_permissions.py",), 110, 120),
    "rubric": (("middleware/test_rubric_middleware.py",), 50, 57),
    "background": (("test_async_subagents.py",), 35, 41),
    "subagents": (("test_subagents.py",), 32, 36),
}
"""The files of each part, how many test functions we want to pass, and how many there are."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.rival_tests", description="Run tests of deepagents against this project."
    )
    parser.add_argument("checkout", type=Path, help="a checkout of deepagents' repository")
    parser.add_argument("parts", nargs="*", help=f"which parts to run: {', '.join(SUITES)} (default: all)")
    parser.add_argument("-v", "--verbose", action="store_true", help="show why tests fail")
    options = parser.parse_args()
    tests = options.checkout / "libs" / "deepagents" / "tests"
    if not tests.is_dir():
        parser.error(f"{tests} does not exist. Give the path of a checkout of deepagents.")
    if unknown := [part for part in options.parts if part not in SUITES]:
        parser.error(f"unknown parts: {', '.join(unknown)}. Known parts: {', '.join(SUITES)}.")
    parts = options.parts or list(SUITES)
    print("| part | functions that pass | wanted |\n|---|---|---|")
    reached = True
    for part in parts:
        files, wanted, total = SUITES[part]
        passed, failed = _run(tests, files, verbose=options.verbose)
        reached &= passed >= wanted
        print(f"| {part} | {passed} of {total} | {wanted} |")
        for name in failed:
            print(f"    fails: {name}", file=sys.stderr)
    return 0 if reached else 1


def _run(tests: Path, files: tuple[str, ...], *, verbose: bool) -> tuple[int, list[str]]:
    """How many test functions pass with all their parameters, and the names of those that do not."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        # Their conftest only resets their own deprecation warnings.
        shutil.copytree(tests, root / "tests", ignore=shutil.ignore_patterns("conftest.py"))
        report = root / "report.xml"
        subprocess.run(
            [
                sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=",
                "-o", "asyncio_mode=auto", f"--rootdir={root}", f"--junitxml={report}",
                *(str(root / "tests" / "unit_tests" / file) for file in files),
            ],
            cwd=root,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ALIAS), str(root)])},
            stdout=None if verbose else subprocess.DEVNULL,
            check=False,
        )  # fmt: skip
        return _count(report)


def _count(report: Path) -> tuple[int, list[str]]:
    if not report.exists():
        return 0, ["everything: the tests could not be collected (-v says why)"]
    outcome: dict[str, bool] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}.{(case.get('name') or '').partition('[')[0]}"
        good = all(child.tag not in ("failure", "error", "skipped") for child in case)
        outcome[name] = outcome.get(name, True) and good
    return sum(outcome.values()), sorted(name for name, good in outcome.items() if not good)


if __name__ == "__main__":
    sys.exit(main())
