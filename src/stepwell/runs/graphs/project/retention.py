"""`checkpointer.ttl` of a langgraph.json: how long threads live without being used.

```
"checkpointer": {"ttl": {"strategy": "delete", "default_ttl": 43200, "sweep_interval_minutes": 60, "sweep_limit": 10000}}
```
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from stepwell.database.types import TtlStrategy
from stepwell.database.upkeep.expiry import ThreadRule
from stepwell.errors import ConfigurationError
from stepwell.runs.graphs.project.objects import read_minutes, refuse_unknown

_STRATEGIES = ("delete", "keep_latest")
_SWEEP_MINUTES = 60.0
_SHORTEST_SWEEP = 0.1


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
    refuse_unknown(ttl, "checkpointer.ttl", ("strategy", "default_ttl", "sweep_interval_minutes", "sweep_limit"), file)
    strategy = ttl.get("strategy") or "delete"
    if strategy not in _STRATEGIES:
        raise ConfigurationError(f"'checkpointer.ttl.strategy' in '{file}' must be \"delete\" or \"keep_latest\".")
    minutes = read_minutes(ttl, "checkpointer.ttl", "default_ttl", file)
    sweep = read_minutes(ttl, "checkpointer.ttl", "sweep_interval_minutes", file, _SHORTEST_SWEEP) or _SWEEP_MINUTES
    limit = ttl.get("sweep_limit")
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise ConfigurationError(f"'checkpointer.ttl.sweep_limit' in '{file}' must be a number of threads above 0.")
    if minutes is None:
        return None  # only threads with a time of their own expire
    return ThreadRule(minutes, cast(TtlStrategy, strategy), sweep * 60, limit or ThreadRule.sweep_limit)
