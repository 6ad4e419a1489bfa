"""The port, the server that answers there, who drives its runs, and the web page. It only reads."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from stepwell.addresses import DEFAULT_HOST, DEFAULT_PORT
from stepwell.cli.operator.doctor.extras import missing_packages
from stepwell.cli.operator.doctor.finding import Check, Finding, Installation, count
from stepwell.cli.operator.doctor.holders import who_has_open, who_listens
from stepwell.database.condition import Condition
from stepwell.errors import ConfigurationError
from stepwell.terminal.own_command import spell_command

_ASK_S = 2.0
_READY_S = 10.0
"""Longer than a server waits for its own database before it says so."""
_LONG_S = 60.0
_EVERYWHERE = ("", "0.0.0.0", "::")  # noqa: S104 - compared, not bound


@dataclass(frozen=True)
class _Answer:
    status: int | None
    """None: something listens, and sends no HTTP response in time."""
    said: Any = None

    @property
    def is_ours(self) -> bool:
        return isinstance(self.said, dict) and (self.said.get("metadata") or {}).get("server") == "stepwell"


def _address(here: Installation) -> tuple[str, int] | None:
    """Where a server of these settings listens; None if the settings are invalid, which another check reports."""
    text = here.settings.server.get("STEPWELL_PORT", str(DEFAULT_PORT))
    if not (text.isascii() and text.isdigit() and 0 < int(text[:6]) < 65536):
        return None
    host = here.settings.server.get("STEPWELL_HOST", DEFAULT_HOST)
    return DEFAULT_HOST if host in _EVERYWHERE else host, int(text)


def _get(address: tuple[str, int], path: str, timeout_s: float = _ASK_S) -> _Answer | None:
    """The response to a request; None if nothing listens there. Without a proxy, whatever the environment says."""
    try:
        with closing(http.client.HTTPConnection(*address, timeout=timeout_s)) as connection:
            connection.connect()
            try:
                connection.request("GET", path)
                response = connection.getresponse()
                body = response.read(65536)
            except (OSError, http.client.HTTPException):
                return _Answer(None)
    except OSError:
        return None
    try:
        return _Answer(response.status, json.loads(body))
    except ValueError:
        return _Answer(response.status)


def _check_port(here: Installation) -> Iterator[Finding]:
    address = _address(here)
    if address is None or missing_packages("server"):
        return
    shown, answer = f"http://{address[0]}:{address[1]}", _get(address, "/info")
    if answer is None:
        from stepwell.server.listening import bind

        try:
            bind(*address).close()
        except ConfigurationError as error:
            yield Finding(
                "problem", f"A server cannot listen at {shown}.", str(error), "Set another STEPWELL_PORT or STEPWELL_HOST."
            )
        else:
            yield Finding("ok", f"Nothing answers at {shown}.", "", f"Start a server with: {spell_command('serve')}")
    elif answer.is_ours:
        yield Finding("ok", f"A server answers at {shown}, version {answer.said.get('version')}.")
    else:
        owner = who_listens(address[1]) or "another program"
        yield Finding(
            "problem",
            f"The port {address[1]} is in use by {owner}, which does not answer as a Stepwell server.",
            "Another server cannot start there.",
            f"Stop it, or take another port: {spell_command('serve --port 0')}, or set STEPWELL_PORT.",
        )


def _check_health(here: Installation) -> Iterator[Finding]:
    address = _address(here)
    running = _get(address, "/info") if address else None
    if address is None or running is None or not running.is_ours:
        return
    ready = _get(address, "/ready", _READY_S)
    if ready is None or ready.status != 200:
        said = ready.said.get("detail") if ready and isinstance(ready.said, dict) else None
        why = str(said or f"It has not answered /ready within {_READY_S:g} s.")
        yield Finding("problem", "The server is running, and not ready.", why, "Look at its log; then restart it.")
    here_version, there = version("stepwell"), running.said.get("version")
    if there != here_version:
        yield Finding(
            "warning",
            f"The server runs version {there}, and {here_version} is installed.",
            "It was started before the update, or from another environment.",
            f"Restart it: {spell_command('serve')}",
        )


def _check_lock(here: Installation) -> Iterator[Finding]:
    place, found = here.place, here.condition
    if not isinstance(place, Path) or not isinstance(found, Condition) or found.in_use == "no":
        return
    address = _address(here)
    running = _get(address, "/info") if address else None
    if running and running.is_ours:
        return
    owner = who_has_open(place.with_name(place.name + ".lock")) or "Another process"
    yield Finding(
        "warning",
        f"{owner} uses the database '{place.absolute()}', and no server answers at the usual address.",
        "A second server cannot use the same file. It may be a server on another port, one that starts, or one that hangs.",
        "Stop that process, or give this server another folder with STEPWELL_DATA_DIR.",
    )


def _check_runs(here: Installation) -> Iterator[Finding]:
    found = here.condition
    if not isinstance(found, Condition):
        return
    driving, contents = found.driving, found.contents
    if driving.waiting and driving.oldest_s > _LONG_S:
        idle = driving.workers == 0
        yield Finding(
            "warning",
            f"{count(driving.waiting, 'thread has', 'threads have')} a run that waits, for up to {driving.oldest_s / 60:,.0f} minutes.",
            "No server or worker is alive." if idle else "All workers are busy, or a run blocks them.",
            f"Start {'a server' if idle else 'one more worker'}: {spell_command('serve' if idle else 'worker')}",
        )
    if contents.unreadable_runs:
        yield Finding(
            "warning",
            f"{count(contents.unreadable_runs, 'run was', 'runs were')} set aside, because their rows cannot be read.",
            "They were written by another version, or the database is damaged.",
            f"Look at them with: {spell_command('db status')}",
        )
    if contents.half_erased and driving.workers == 0:
        yield Finding(
            "note",
            f"{count(contents.half_erased, 'deleted thread still has', 'deleted threads still have')} rows.",
            "The process that deleted them has ended.",
            f"The next server finishes that: {spell_command('serve')}",
        )


def _check_workers(here: Installation) -> Iterator[Finding]:
    found = here.condition
    if not isinstance(found, Condition) or not found.driving.abandoned:
        return
    alive = found.driving.workers
    yield Finding(
        "note" if alive else "warning",
        f"{count(found.driving.abandoned, 'thread is', 'threads are')} held by workers that are dead.",
        f"{count(alive, 'other worker takes', 'other workers take')} them over."
        if alive
        else "No other worker is alive to resume them.",
        "" if alive else f"They resume when a server starts: {spell_command('serve')}",
    )


def _check_page(here: Installation) -> Iterator[Finding]:
    if missing_packages("server"):
        return
    from stepwell.server.page.serving import STATIC

    if page_is_built(STATIC):
        yield Finding("ok", "The web page is built.")
    else:
        yield Finding(
            "warning",
            "The web page is not built.",
            "A server answers programs, and shows browsers no page.",
            "In a clone: make page. Otherwise install Stepwell again.",
        )


def page_is_built(static: Path) -> bool:
    """Whether the folder has the page and the scripts it loads."""
    return (static / "index.html").is_file() and any((static / "assets").glob("*.js"))


CHECKS = (
    Check(
        "port",
        "the server's port is in use by another program (named where Linux shows it), or cannot be listened on",
        "stop that program, `stepwell serve --port 0`, or `STEPWELL_PORT`",
        _check_port,
    ),
    Check(
        "server",
        "a server is running and not ready, or runs another version than the installed one",
        "its log; restart it",
        _check_health,
    ),
    Check(
        "database-lock",
        "a process holds the SQLite file, and no server answers",
        "stop that process, or `STEPWELL_DATA_DIR`",
        _check_lock,
    ),
    Check(
        "runs",
        "runs wait for more than a minute, cannot be read, or are half deleted",
        "`stepwell serve` or `stepwell worker`; `stepwell db status`",
        _check_runs,
    ),
    Check("workers", "dead workers hold threads", "`stepwell serve`", _check_workers),
    Check("page", "the web page is not built", "`make page` in a clone", _check_page),
)
