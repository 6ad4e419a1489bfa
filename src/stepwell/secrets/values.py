"""Finds secrets in a run's input. A request's `configurable` and `context` may contain secrets, at any depth: a run needs them while it is
driven, but they are neither shown, nor stored in checkpoints, nor stored with the run once it has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stepwell.secrets.names import is_secret
from stepwell.secrets.text import hide_secrets, secrets_of_address

SECRETS_KEY = "__stepwell_secrets"
"""The key in `configurable` under which a run's saver finds the run's own secrets; no caller can set it."""
_SHORTEST_VALUE = 6
"""Shorter values are not removed from texts: that would delete parts of ordinary words."""


def without_secrets(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values whose names are not secret, inside objects and lists too; secrets of a known form are hidden in them."""
    return {name: _clean(value) for name, value in values.items() if not is_secret(str(name), value)}


def secret_values(*given: Any) -> frozenset[str]:
    """The texts under a secret name anywhere in the input, and the secrets in its URLs. Used to remove them from errors and logs."""
    return frozenset(text for value in given for text in _secrets_in(value, secret=False) if len(text) >= _SHORTEST_VALUE)


def _clean(value: Any) -> Any:
    if isinstance(value, Mapping):
        return without_secrets(value)
    if isinstance(value, list | tuple):
        return [_clean(each) for each in value]
    return hide_secrets(value) if isinstance(value, str) else value


def _secrets_in(value: Any, *, secret: bool) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _secrets_in(inner, secret=secret or is_secret(str(name), inner))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _secrets_in(inner, secret=secret)
    elif isinstance(value, str):
        yield from secrets_of_address(value)
        if secret:
            yield value.strip()
            # 'Bearer abc': the second word alone is a secret too.
            yield value.strip().rpartition(" ")[2]
