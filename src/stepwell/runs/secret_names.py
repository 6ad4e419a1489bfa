"""Names that say of their value that it is a secret. A request's `configurable` may hold such values: a run needs them while it is
driven, but they are neither shown, nor kept in checkpoints, nor kept with the run once it has ended."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_SECRET = re.compile(
    r"(^|[_\-.])((api|access|private|secret)[_\-]?key|apikey|token|secret|password|passwd|authorization|credentials?|cookie)$",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    return _SECRET.search(name) is not None


def without_secrets(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values whose names do not call them secret."""
    return {name: value for name, value in values.items() if not is_secret_name(name)}
