"""Pieces of SQL for a search: which records are found, and in what order. Whose records are searched is said by `database/access.py`.

Rule to keep: user input is only ever a bound parameter. The SQL itself consists of text in this program.

JSON containment: an object contains another if it has every key of that one with the same value, and the same holds for nested objects.
Lists are compared as a whole; an object inside a list is compared with its keys in order. `1` and `1.0` are equal, `1` and `true` are not,
`null` is not the same as missing. In Postgres an object inside a list may have its keys in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from stepwell.database.access import EVERYTHING, all_of, any_of, checked_text, comparable, matches, owned_by, personal, shown_to
from stepwell.database.records.types import Page
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
    leaves = [Leaf(path, comparable(value)) for path, value in _leaves(wanted, ())]
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
            yield from _leaves(value, (*path, checked_text(key)))
        else:
            yield (*path, checked_text(key)), value
