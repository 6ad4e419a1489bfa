"""Pieces of SQL for a search: whose things, which of them, in what order.

Rule to keep: what a user wrote is only ever a bound parameter. The SQL itself is put together from text in this program.

JSON containment: an object contains another when every key of that one is there with the same value, objects inside by the same
rule. Lists are compared whole, and an object inside a list with its keys in order. `1` and `1.0` are the same, `1` and `true` are
not, `null` is not the same as missing. Keys are compared through `json_each`, since SQLite's JSON paths cannot name every key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from stepwell.errors import InvalidRequestError
from stepwell.runs.embedded.rows import dumps
from stepwell.runs.records import SYSTEM
from stepwell.runs.repository import Page

_DEEPEST = 20  # SQLite joins 64 tables at most
_MOST_LEAVES = 100
_LARGEST = 2**63 - 1

Order = Mapping[str, str]
"""What a caller may sort by -> the column."""


class Clause(NamedTuple):
    """A condition, and what is bound to its question marks."""

    sql: str
    bound: tuple[Any, ...] = ()


EVERYTHING = Clause("1")


def all_of(*clauses: Clause) -> Clause:
    sql = " AND ".join(f"({clause.sql})" for clause in clauses) or "1"
    return Clause(sql, tuple(value for clause in clauses for value in clause.bound))


def owned_by(owner: str | None) -> Clause:
    """What this user may see and change; `None` is the program itself."""
    return EVERYTHING if owner is None else Clause("owner = ?", (owner,))


def shown_to(owner: str | None) -> Clause:
    """What this user may see: also what belongs to the server."""
    return EVERYTHING if owner is None else Clause("owner IN (?, ?)", (owner, SYSTEM))


def order_by(page: Page, order: Order, *, then: str = "rowid") -> Clause:
    """The end of a SELECT: sorted, cut to the page. Equals come in the order they were made in: by the column `then`."""
    column = order.get(page.sort_by)
    if column is None:
        raise InvalidRequestError(f"Cannot sort by '{page.sort_by}'. Sort by one of: {', '.join(sorted(order))}.")
    way = "DESC" if page.descending else "ASC"
    bounds = (max(0, min(page.limit, _LARGEST)), max(0, min(page.offset, _LARGEST)))
    return Clause(f" ORDER BY {column} {way}, {then} {way} LIMIT ? OFFSET ?", bounds)


def contains(column: str, wanted: Mapping[str, Any]) -> Clause:
    """The JSON object in `column` contains `wanted`."""
    leaves = list(_leaves(wanted, ()))
    if len(leaves) > _MOST_LEAVES:
        raise InvalidRequestError(f"The filter has {len(leaves)} values; at most {_MOST_LEAVES} can be asked for at once.")
    return all_of(*(_has(column, path, value) for path, value in leaves))


def _leaves(wanted: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if len(path) >= _DEEPEST:
        raise InvalidRequestError(f"The filter is nested more than {_DEEPEST} deep. Ask for fewer levels.")
    for key, value in wanted.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*path, _text(key)))
        else:
            yield (*path, _text(key)), value


def _has(column: str, path: tuple[str, ...], value: Any) -> Clause:
    # e0 are the members of the whole, e1 those of the member of e0 that the path names, and so on. What is no object has none.
    levels = [f"json_each({column}) AS e0"]
    for depth in range(1, len(path)):
        above = f"e{depth - 1}"
        levels.append(f"json_each(CASE {above}.type WHEN 'object' THEN {above}.value ELSE '{{}}' END) AS e{depth}")
    keys = " AND ".join(f"e{depth}.key = ?" for depth in range(len(path)))
    leaf = _equals(f"e{len(path) - 1}", value)
    sql = f"EXISTS (SELECT 1 FROM {', '.join(levels)} WHERE {keys} AND {leaf.sql})"  # noqa: S608 - only numbers and names of ours
    return Clause(sql, path + leaf.bound)


def _equals(member: str, value: Any) -> Clause:
    match value:
        case None:
            return Clause(f"{member}.type = 'null'")
        case bool():
            return Clause(f"{member}.type = ?", ("true" if value else "false",))
        case int() | float():
            return Clause(f"{member}.type IN ('integer', 'real') AND {member}.value = ?", (_number(value),))
        case str():
            return Clause(f"{member}.type = 'text' AND {member}.value = ?", (_text(value),))
        case Mapping():
            return Clause(f"{member}.type = 'object'")
        case _:
            return Clause(f"{member}.type = 'array' AND {member}.value = json(?)", (dumps(value),))


def _number(value: float) -> float:
    if isinstance(value, int) and abs(value) > _LARGEST:
        try:
            return float(value)  # as SQLite reads it in JSON
        except OverflowError as error:
            raise InvalidRequestError("The filter holds a number too large to compare with. Ask for a smaller one.") from error
    return value


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequestError("The filter holds text that is no valid Unicode (half of a surrogate pair).") from error
    return value
