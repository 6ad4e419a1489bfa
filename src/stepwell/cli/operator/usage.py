"""`stepwell usage`: the models that runs used and their cost, from the database or from a server. An unknown price is never 0."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from stepwell.clock import SystemClock
from stepwell.database.records.repository import Repository
from stepwell.database.records.types import UsageGroup
from stepwell.errors import ConfigurationError
from stepwell.settings import Settings
from stepwell.terminal.database_file import require_database, with_database
from stepwell.terminal.server_request import ask_server
from stepwell.terminal.tables import align

Line = Mapping[str, Any]

UNKNOWN = "unknown"
_NUMBERS = ("runs", "calls", "input_tokens", "output_tokens")


def run(
    *, by: UsageGroup, thread: str | None, as_json: bool, url: str | None, everybody: bool, database_url: str | None
) -> int:
    if by not in get_args(UsageGroup):
        raise ConfigurationError(f"Usage cannot be grouped by '{by}'. Choose one of: {', '.join(get_args(UsageGroup))}.")
    settings = Settings.load()
    lines = _ask(url, settings, by, thread, everybody=everybody) if url else _read(database_url, settings, by, thread)
    print(json.dumps(lines, indent=2) if as_json else "\n".join(_table(by, lines)))
    return 0


def _read(database_url: str | None, settings: Settings, by: UsageGroup, thread: str | None) -> list[Line]:
    file = require_database(database_url, settings)
    rows = with_database(file, lambda opened: Repository(opened, SystemClock()).usage(None, by, thread_id=thread))
    return [row.as_json() for row in rows]


def _ask(url: str, settings: Settings, by: UsageGroup, thread: str | None, *, everybody: bool) -> list[Line]:
    wanted = {"group_by": by, **({"thread_id": thread} if thread else {})}
    lines: list[Line] = ask_server(url, settings, "/api/usage/all" if everybody else "/api/usage", params=wanted)
    return lines


def _table(by: str, lines: Sequence[Line]) -> list[str]:
    if not lines:
        return ["No usage yet."]
    heads = [*([] if by == "model" else [by]), "model", *(name.replace("_", " ") for name in _NUMBERS), "cost in USD"]
    rows = [
        [*([] if by == "model" else [_key(line)]), line["model"], *(str(line[n]) for n in _NUMBERS), _cost(line)]
        for line in lines
    ]
    total = {name: sum(line[name] for line in lines) for name in _NUMBERS}
    priced = [line["cost_usd"] for line in lines if line["cost_usd"] is not None]
    whole = {"cost_usd": sum(priced) if priced else None, "unpriced_runs": sum(line["unpriced_runs"] for line in lines)}
    # A run that used two models is in two lines, so a total of runs would count it twice.
    last = [*(["total"] if by == "model" else ["total", ""]), "", *(str(total[n]) for n in _NUMBERS[1:]), _cost(whole)]
    return align([heads, *rows, last])


def _key(line: Line) -> str:
    return line["key"] or "(deleted threads)"


def _cost(line: Line) -> str:
    cost, unpriced = line["cost_usd"], line["unpriced_runs"]
    if cost is None:
        return UNKNOWN
    return f"{cost:.4f}" + (f" and {UNKNOWN}: {unpriced} runs" if unpriced else "")
