"""`stepwell db move`: moves a whole installation from SQLite to Postgres, or back."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from typing import TextIO

from stepwell.database.moving.move import Moved, Source, Target, Told
from stepwell.database.moving.move import move as move_all
from stepwell.database.moving.sqlite_side import SqliteSource, SqliteTarget
from stepwell.errors import ConfigurationError
from stepwell.settings import Settings
from stepwell.terminal.database_place import PostgresPlace, database_place
from stepwell.terminal.tables import align

_OFTEN_S = 0.1
_CLEAR = "\r\033[K"


def run(*, source: str | None, target: str) -> int:
    settings = Settings.load()
    where_from, where_to = _place(source, settings), _place(target, settings)
    if where_from == where_to:
        raise ConfigurationError(
            "A database cannot be moved to itself. Name the source with --from and a different target with --to."
        )
    began = monotonic()
    with ExitStack() as opened:
        reading = opened.enter_context(_source(where_from))
        writing = opened.enter_context(_target(where_to))
        moved = move_all(reading, writing, opened.enter_context(_progress(sys.stderr)))
    _tell(moved, where_from, where_to, monotonic() - began)
    return 0


def _place(named: str | None, settings: Settings) -> Path | PostgresPlace:
    """The database with this URL, or the file with this name."""
    return Path(named) if named and "://" not in named else database_place(named, settings)


def _source(place: Path | PostgresPlace) -> AbstractContextManager[Source]:
    if isinstance(place, PostgresPlace):
        from stepwell.database.moving.postgres_side import PostgresSource

        return PostgresSource(place.url.reveal(), str(place))
    return SqliteSource(place)


def _target(place: Path | PostgresPlace) -> AbstractContextManager[Target]:
    if isinstance(place, PostgresPlace):
        from stepwell.database.moving.postgres_side import PostgresTarget

        return PostgresTarget(place.url.reveal(), str(place))
    return SqliteTarget(place)


def _tell(moved: Sequence[Moved], where_from: Path | PostgresPlace, where_to: Path | PostgresPlace, seconds: float) -> None:
    lines = [("table", "rows", "checksum"), *((each.table, str(each.sum.rows), each.sum.checksum) for each in moved)]
    print("\n".join(align(lines, numbers={1})))
    rows = sum(each.sum.rows for each in moved)
    print(
        f"Moved {rows} rows in {seconds:.1f} s from {_name(where_from)} to {_name(where_to)}; counts and checksums are the same on "
        "both sides."
    )
    print(
        f"From now on start servers and workers with {_name(where_to)}. The old database is unchanged; do not start anything on it."
    )


def _name(place: Path | PostgresPlace) -> str:
    return str(place) if isinstance(place, PostgresPlace) else f"'{place.name}'"


@contextmanager
def _progress(screen: TextIO) -> Iterator[Told]:
    """A line that redraws itself and is cleared at the end. Without a terminal: one line per step."""
    drawn_at, said = 0.0, ""

    def draw(doing: str, table: str, done: int, of: int | None) -> None:
        nonlocal drawn_at
        if monotonic() - drawn_at > _OFTEN_S:
            drawn_at = monotonic()
            screen.write(f"{_CLEAR}{doing} {table}: {done}{'' if of is None else f' of {of}'} rows")
            screen.flush()

    def say(doing: str, table: str, done: int, of: int | None) -> None:
        nonlocal said
        if doing != said:
            said = doing
            print(f"{doing} all tables ...", file=screen, flush=True)

    if not screen.isatty():
        yield say
        return
    try:
        yield draw
    finally:
        screen.write(_CLEAR)
        screen.flush()
