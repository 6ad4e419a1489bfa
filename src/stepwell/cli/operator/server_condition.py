"""What `stepwell doctor` says about the server: whether one answers, and the state of its database. Read-only."""

from __future__ import annotations

import http.client
import importlib.util
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from stepwell.addresses import DEFAULT_HOST, DEFAULT_PORT
from stepwell.errors import StepwellError
from stepwell.settings import Settings
from stepwell.terminal.database_place import PostgresPlace, database_place
from stepwell.terminal.own_command import spell_command

NEEDED = ("fastapi", "uvicorn", "httpx", "jwt", "prometheus_client")
"""Packages of the extra `server`."""

_ASK_S = 2.0


def server_lines(settings: Settings) -> Iterator[str]:
    if missing := [package for package in NEEDED if importlib.util.find_spec(package) is None]:
        yield f"packages       missing ({', '.join(missing)}): pip install 'stepwell[server]'"
    yield f"running        {_describe_running(settings)}"
    yield f"database       {_describe_database(settings)}"
    if settings.api_key:
        yield f"your key       STEPWELL_API_KEY is set, for `{spell_command('chat --url')}`"


def _describe_running(settings: Settings) -> str:
    port = _port(settings)
    if port is None:
        return "STEPWELL_PORT is not a port, so `stepwell serve` would not start"
    address = f"http://{DEFAULT_HOST}:{port}"
    try:
        with closing(http.client.HTTPConnection(DEFAULT_HOST, port, timeout=_ASK_S)) as connection:
            connection.request("GET", "/info")
            response = connection.getresponse()
            said = json.loads(response.read(65536)) if response.status == 200 else {}
    except (OSError, http.client.HTTPException, ValueError):
        return f"nothing answers at {address} (start it with: {spell_command('serve')})"
    ours = isinstance(said, dict) and (said.get("metadata") or {}).get("server") == "stepwell"
    return f"at {address}, version {said['version']}" if ours else f"something else answers at {address}; use another --port"


def _port(settings: Settings) -> int | None:
    text = settings.server.get("STEPWELL_PORT", str(DEFAULT_PORT))
    return int(text) if text.isascii() and text.isdigit() and 0 < int(text[:6]) < 65536 else None


def _describe_database(settings: Settings) -> str:
    try:
        return _describe_place(database_place(None, settings))
    except StepwellError as error:
        return str(error)


def _describe_place(place: Path | PostgresPlace) -> str:
    if isinstance(place, PostgresPlace):
        from stepwell.database.postgres.condition import inspect_postgres

        name, found = str(place), inspect_postgres(place.url.reveal())
        if not found.form:
            return f"{name}, still empty; the first start of a server creates its tables"
    else:
        from stepwell.database.sqlite.condition import inspect_database

        if not place.is_file():
            return "none yet; the first start of the server creates it"
        name, found = place.name, inspect_database(place)
    form = f"schema version {found.form}" + (
        f" ({len(found.missing)} steps behind: {spell_command('db migrate')})" if found.missing else ""
    )
    rows = found.contents.rows
    return f"{name}, {found.size_bytes / 1e6:,.1f} MB, {form}, {rows.get('threads', 0)} threads, {rows.get('api_keys', 0)} keys"
