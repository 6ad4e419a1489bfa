"""`checkpointer.ttl` of a langgraph.json: how long threads live without being used.

```
"checkpointer": {"ttl": {"strategy": "delete", "default_ttl": 43200, "sweep_interval_minutes": 60, "sweep_limit": 10000}}
```
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

from stepwell.database.types import TtlStrategy
from stepwell.database.upkeep.expiry import ThreadRule
from stepwell.errors import ConfigurationError

_STRATEGIES = ("delete", "keep_latest")
_SWEEP_MINUTES = 60.0


def read_retention(content: Mapping[str, Any], file: str) -> ThreadRule | None:
    """Read and check the key; `ConfigurationError` names what is wrong and what to write. None if threads do not expire by a rule."""
    checkpointer = content.get("checkpointer")
    ttl = checkpointer.get("ttl") if isinstance(checkpointer, Mapping) else None
    if ttl is None:
        return None
    if not isinstance(ttl, Mapping):
        raise ConfigurationError(
            f'\'checkpointer.ttl\' in \'{file}\' must be an object, such as {{"strategy": "delete", "default_ttl": 43200}}.'
        )
    strategy = ttl.get("strategy") or "delete"
    if strategy not in _STRATEGIES:
        raise ConfigurationError(f"'checkpointer.ttl.strategy' in '{file}' must be \"delete\" or \"keep_latest\".")
    minutes = _minutes(ttl, "default_ttl", file)
    sweep = _minutes(ttl, "sweep_interval_minutes", file) or _SWEEP_MINUTES
    limit = ttl.get("sweep_limit")
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise ConfigurationError(f"'checkpointer.ttl.sweep_limit' in '{file}' must be a number of threads above 0.")
    if minutes is None:
        return None  # only threads with a time of their own expire
    return ThreadRule(minutes, cast(TtlStrategy, strategy), sweep * 60, limit or ThreadRule.sweep_limit)


def _minutes(ttl: Mapping[str, Any], key: str, file: str) -> float | None:
    value = ttl.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        raise ConfigurationError(f"'checkpointer.ttl.{key}' in '{file}' must be a number of minutes above 0.")
    return float(value)
