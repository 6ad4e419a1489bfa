"""The caller of a request, with what a project's auth handlers have decided about it.

A caller is a user's name, so it can be given wherever an `owner` is. Most callers are plain text: they reach what belongs to them.
A `Caller` also carries filters of handlers. `database/access.py` turns them into SQL, in the same place where an owner becomes SQL:

```
"anna"                                           WHERE owner = 'anna'
Caller("anna", threads={"team": "red"})          WHERE metadata has team = 'red', whoever created the thread
Caller("anna", threads={})                       everything: the handler accepted the request without a filter
Caller("anna")                                   WHERE owner = 'anna': there is no handler for this
```
Rules to keep: SQL about threads, runs and assistants asks `owned_by` or `shown_to`, and never compares `owner` itself, because that would
lose the filter. What is personal (usage, wallet, connections, items of the store, limits) stays with the name. Rows store the name of the
user who created them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from stepwell.errors import InvalidRequestError

Resource = Literal["threads", "assistants", "crons"]
_DEEPEST = 8
_MAX_CONDITIONS = 100


@dataclass(frozen=True)
class Equals:
    """A key of the metadata has this value."""

    key: str
    value: Any


@dataclass(frozen=True)
class Holds:
    """A key of the metadata is a list with all of these values in it."""

    key: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Every:
    parts: tuple[Filter, ...]


@dataclass(frozen=True)
class Either:
    parts: tuple[Filter, ...]


Filter = Equals | Holds | Every | Either
"""The condition that a handler returned, on the metadata of a thread, an assistant or a cron."""


class Caller(str):
    """A user's name; see the module."""

    __slots__ = (
        "assistants",
        "configurable",
        "crons",
        "item",
        "items",
        "may_run",
        "metadata",
        "namespace",
        "threads",
        "unwanted",
        "user",
    )

    threads: Filter | None
    assistants: Filter | None
    crons: Filter | None
    metadata: Mapping[str, Any]
    """What handlers want in the metadata of whatever this request creates or changes."""
    unwanted: frozenset[str]
    """What handlers took out of the metadata that the request sent."""
    may_run: frozenset[str] | None
    """The ids of the assistants that handlers were asked about for a run; the engine starts no others. None: nobody is asked."""
    namespace: tuple[str, ...] | None
    """The namespace of the store that a handler put in the place of the requested one."""
    item: Mapping[str, Any]
    """Other fields of a request about the store that a handler changed, such as `value` or `limit`."""
    items: Filter | None
    """Which items of the store a search may find, by their values."""
    user: Mapping[str, Any] | None
    """What `authenticate` returned, for the graphs of this user's runs."""
    configurable: Mapping[str, Any]
    """Headers of the request that runs get in their configuration."""

    def __new__(
        cls,
        name: str,
        *,
        threads: Filter | None = None,
        assistants: Filter | None = None,
        crons: Filter | None = None,
        metadata: Mapping[str, Any] | None = None,
        unwanted: frozenset[str] = frozenset(),
        may_run: frozenset[str] | None = None,
        namespace: tuple[str, ...] | None = None,
        item: Mapping[str, Any] | None = None,
        items: Filter | None = None,
        user: Mapping[str, Any] | None = None,
        configurable: Mapping[str, Any] | None = None,
    ) -> Caller:
        made = super().__new__(cls, name)
        made.threads, made.assistants, made.crons = threads, assistants, crons
        made.metadata, made.namespace, made.user = metadata or {}, namespace, user
        made.configurable, made.item, made.items = configurable or {}, item or {}, items
        made.unwanted, made.may_run = unwanted, may_run
        return made

    def but(self, **changes: Any) -> Caller:
        """The caller with other filters, metadata and so on."""
        return Caller(str(self), **{**{name: getattr(self, name) for name in self.__slots__}, **changes})

    def filter_of(self, resource: Resource) -> Filter | None:
        found: Filter | None = getattr(self, resource)
        return found


