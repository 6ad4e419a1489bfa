"""`stepwell crons`: lists and removes crons of all users in the database, even while a server uses it; and adds one on a server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from typing import TypeVar

from stepwell.clock import SystemClock
from stepwell.database.crons import Cron, CronFilter, CronSlot, CronTable
from stepwell.database.records.types import Page
from stepwell.errors import RunError
from stepwell.secrets.values import without_secrets
from stepwell.settings import Settings
from stepwell.state.wire import encode
from stepwell.terminal.database_file import require_database, with_database
from stepwell.terminal.server_request import ask_server
from stepwell.terminal.tables import align
from stepwell.validation import suggest

T = TypeVar("T")

_MAX_LINES = 1000


def show(*, slots_of: str | None, as_json: bool, database_url: str | None) -> int:
    """List crons, newest first; or what became of one's slots."""
    if slots_of:
        slots = _with_table(database_url, lambda table: table.slots(None, slots_of, limit=_MAX_LINES))
        print(encode([asdict(slot) for slot in slots]).decode() if as_json else "\n".join(_slot_lines(slots)))
        return 0
    crons = _with_table(database_url, lambda table: table.search(None, CronFilter(), Page(limit=_MAX_LINES)))
    shown = [{**asdict(cron), "order": without_secrets(cron.order)} for cron in crons]
    print(encode(shown).decode() if as_json else "\n".join(_cron_lines(crons)))
    return 0


def add(*, assistant: str, schedule: str, message: str, timezone: str | None, url: str) -> int:
    """Start a run with this message by a schedule. Each run's thread is kept."""
    given = {"messages": [{"role": "user", "content": message}]}
    body = {"assistant_id": assistant, "schedule": schedule, "timezone": timezone, "input": given, "on_run_completed": "keep"}
    settings = Settings.load()
    try:
        made = ask_server(url, settings, "/runs/crons", body=body)
    except RunError as error:
        raise RunError(f"{error}{_suggest_assistant(assistant, url, settings)}") from error
    print(f"{made['cron_id']} runs {assistant} next at {made['next_run_date']}.")
    return 0


def _suggest_assistant(given: str, url: str, settings: Settings) -> str:
    """The nearest name of an assistant on the server, if the given one is not there."""
    try:
        found = ask_server(url, settings, "/assistants/search", body={"limit": 1000})
    except RunError:
        return ""
    known = {each[part] for each in found for part in ("assistant_id", "name", "graph_id") if each.get(part)}
    return "" if given in known else suggest(given, sorted(known))


def remove(*, cron_id: str, database_url: str | None) -> int:
    _with_table(database_url, lambda table: table.delete(None, cron_id))
    print(f"The cron {cron_id} is removed. Runs that it has started go on.")
    return 0


def _with_table(database_url: str | None, work: Callable[[CronTable], Awaitable[T]]) -> T:
    file = require_database(database_url, Settings.load())
    return with_database(file, lambda opened: work(CronTable(opened, SystemClock())))


def _cron_lines(crons: Sequence[Cron]) -> list[str]:
    if not crons:
        return ["There are no crons."]
    rows = [["cron", "owner", "schedule", "time zone", "next run", ""]]
    for cron in crons:
        upcoming = f"{cron.next_run:%Y-%m-%d %H:%M} UTC" if cron.next_run else "none"
        state = cron.ended_because or ("" if cron.enabled else "disabled")
        rows.append([cron.cron_id, cron.owner, cron.schedule, cron.timezone or "UTC", upcoming, state])
    return align(rows)


def _slot_lines(slots: Sequence[CronSlot]) -> list[str]:
    if not slots:
        return ["It has had no slot yet."]
    rows = [["slot", "state", "run", ""]]
    for slot in slots:
        until = f" to {slot.last_slot:%Y-%m-%d %H:%M}" if slot.last_slot else ""
        rows.append([f"{slot.slot:%Y-%m-%d %H:%M}{until} UTC", slot.state, slot.run_id or "", slot.note or ""])
    return align(rows)
