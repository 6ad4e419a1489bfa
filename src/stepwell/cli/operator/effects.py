"""`stepwell effects`: lists tool effects with an unknown outcome, and records the outcome once somebody has checked.

Works on the database directly, even while a server uses it, or asks a server.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from stepwell.clock import SystemClock
from stepwell.database.records.repository import Repository
from stepwell.database.records.types import EffectFilter, Page
from stepwell.settings import Settings
from stepwell.terminal.database_file import require_database, with_database
from stepwell.terminal.own_command import spell_command
from stepwell.terminal.server_request import ask_server
from stepwell.terminal.tables import align, short_time

T = TypeVar("T")
Line = Mapping[str, Any]

_MAX_LINES = 1000
_COLUMNS = ("outcome", "tool", "begun_at", "owner", "thread_id", "key")


def show(*, known: bool, thread: str | None, as_json: bool, url: str | None, everybody: bool, database_url: str | None) -> int:
    """List effects, newest first."""
    settings = Settings.load()
    if url:
        wanted = {"known": str(known).lower(), "limit": str(_MAX_LINES), **({"thread_id": thread} if thread else {})}
        lines: Sequence[Line] = ask_server(url, settings, _path("", everybody=everybody), params=wanted)
    else:
        which = EffectFilter(open=not known, thread_id=thread)
        found = _with_records(database_url, settings, lambda records: records.effects(None, which, Page(limit=_MAX_LINES)))
        lines = [effect.as_json() for effect in found]
    print(json.dumps(lines, indent=2) if as_json else "\n".join(_table(lines)))
    return 0


def settle(
    *, key: str, happened: bool, note: str, as_json: bool, url: str | None, everybody: bool, database_url: str | None
) -> int:
    """Record whether an effect happened."""
    settings = Settings.load()
    if url:
        body = {"key": key, "outcome": "done" if happened else "not_done", "note": note}
        line: Line = ask_server(url, settings, _path("/settle", everybody=everybody), body=body)
    else:
        by = "command line"
        settled = _with_records(
            database_url, settings, lambda records: records.settle_effect(None, key, happened=happened, note=note, by=by)
        )
        line = settled.as_json()
    fact = "done" if happened else "not done"
    told = (
        "The model learns this when the thread resumes, if the call is still in its conversation."
        if line["thread_id"]
        else "Its thread was deleted."
    )
    print(json.dumps(line, indent=2) if as_json else f"{line['tool'] or 'The effect'} is settled as {fact}. {told}")
    return 0


def _path(more: str, *, everybody: bool) -> str:
    return f"/api/effects/all{more}" if everybody else f"/api/effects{more}"


def _with_records(database_url: str | None, settings: Settings, work: Callable[[Repository], Awaitable[T]]) -> T:
    file = require_database(database_url, settings)
    return with_database(file, lambda opened: work(Repository(opened, SystemClock())))


def _table(lines: Sequence[Line]) -> list[str]:
    if not lines:
        return ["Nothing to settle: the outcome of every effect is known."]
    rows = [[name.replace("_", " ") for name in _COLUMNS], *([_cell(line, name) for name in _COLUMNS] for line in lines)]
    table = align(rows)
    if any(line["outcome"] == "unknown" for line in lines):
        settle = spell_command("effects settle KEY --done [NOTE] | --not-done [NOTE]")
        table.append(f"Check whether it happened, then run: {settle}")
    return table


def _cell(line: Line, name: str) -> str:
    if name == "outcome" and line["taken_back"] and not line["settled_at"]:
        return f"{line['outcome']}, rolled back"
    if name == "begun_at":
        return short_time(line[name])
    return str(line[name] or ("(deleted)" if name in ("owner", "thread_id") else "?"))
