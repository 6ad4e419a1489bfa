"""`auth` in langgraph.json: the project's own code decides who calls, and what they may do (`server/handlers`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stepwell.errors import ConfigurationError
from stepwell.runs.graphs.project.objects import read_flags, read_object, read_target, read_texts, refuse_unknown
from stepwell.runs.graphs.sources import GraphSpec

_KNOWN = ("path", "disable_studio_auth", "allow_langsmith_api_keys", "openapi", "cache")


@dataclass(frozen=True)
class AuthCache:
    """How long the result of `authenticate` is used again for requests whose headers of these names are the same."""

    headers: tuple[str, ...]
    ttl_s: float = 60.0
    max_entries: int = 1000


@dataclass(frozen=True)
class ProjectAuth:
    """Where the project's `langgraph_sdk.Auth` is."""

    target: GraphSpec
    cache: AuthCache | None = None
    openapi: Mapping[str, Any] = field(default_factory=dict)
    """Security schemes that the project wants in the OpenAPI document."""


def read_auth(content: Mapping[str, Any], file: str) -> ProjectAuth | None:
    """The key `auth`; None if the file has none. `disable_studio_auth` means nothing here: nobody signs in as LangSmith Studio."""
    auth = read_object(content, "auth", file)
    if content.get("auth") is None:
        return None
    refuse_unknown(auth, "auth", _KNOWN, file)
    flags = read_flags(auth, "auth", ("disable_studio_auth", "allow_langsmith_api_keys"), file)
    if flags["allow_langsmith_api_keys"]:
        raise ConfigurationError(
            f"'auth.allow_langsmith_api_keys' in '{file}' cannot be honoured: this server does not ask LangSmith who calls. Remove it, and "
            "let your own 'authenticate' accept these callers."
        )
    target = read_target(auth.get("path"), "auth.path", file)
    if target is None:
        raise ConfigurationError(
            f"'auth' in '{file}' has no 'path'. Write {{\"auth\": {{\"path\": \"./auth.py:auth\"}}}}, or remove it."
        )
    return ProjectAuth(target, _read_cache(auth, file), read_object(auth, "openapi", file, within="auth"))


def _read_cache(auth: Mapping[str, Any], file: str) -> AuthCache | None:
    cache = read_object(auth, "cache", file, within="auth")
    if not cache:
        return None
    refuse_unknown(cache, "auth.cache", ("cache_keys", "ttl_seconds", "max_size"), file)
    headers = tuple(name.lower() for name in read_texts(cache.get("cache_keys"), "auth.cache.cache_keys", file))
    if not headers:
        raise ConfigurationError(
            f"'auth.cache' in '{file}' has no 'cache_keys'. Name every header that 'authenticate' reads, such as [\"authorization\"]."
        )
    ttl, most = cache.get("ttl_seconds", 60), cache.get("max_size", 1000)
    for name, value in (("ttl_seconds", ttl), ("max_size", most)):
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0 or int(value) < (name == "max_size"):
            raise ConfigurationError(f"'auth.cache.{name}' in '{file}' must be a number above 0.")
    return AuthCache(headers, float(ttl), int(most))
