"""Whose rows a statement is about: the one place where a caller becomes SQL.

Rule to keep: user input is only ever a bound parameter. The SQL itself consists of text in this program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from stepwell.database.callers import Either, Equals, Every, Filter, Holds, filter_of
from stepwell.database.rows import dumps, loads
from stepwell.database.types import SYSTEM
from stepwell.errors import InvalidRequestError
from stepwell.sql import Clause, Dialect

_LARGEST = 2**63 - 1

EVERYTHING = Clause("1 = 1")
NOTHING = Clause("1 = 0")


def all_of(*clauses: Clause) -> Clause:
    sql = " AND ".join(f"({clause.sql})" for clause in clauses) or "1 = 1"
    return Clause(sql, tuple(value for clause in clauses for value in clause.bound))


def any_of(*clauses: Clause) -> Clause:
    """In brackets, because what is built from it may put an AND before it."""
    sql = f"({' OR '.join(f'({clause.sql})' for clause in clauses) or '1 = 0'})"
    return Clause(sql, tuple(value for clause in clauses for value in clause.bound))


Owned = Literal["threads", "runs", "t"]
"""Whose rows `owned_by` is about: threads, runs, or threads under the name `t` in a join."""


def owned_by(dialect: Dialect, owner: str | None, rows: Owned = "threads", *, by_id: bool = False) -> Clause:
    """What this caller may see and change; `None` means the program itself. A run belongs to its user, unless a filter of handlers decides:
    then it belongs to whoever may see its thread. `by_id`: the statement names the row by its id."""
    found = filter_of(owner, "threads")
    if owner is None:
        return EVERYTHING
    if found is None:
        # Appending '' keeps Postgres from looking through all rows of the owner for one id, as it does while a table has no statistics.
        column = "owner || ''" if by_id else "owner"
        return Clause(f"t.{column} = ?" if rows == "t" else f"{column} = ?", (str(owner),))
    if rows == "runs":
        seen = _seen(dialect, "seen", str(owner), found)
        sql = f"EXISTS (SELECT 1 FROM threads AS seen WHERE seen.thread_id = runs.thread_id AND {seen.sql})"  # noqa: S608 - clauses of ours
        return Clause(sql, seen.bound)
    return _seen(dialect, rows, str(owner), found)


def _seen(dialect: Dialect, threads: str, owner: str, found: Filter) -> Clause:
    """Threads that fulfil the filter. A thread that is not listed (of a stateless run, of a background task) is also its user's, whatever
    its metadata: nobody could have given it any."""
    listed = all_of(Clause(f"{threads}.thread_id IS NOT NULL"), matches(dialect, f"{threads}.metadata", found))
    return any_of(listed, Clause(f"{threads}.temporary <> 0 AND {threads}.owner = ?", (owner,)))


def personal(owner: str | None) -> Clause:
    """What this user has used or paid, whatever filters of handlers say; `None` means the program itself."""
    return EVERYTHING if owner is None else Clause("owner = ?", (str(owner),))


def shown_to(dialect: Dialect, owner: str | None) -> Clause:
    """The assistants that this caller may see, including those of the server."""
    if owner is None:
        return EVERYTHING
    found = filter_of(owner, "assistants")
    if found is None:
        return Clause("owner IN (?, ?)", (str(owner), SYSTEM))
    return any_of(Clause("owner = ?", (SYSTEM,)), matches(dialect, "metadata", found))


def matches(dialect: Dialect, column: str, wanted: Filter) -> Clause:
    """The JSON object in `column` fulfils a filter of auth handlers."""
    match wanted:
        case Every(parts):
            return all_of(*(matches(dialect, column, part) for part in parts))
        case Either(parts):
            return any_of(*(matches(dialect, column, part) for part in parts))
        case Equals(key, value):
            return dialect.has_exactly(column, checked_text(key), comparable(value))
        case Holds(key, values):
            return all_of(*(dialect.has_element(column, checked_text(key), comparable(value)) for value in values))


def comparable(value: Any) -> Any:
    match value:
        case str():
            return checked_text(value)
        case bool():
            return value
        case int() | float():
            return _number(value)
        case Mapping() | None:
            return value
        case _:
            return loads(dumps(value))  # refuses values that are not JSON


def _number(value: float) -> float:
    if isinstance(value, int) and abs(value) > _LARGEST:
        try:
            return float(value)  # as SQLite reads it in JSON
        except OverflowError as error:
            raise InvalidRequestError(
                "The filter contains a number that is too large to compare with. Use a smaller one."
            ) from error
    return value


def checked_text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequestError("The filter contains invalid Unicode text (half of a surrogate pair).") from error
    return value