def filter_of(owner: str | None, resource: Resource) -> Filter | None:
    """The filter that takes the place of the owner; None if there is none."""
    return owner.filter_of(resource) if isinstance(owner, Caller) else None


def stamped(owner: str | None, metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Metadata from a request, with what handlers want in it and without what they took out."""
    if not isinstance(owner, Caller):
        return dict(metadata or {})
    return {**{key: value for key, value in (metadata or {}).items() if key not in owner.unwanted}, **owner.metadata}


def read_filter(content: Mapping[str, Any]) -> Filter:
    """A filter as LangGraph's handlers return it. Raises `InvalidRequestError` for one that cannot be applied: it must not be ignored."""
    found = _read(content, 1)
    if _count(found) > _MAX_CONDITIONS:
        raise InvalidRequestError(f"The filter has more than {_MAX_CONDITIONS} conditions.")
    return found


def _read(content: object, depth: int) -> Filter:
    if not isinstance(content, Mapping):
        raise InvalidRequestError(f"A filter is an object such as {{'owner': 'anna'}}, not {type(content).__name__}.")
    if depth > _DEEPEST:
        raise InvalidRequestError(f"The filter is nested more than {_DEEPEST} deep.")
    return Every(tuple(part for key, value in content.items() for part in _conditions(key, value, depth)))


def _conditions(key: object, value: object, depth: int) -> list[Filter]:
    if not isinstance(key, str):
        raise InvalidRequestError("The keys of a filter are names of metadata.")
    if key in ("$and", "$or"):
        if not isinstance(value, list | tuple) or not value:
            raise InvalidRequestError(f"'{key}' in a filter takes a list of filters.")
        parts = tuple(_read(part, depth + 1) for part in value)
        return [Every(parts) if key == "$and" else Either(parts)]
    if key.startswith("$"):
        raise InvalidRequestError(f"A filter cannot use '{key}'. There are $and and $or, and for a value $eq and $contains.")
    if not isinstance(value, Mapping):
        return [Equals(key, value)]
    if not value:
        return [Equals(key, {})]
    return [_operation(key, operator, operand) for operator, operand in value.items()]


def _operation(key: str, operator: object, operand: Any) -> Filter:
    if operator == "$eq":
        return Equals(key, operand)
    if operator == "$contains":
        return Holds(key, tuple(operand) if isinstance(operand, list | tuple | set) else (operand,))
    raise InvalidRequestError(f"The filter on '{key}' uses '{operator}'. There are $eq and $contains.")


def item_condition(found: Filter) -> dict[str, Any]:
    """A filter as a search of the store takes it."""
    match found:
        case Equals(key, value):
            return {key: {"$eq": value}}
        case Holds(key, values):
            return {key: {"$contains": list(values)}}
        case Every(parts):
            return {"$and": [item_condition(part) for part in parts]}
        case Either(parts):
            return {"$or": [item_condition(part) for part in parts]}


def filter_to_json(found: Filter) -> list[Any]:
    """A filter to store, where a caller's later work needs it."""
    match found:
        case Equals(key, value):
            return ["equals", key, value]
        case Holds(key, values):
            return ["holds", key, list(values)]
        case Every(parts):
            return ["every", *map(filter_to_json, parts)]
        case Either(parts):
            return ["either", *map(filter_to_json, parts)]


def filter_from_json(stored: Sequence[Any]) -> Filter:
    match stored:
        case ["equals", key, value]:
            return Equals(key, value)
        case ["holds", key, values]:
            return Holds(key, tuple(values))
        case ["every", *parts]:
            return Every(tuple(map(filter_from_json, parts)))
        case ["either", *parts]:
            return Either(tuple(map(filter_from_json, parts)))
        case _:
            raise ValueError("not a stored filter")


def _count(found: Filter) -> int:
    return sum(map(_count, found.parts)) if isinstance(found, Every | Either) else 1
