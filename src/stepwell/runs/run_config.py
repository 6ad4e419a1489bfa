"""The contents of a run's configuration: the run's user, the context for its graph, and what clients may see of it.

**The user** is in `configurable["langgraph_auth_user"]`, where graphs written for LangGraph's server look for it. Rule to keep: it is made
from the run's owner, which the server has determined. Names that begin with `USER_PREFIX` are never accepted from a caller, who could
otherwise pose as another user inside a graph.

**The context.** LangGraph's older clients send `config.configurable` and newer ones `context`; a run has both, with the same content
(`starting`). So the context may contain names that are meant for other code, and only the names that the graph's `context_schema` declares
reach the graph:

| `context_schema` | the graph gets |
|---|---|
| a dataclass or a pydantic model | always an instance, with defaults for what is missing; a missing field without a default ends the run |
| a TypedDict | an object, or `None` if nothing was given |
| none | everything that was given, or `None` |

**What clients may see.** A request's `configurable` may contain keys, and LangGraph adds its own and copies everything into every
checkpoint's metadata. So of `configurable` only a checkpoint's address is shown. Of metadata everything is shown except LangGraph's and our
own bookkeeping, and values whose names mark them as secret. The same rule applies to streams and to a thread's state.
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
    """A plain object, so that a graph may store it in its state, with the attributes of LangGraph's `BaseUser`."""

    def __init__(self, identity: str, known: Mapping[str, Any] | None = None) -> None:
        """`known` is what a project's `authenticate` says about the user."""
        defaults = {"identity": identity, "display_name": identity, "is_authenticated": True, "permissions": []}
        super().__init__({**defaults, **(known or {}), "identity": identity})

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"The user has no '{name}'.") from None

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
        return list(self["permissions"] or ())


def describe_user(owner: str, known: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What a graph finds in `configurable` about its user. `known` is what a project's `authenticate` says about the user."""
    user = RunUser(owner, known)
    return {
        "user_id": owner,
        f"{USER_PREFIX}user": user,
        f"{USER_PREFIX}user_id": owner,
        f"{USER_PREFIX}permissions": list(user.permissions),
    }


def context_for(schema: Any, given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The context to pass to LangGraph, which turns it into the schema's object."""
    known = _known_names(schema)
    chosen = {name: value for name, value in (given or {}).items() if known is None or name in known}
    return chosen if chosen or _has_defaults(schema) else None


def _known_names(schema: Any) -> frozenset[str] | None:
    """The names the schema declares; `None` if it accepts any."""
    if isinstance(schema, type) and is_dataclass(schema):
        return frozenset(field.name for field in fields(schema) if field.init)
    if _is_model(schema) and schema.model_config.get("extra") == "forbid":  # other models ignore unknown names themselves
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
    """`{"configurable": {thread_id, checkpoint_ns, checkpoint_id, checkpoint_map}}`, with those of the keys that are present."""
    return None if config is None else {"configurable": checkpoint_place(config)}


def checkpoint_place(config: Mapping[str, Any]) -> dict[str, Any]:
    """A checkpoint's address, in the form in which clients send it back, and nothing else of the config."""
    configurable = config.get("configurable") or {}
    return {key: configurable[key] for key in _CHECKPOINT_KEYS if configurable.get(key) is not None}


def _is_internal(name: str) -> bool:
    return name in _INTERNAL or name.startswith(_INTERNAL_PREFIXES)
