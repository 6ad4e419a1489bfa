"""Checks a stranger's bundle in a process of its own, which is killed when its time is over. Servers use it so as not to block their
threads.

```
check ──> a slot (`at_once` of them) ──> python -m stepwell.research.audit.checking_process FILE ──> its Verification as JSON
                                          killed shortly after limit_s, and by its own CPU limit if the server is gone
```
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stepwell.errors import MissingExtraError
from stepwell.research.audit.signing import read_public_key
from stepwell.research.audit.trail import Defect
from stepwell.research.audit.verification import CheckedPart, Verification
from stepwell.research.audit.verify import Expected, read_head, verify_bundle
from stepwell.settings import bare_environment

ROUTE_S = 30.0
"""The most seconds that a check may take on a server."""
AT_ONCE = 2
_START_S = 30.0
"""Extra seconds for a process to start and to end."""
_MEMORY = 3 * 2**30


class BundleChecker:
    """Checks a few bundles at a time; further bundles wait for their turn."""

    def __init__(self, *, limit_s: float = ROUTE_S, at_once: int = AT_ONCE) -> None:
        self._limit_s = limit_s
        self._places = asyncio.Semaphore(at_once)

    async def check(
        self, bundle: Path, *, head: str | None = None, key: str | None = None, strict: bool = False
    ) -> Verification:
        """Checks like `verify_bundle`. Raises `EvidenceError` for an invalid head or key before the process starts."""
        expected = Expected(None if head is None else read_head(head), None if key is None else read_public_key(key), strict)
        asked = json.dumps({"bundle": str(bundle), "limit_s": self._limit_s, **asdict(expected)})
        async with self._places:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "stepwell.research.audit.checking_process"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=bare_environment({"PYTHONPATH": os.pathsep.join(place or os.getcwd() for place in sys.path)}),
            )
            try:
                async with asyncio.timeout(self._limit_s + _START_S):
                    said, _ = await process.communicate(asked.encode())
            except TimeoutError:
                return self._give_up()
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        return _read(said) if process.returncode == 0 else self._give_up()

    def _give_up(self) -> Verification:
        told = (
            f"Checking the bundle took more than {self._limit_s:g} seconds or more memory than there is, so it was not judged. "
            "Check it with `stepwell verify` instead, if you trust where it comes from."
        )
        defect = Defect("the file", told)
        return Verification(False, (defect,), parts=(CheckedPart("file", 1, (defect,)),))


def _read(said: bytes) -> Verification:
    told: dict[str, Any] = json.loads(said)
    if "missing" in told:
        raise MissingExtraError(*told["missing"])
    parts = tuple(CheckedPart(part["part"], part["checked"], _read_defects(part["problems"])) for part in told["parts"])
    lists = {name: tuple(told[name]) for name in ("lacks", "notes")}
    defects = {name: _read_defects(told[name]) for name in ("problems", "marked_today")}
    return Verification(**{**told, **lists, **defects, "parts": parts})


def _read_defects(told: list[dict[str, str]]) -> tuple[Defect, ...]:
    return tuple(Defect(**each) for each in told)


def _limit_itself(limit_s: float) -> None:
    """Limits the CPU time and memory of this process, in case the server is gone or a bundle wants all memory."""
    with suppress(ImportError):
        import resource

        cpu = int(limit_s + _START_S)
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def main() -> int:
    """What the process runs: reads one request from standard input, checks the bundle, and writes the result to standard output."""
    asked = json.loads(sys.stdin.buffer.read())
    _limit_itself(asked["limit_s"])
    try:
        told: dict[str, Any] = asdict(verify_bundle(asked.pop("bundle"), **asked))
    except MissingExtraError as error:
        told = {"missing": [error.what, error.extra]}
    sys.stdout.write(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
