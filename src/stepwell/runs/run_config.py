"""Whose run it is, in the form in which graphs written for LangGraph's server ask: `configurable["langgraph_auth_user"]`.

Rule to keep: it is made from the run's owner, which the server has found out. Names that begin with `PREFIX` are never taken over from
a caller, or whoever sends one could pass for somebody else inside a graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel
from typing_extensions import is_typeddict

from stepwell.secrets.names import is_secret_name
from stepwell.secrets.text import hide_secrets
from stepwell.secrets.values import without_secrets

PREFIX = "langgraph_auth_"


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
    return {"user_id": owner, f"{PREFIX}user": RunUser(owner), f"{PREFIX}user_id": owner, f"{PREFIX}permissions": []}


# What a graph gets as `runtime.context`, from the context that its run was given.
#
# LangGraph's older clients send `config.configurable` and newer ones `context`; a run has both, saying the same (`starting`). So the
# context may hold names that are meant for somebody else, and only those that the graph's `context_schema` declares reach it:
#
# | `context_schema` | the graph gets |
# |---|---|
# | a dataclass or a pydantic model | always one, with its defaults for what was not given; a missing field that has none ends the run |
# | a TypedDict | an object, or `None` when nothing was given |
# | none | all that was given, or `None` |


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


# What of a run's configuration clients may see: LangGraph puts its own, and a request's `configurable` may hold keys.
#
# Of `configurable` only the place of a checkpoint is shown. Of metadata everything is shown but LangGraph's and our internals
# and what its name calls a secret.


SECRETS = "__stepwell_secrets"
"""The name in `configurable` under which a run's own secrets are known to its saver; no caller can set it."""

_CHECKPOINT_KEYS = ("thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint_map")
_INTERNAL_PREFIXES = ("__", PREFIX, "langgraph_request_")
_INTERNAL = frozenset({"langgraph_path", "lc_versions"})


def public_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """The metadata of a message, a task or a checkpoint, without what is nobody's business."""
    return {name: _shown(value) for name, value in (metadata or {}).items() if not _hidden(name)}


def public_config(config: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """`{"configurable": {thread_id, checkpoint_ns, checkpoint_id, checkpoint_map}}`, as far as they are there."""
    if config is None:
        return None
    return {"configurable": checkpoint_place(config)}


def checkpoint_place(config: Mapping[str, Any]) -> dict[str, Any]:
    """Where a checkpoint is, in the form in which clients send it back."""
    configurable = config.get("configurable") or {}
    return {key: configurable[key] for key in _CHECKPOINT_KEYS if key in configurable}


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return hide_secrets(value)
    return without_secrets(value) if isinstance(value, dict) else value


def _hidden(name: str) -> bool:
    return name in _INTERNAL or name.startswith(_INTERNAL_PREFIXES) or is_secret_name(name)
