"""What a run's configuration holds: whose run it is, what its graph gets as context, and what of it clients may see.

**Whose run it is** stands in `configurable["langgraph_auth_user"]`, where graphs written for LangGraph's server look for it. Rule to keep:
it is made from the run's owner, which the server has found out. Names that begin with `USER_PREFIX` are never taken from a caller, or
whoever sends one could pass for somebody else inside a graph.

**The context.** LangGraph's older clients send `config.configurable` and newer ones `context`; a run has both, saying the same
(`starting`). So the context may hold names that are meant for somebody else, and only those that the graph's `context_schema` declares
reach it:

| `context_schema` | the graph gets |
|---|---|
| a dataclass or a pydantic model | always one, with its defaults for what was not given; a missing field that has none ends the run |
| a TypedDict | an object, or `None` when nothing was given |
| none | all that was given, or `None` |

**What clients may see.** A request's `configurable` may hold keys, and LangGraph adds its own and copies all of it into every checkpoint's
metadata. So of `configurable` only the place of a checkpoint is shown; of metadata everything but LangGraph's and our own bookkeeping and
what its name calls a secret. This holds for streams and for the state of a thread alike: there is no second rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel
from typing_extensions import is_typeddict

from stepwell.secrets.values import without_secrets

USER_PREFIX = "langgraph_auth_"
_CHECKPOINT_KEYS = ("thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint_map")
_INTERNAL_PREFIXES = ("__", USER_PREFIX, "langgraph_request_")
_INTERNAL = frozenset({"langgraph_path", "lc_versions", "writes", "counters_since_delta_snapshot", "lease", "fence"})


class RunUser(dict[str, Any]):
    """A plain object, so that a graph may keep it in its state, with the attributes that LangGraph's `BaseUser` has."""

    def __init__(self, identity: str) -> None:
        super().__init__(identity=identity, display_name=identity, is_authenticated=True, permissions=[])

    @property
    def identity(self) -> str:
        return str(self["identity"])

    @property
    def display_name(self) -> str:
        return str(self["display_name"])

    @property
    def is_authenticated(self) -> bool:
        return bool(self["is_authenticated"])

    @property
    def permissions(self) -> Sequence[str]:
        return list(self["permissions"])


def describe_user(owner: str) -> dict[str, Any]:
    """What a graph finds in `configurable` about its user."""
    return {
        "user_id": owner,
        f"{USER_PREFIX}user": RunUser(owner),
        f"{USER_PREFIX}user_id": owner,
        f"{USER_PREFIX}permissions": [],
    }


def context_for(schema: Any, given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The context to hand to LangGraph, which makes the schema's object of it."""
    known = _known_names(schema)
    chosen = {name: value for name, value in (given or {}).items() if known is None or name in known}
    return chosen if chosen or _has_defaults(schema) else None


def _known_names(schema: Any) -> frozenset[str] | None:
    """The names that the schema declares; `None` when it takes any."""
    if isinstance(schema, type) and is_dataclass(schema):
        return frozenset(field.name for field in fields(schema) if field.init)
    if _is_model(schema) and schema.model_config.get("extra") == "forbid":  # otherwise it ignores what it does not know itself
        declared = schema.model_fields.items()
        return frozenset(text for name, field in declared for text in (name, field.validation_alias) if isinstance(text, str))
    if is_typeddict(schema):
        return frozenset(schema.__required_keys__ | schema.__optional_keys__)
    return None


def _has_defaults(schema: Any) -> bool:
    return _is_model(schema) or (isinstance(schema, type) and is_dataclass(schema))


def _is_model(schema: Any) -> bool:
    return isinstance(schema, type) and issubclass(schema, BaseModel)


def public_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """The metadata of a message, a task or a checkpoint, without what clients must not see."""
    return without_secrets({name: value for name, value in (metadata or {}).items() if not _is_internal(name)})


def public_config(config: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """`{"configurable": {thread_id, checkpoint_ns, checkpoint_id, checkpoint_map}}`, as far as they are there."""
    return None if config is None else {"configurable": checkpoint_place(config)}


def checkpoint_place(config: Mapping[str, Any]) -> dict[str, Any]:
    """Where a checkpoint is, in the form in which clients send it back, and nothing else of the config."""
    configurable = config.get("configurable") or {}
    return {key: configurable[key] for key in _CHECKPOINT_KEYS if configurable.get(key) is not None}


def _is_internal(name: str) -> bool:
    return name in _INTERNAL or name.startswith(_INTERNAL_PREFIXES)
