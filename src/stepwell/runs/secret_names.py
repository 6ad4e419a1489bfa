"""Names that say of their value that it is a secret. A request's `configurable` and `context` may hold such values, at any depth: a
run needs them while it is driven, but they are neither shown, nor kept in checkpoints, nor kept with the run once it has ended.

A name is read as words: `openai_api_key`, `OPENAI-API-KEY` and `openaiApiKey` are the same three. What a secret looks like in
running text is `secret_text`'s affair.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET_WORDS = frozenset((
    "token", "secret", "secrets", "password", "passwords", "passwd", "pwd", "passphrase", "authorization", "auth", "bearer", "jwt",
    "credential", "credentials", "cookie", "cookies", "apikey", "apikeys",
))  # fmt: skip
_KEY = frozenset(("api", "access", "private", "secret", "auth", "signing", "encryption", "session"))
_TOKENS = frozenset(("api", "access", "auth", "bearer", "id", "refresh", "session"))
_AFTER: Mapping[str, frozenset[str]] = {
    "key": _KEY,
    "keys": _KEY,
    "tokens": _TOKENS,
    "header": frozenset(("auth", "authorization")),
}
"""Words that say little alone (`sort_key`, `max_tokens`) -> the words after which they are secret."""
_SHORTEST_VALUE = 6
"""A shorter secret is none, and hiding it in a text would tear holes into words."""


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name[-100:])]
    return bool(words) and (words[-1] in _SECRET_WORDS or bool(_AFTER.get(words[-1], frozenset()).intersection(words[-2:-1])))


def without_secrets(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values whose names do not call them secret, inside of objects and lists too."""
    return {name: _clean(value) for name, value in values.items() if not is_secret_name(str(name))}


def secret_values(*given: Any) -> frozenset[str]:
    """The texts that stand under a secret name somewhere in what is given. For taking them out of errors and logs."""
    return frozenset(text for value in given for text in _secrets_in(value, secret=False) if len(text) >= _SHORTEST_VALUE)


def _clean(value: Any) -> Any:
    if isinstance(value, Mapping):
        return without_secrets(value)
    return [_clean(each) for each in value] if isinstance(value, list) else value


def _secrets_in(value: Any, *, secret: bool) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _secrets_in(inner, secret=secret or is_secret_name(str(name)))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _secrets_in(inner, secret=secret)
    elif secret and isinstance(value, str):
        yield value.strip()
        # 'Bearer abc': the second word alone is the secret too.
        yield value.strip().rpartition(" ")[2]
