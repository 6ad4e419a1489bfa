"""What of a run's configuration clients may see: LangGraph puts its own, and a request's `configurable` may hold keys.

Of `configurable` only the place of a checkpoint is shown. Of metadata everything is shown but LangGraph's and our internals
and what its name calls a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepwell.runs.run_user import PREFIX
from stepwell.secrets.names import is_secret_name
from stepwell.secrets.text import hide_secrets
from stepwell.secrets.values import without_secrets

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
