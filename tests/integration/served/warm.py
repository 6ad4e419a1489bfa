"""`stepwell` commands in a fraction of a second: a process that has imported everything once forks one for each command.

What differs from `python -m stepwell` is only who did the imports; arguments, environment, folder, streams and exit code are the
command's own. That commands start from nothing is proven by test_cli.py and test_serve.py. Python's own fork server does the
work: it starts with the first command and ends with the process that tests.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from stepwell.products import installed_products

ROOT = Path(__file__).parents[3]
# What the commands import on their way. Nothing of it opens or starts anything: a fork copies only the thread that forks.
IMPORTED = [
    "tests.support.certificates",
    "pytest",  # a forked process looks at the main module of the one that tests
    "anyio._backends._asyncio",
    "httpx",
    "httpcore",
    "langchain_openai",
    "uvicorn.lifespan.off",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
    "stepwell.cli.acp.command",
    "stepwell.cli.compose",
    "stepwell.cli.chat.command",
    "stepwell.cli.chat.on_server",
    "stepwell.cli.models",
    "stepwell.cli.operator.db",
    "stepwell.cli.operator.doctor.command",
    "stepwell.cli.operator.move",
    "stepwell.cli.serve",
    "stepwell.database.postgres.persistence",
    "stepwell.server.listening",
    "stepwell.agent",
    "stepwell.middleware.robust_calls",
    "stepwell.research.commands.command",
    "stepwell.testing.scripted.model",
]


def imported() -> list[str]:
    """All of these, and the modules that our products name: two thirds of the time that a server takes to start after that."""
    places = [
        place
        for product in installed_products()
        for place in (product.tables, product.service, product.routes, product.commands, *product.graphs.values())
        if place is not None and place.startswith("stepwell.")
    ]
    return [*IMPORTED, *(place.partition(":")[0] for place in places)]


def run_warm(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], *, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """`stepwell` with these arguments, to its end; as `subprocess.run` with its output captured."""
    with tempfile.TemporaryDirectory() as place:
        given, out, err = (Path(place) / name for name in ("in", "out", "err"))
        given.write_text(typed, encoding="utf-8")
        started = start_warm(arguments, folder, environment, out=out, err=err, given=given)
        try:
            code = started.wait(90)
        finally:
            started.kill()
        return subprocess.CompletedProcess(list(arguments), code, out.read_text(), err.read_text())


def start_warm(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], *, out: Path, err: Path, given: Path | None = None
) -> Started:
    """The same, not waited for. What it says is appended to the files."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(imported())
    with pytest.MonkeyPatch.context() as patch:  # langgraph reads it when it is imported; `stepwell serve` sets it before
        patch.setenv("LANGGRAPH_STRICT_MSGPACK", "true")
        patch.chdir(ROOT)  # where `tests` is found
        forkserver.ensure_running()
    process = context.Process(target=_command, args=(list(arguments), folder, dict(environment), given, out, err))
    process.start()
    return Started(process)


class Started:
    """A command under way, in the words of `subprocess.Popen`."""

    def __init__(self, process: BaseProcess) -> None:
        self._process = process

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout_s: float | None = None) -> int:
        self._process.join(timeout_s)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("stepwell", timeout_s or 0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self._process.exitcode is None:
            os.kill(self._process.pid or 0, number)

    def kill(self) -> None:
        """Nothing, if it has ended."""
        self._process.kill()
        self._process.join()


def _command(arguments: list[str], folder: Path, environment: dict[str, str], given: Path | None, out: Path, err: Path) -> None:
    os.dup2(os.open(given or os.devnull, os.O_RDONLY), 0)
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), number)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1, encoding="utf-8", closefd=False) for number in (1, 2))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if "PYTHONPATH" in environment:  # which Python itself reads only when it starts
        sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
    gc.freeze()  # what is imported stays: looking through it again would copy its pages
    from stepwell.cli import main

    sys.exit(main(arguments))
