"""Which items a search finds, and in which order. Nothing here knows SQL.

- A *filter* names keys of the value, with dots between the keys of nested objects. A plain value must be equal; an object is compared key
  by key; `{"$gt": 3}` compares
  (`$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`), numbers with numbers and texts with texts, and anything else does not match;
  `{"$contains": [3]}` asks for a list with these values in it. `$and` and `$or` take lists of filters.
- A *query* consists of words. An item is found if its value contains at least one of them as a whole word, ignoring case, in any text or
  number at any depth. Its score is the share of the query's words that it contains, from 0 to 1. Items with more of the words come first,
  then those that mention them more often, then the most recently changed.
- In a store with an index, a query is compared by meaning instead (`index`). All items that have vectors are found, the closest first.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import nlargest, nsmallest
from itertools import islice
from typing import Any

from langgraph.store.base import ListNamespacesOp, MatchCondition, SearchItem, SearchOp

from stepwell.database.store.index import StoreIndex
from stepwell.database.store.statements import ItemRow
from stepwell.errors import InvalidRequestError

_WORD = re.compile(r"\w+")
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda held, asked: bool(held == asked),
    "$ne": lambda held, asked: bool(held != asked),
    "$gt": lambda held, asked: _are_comparable(held, asked) and bool(held > asked),
    "$gte": lambda held, asked: _are_comparable(held, asked) and bool(held >= asked),
    "$lt": lambda held, asked: _are_comparable(held, asked) and bool(held < asked),
    "$lte": lambda held, asked: _are_comparable(held, asked) and bool(held <= asked),
    "$contains": lambda held, asked: isinstance(held, list) and all(one in held for one in _listed(asked)),
}


def search(rows: Iterable[ItemRow], op: SearchOp) -> list[tuple[ItemRow, SearchItem]]:
    """The requested page of items, from rows that come newest first."""
    matching = ((row, value) for row in rows if matches(value := row.parse(), op.filter))
    window = slice(op.offset, op.offset + op.limit)
    if not op.query:
        return [(row, _item(row, value, None)) for row, value in islice(matching, window.start, window.stop)]
    words = set(_words(op.query))
    best = nsmallest(window.stop, _score(matching, words), key=lambda found: found[0])
    return [(row, _item(row, value, -rank[0] / len(words))) for rank, row, value in best[window]]


def search_by_meaning(
    rows: Iterable[ItemRow], op: SearchOp, index: StoreIndex, query: array[float]
) -> list[tuple[ItemRow, SearchItem]]:
    """The requested page of items, the closest first; of equally close ones the most recently changed."""
    fitting = ((row, row.vectors) for row in rows if not op.filter or matches(row.parse(), op.filter))
    best = nlargest(op.offset + op.limit, index.compare(query, fitting), key=lambda found: (found[0], found[1].updated))
    return [(row, _item(row, row.parse(), score)) for score, row in best[op.offset :]]


def matches(value: Mapping[str, Any], condition: Mapping[str, Any] | None) -> bool:
    return not condition or all(_holds(value, key, asked) for key, asked in condition.items())


def _holds(value: Mapping[str, Any], key: str, asked: Any) -> bool:
    if key not in ("$and", "$or"):
        return _fits(_at(value, key), asked)
    if not isinstance(asked, list) or not asked or not all(isinstance(each, Mapping) for each in asked):
        raise InvalidRequestError(f"'{key}' in a filter takes a list of filters.")
    return (all if key == "$and" else any)(matches(value, each) for each in asked)


def _at(value: Mapping[str, Any], key: str) -> Any:
    """The value of a key; `user.name` is the key itself if there is one, else `name` in `user`."""
    if key in value or "." not in key:
        return value.get(key)
    first, _, rest = key.partition(".")
    inner = value.get(first)
    return _at(inner, rest) if isinstance(inner, Mapping) else None


def namespace_matches(labels: tuple[str, ...], condition: MatchCondition) -> bool:
    """`*` in a condition stands for any one label."""
    path = condition.path
    if len(labels) < len(path):
        return False
    part = labels[: len(path)] if condition.match_type == "prefix" else labels[len(labels) - len(path) :]
    return all(asked in ("*", label) for label, asked in zip(part, path, strict=True))


def known_prefix(op: ListNamespacesOp) -> tuple[str, ...]:
    """The prefix shared by all requested namespaces."""
    longest: tuple[str, ...] = ()
    for condition in op.match_conditions or ():
        if condition.match_type == "prefix":
            path = tuple(condition.path)
            fixed = path[: path.index("*")] if "*" in path else path
            longest = max(longest, fixed, key=len)
    return longest


def page_of_namespaces(found: Iterable[tuple[str, ...]], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """The namespaces that match, truncated to the requested depth, sorted and without duplicates."""
    conditions = op.match_conditions or ()
    fitting = (labels for labels in found if all(namespace_matches(labels, condition) for condition in conditions))
    cut = sorted({labels[: op.max_depth] for labels in fitting})
    return cut[op.offset : op.offset + op.limit]


def _fits(held: Any, asked: Any) -> bool:
    if isinstance(asked, Mapping):
        if any(key.startswith("$") for key in asked):
            return all(_compare(held, operator, value) for operator, value in asked.items())
        return isinstance(held, Mapping) and all(_fits(held.get(key), value) for key, value in asked.items())
    if isinstance(asked, list | tuple):
        same_length = isinstance(held, list) and len(held) == len(asked)
        return same_length and all(_fits(one, other) for one, other in zip(held, asked, strict=True))
    return bool(held == asked)


def _compare(held: Any, operator: str, asked: Any) -> bool:
    if operator not in _COMPARISONS:
        known = ", ".join(_COMPARISONS)
        raise InvalidRequestError(f"Unknown filter operator '{operator}'. Use one of: {known}.")
    return _COMPARISONS[operator](held, asked)


def _listed(asked: Any) -> list[Any]:
    return asked if isinstance(asked, list) else [asked]


def _are_comparable(held: Any, asked: Any) -> bool:
    numbers = isinstance(held, int | float) and isinstance(asked, int | float)
    return numbers or (isinstance(held, str) and isinstance(asked, str))


def _score(
    found: Iterable[tuple[ItemRow, dict[str, object]]], words: set[str]
) -> Iterator[tuple[tuple[int, int], ItemRow, dict[str, object]]]:
    for row, value in found:
        mentions = Counter(word for text in _texts(value) for word in _words(text) if word in words)
        if mentions:
            yield (-len(mentions), -mentions.total()), row, value


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case bool() | None:
            return
        case int() | float():
            yield str(value)
        case Mapping():
            for each in value.values():
                yield from _texts(each)
        case list():
            for each in value:
                yield from _texts(each)


def _item(row: ItemRow, value: dict[str, object], score: float | None) -> SearchItem:
    return SearchItem(
        namespace=row.labels, key=row.key, value=value, created_at=row.created_at, updated_at=row.updated_at, score=score
    )
