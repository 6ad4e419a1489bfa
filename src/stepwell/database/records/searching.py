"""Pieces of SQL for a search: whose records are searched, which of them are found, and in what order.

Rule to keep: user input is only ever a bound parameter. The SQL itself consists of text in this program.

JSON containment: an object contains another if it has every key of that one with the same value, and the same holds for nested objects.
Lists are compared as a whole; an object inside a list is compared with its keys in order. `1` and `1.0` are equal, `1` and `true` are not,
`null` is not the same as missing. In Postgres an object inside a list may have its keys in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from stepwell.database.callers import Either, Equals, Every, Filter, Holds, filter_of
from stepwell.database.records.types import Page
from stepwell.database.rows import dumps, loads
from stepwell.database.types import SYSTEM
from stepwell.errors import InvalidRequestError
from stepwell.sql import Clause, Dialect

_DEEPEST = 20  # SQLite joins 64 tables at most
_MAX_LEAVES = 100
_LARGEST = 2**63 - 1

__all__ = [
    "EVERYTHING",
    "Clause",
    "Leaf",
    "Order",
    "all_of",
    "any_of",
    "contains",
    "holds",
    "leaves_of",
    "matches",
    "order_by",
    "owned_by",
    "personal",
    "shown_to",
]

Order = Mapping[str, str]
"""The name of a sort key, as callers use it -> the column."""


EVERYTHING = Clause("1 = 1")


def all_of(*clauses: Clause) -> Clause:
    sql = " AND ".join(f"({clause.sql})" for clause in clauses) or "1 = 1"
    return Clause(sql, tuple(value for clause in clauses for value in clause.bound))


def any_of(*clauses: Clause) -> Clause:
    sql = " OR ".join(f"({clause.sql})" for clause in clauses) or "1 = 0"
    return Clause(sql, tuple(value for clause in clauses for value in clause.bound))


Owned = Literal["threads", "runs", "t"]
"""Whose rows `owned_by` is about: threads, runs, or threads under the name `t` in a join."""


def owned_by(dialect: Dialect, owner: str | None, rows: Owned = "threads") -> Clause:
    """What this caller may see and change; `None` means the program itself. A run belongs to its user, unless a filter of handlers decides:
    then it belongs to whoever may see its thread."""
    found = filter_of(owner, "threads")
    if owner is None:
        return EVERYTHING
    if found is None:
        return Clause("t.owner = ?" if rows == "t" else "owner = ?", (str(owner),))
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
            return dialect.has_exactly(column, _text(key), _comparable(value))
        case Holds(key, values):
            return all_of(*(dialect.has_element(column, _text(key), _comparable(value)) for value in values))


def order_by(page: Page, order: Order, *, then: str = "rowid") -> Clause:
    """The end of a SELECT: sorted, limited to the page. Ties are ordered by creation, with the column `then`."""
    column = order.get(page.sort_by)
    if column is None:
        raise InvalidRequestError(f"Cannot sort by '{page.sort_by}'. Sort by one of: {', '.join(sorted(order))}.")
    way = "DESC" if page.descending else "ASC"
    bounds = (max(0, min(page.limit, _LARGEST)), max(0, min(page.offset, _LARGEST)))
    return Clause(f" ORDER BY {column} {way}, {then} {way} LIMIT ? OFFSET ?", bounds)


def contains(dialect: Dialect, column: str, wanted: Mapping[str, Any]) -> Clause:
    """The JSON object in `column` contains `wanted`."""
    return all_of(*(dialect.has_member(column, path, value) for path, value in leaves_of(wanted)))


class Leaf(NamedTuple):
    """The value that a filter requires at one path. An empty object stands for any object."""

    path: tuple[str, ...]
    value: Any


def leaves_of(wanted: Mapping[str, Any]) -> list[Leaf]:
    """The filter's conditions. Raises `InvalidRequestError` if they are not supported."""
    leaves = [Leaf(path, _comparable(value)) for path, value in _leaves(wanted, ())]
    if len(leaves) > _MAX_LEAVES:
        raise InvalidRequestError(f"The filter has {len(leaves)} values; at most {_MAX_LEAVES} are allowed.")
    return leaves


def holds(document: Any, leaves: Iterable[Leaf]) -> bool:
    """Like `contains`, for a document that is not in a column."""
    return all(_holds(document, leaf) for leaf in leaves)


def _holds(document: Any, leaf: Leaf) -> bool:
    for key in leaf.path:
        if not isinstance(document, dict) or key not in document:
            return False
        document = document[key]
    return isinstance(document, dict) if isinstance(leaf.value, Mapping) else _same(document, leaf.value)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def _leaves(wanted: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if len(path) >= _DEEPEST:
        raise InvalidRequestError(f"The filter is nested more than {_DEEPEST} deep. Ask for fewer levels.")
    for key, value in wanted.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*path, _text(key)))
        else:
            yield (*path, _text(key)), value


def _comparable(value: Any) -> Any:
    match value:
        case str():
            return _text(value)
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


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequestError("The filter contains invalid Unicode text (half of a surrogate pair).") from error
    return value
