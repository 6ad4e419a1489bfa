"""`http` in langgraph.json: routes of the project beside ours, which of ours are off, and which headers are used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from stepwell.errors import ConfigurationError
from stepwell.runs.graphs.project.objects import read_flags, read_object, read_target, read_texts, refuse_unknown
from stepwell.runs.graphs.sources import GraphSpec

Part = Literal["assistants", "threads", "runs", "store", "meta", "mcp", "a2a", "webhooks", "ui", "event_streaming"]
PARTS: tuple[Part, ...] = ("assistants", "threads", "runs", "store", "meta", "mcp", "a2a", "webhooks", "ui", "event_streaming")
_FLAGS = (*(f"disable_{part}" for part in PARTS), "enable_custom_route_auth")
_KNOWN = ("app", "cors", "configurable_headers", "logging_headers", "mount_prefix", "middleware_order", *_FLAGS)
_NOBODY = ("https://x.invalid", "http://x.invalid", "https://x.invalid:1", "https://another-site.com", "null")
_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)+")
_HEALTH = ("/ok", "/ready", "/metrics")
_CORS = (
    *("allow_origins", "allow_methods", "allow_headers", "expose_headers"),
    *("allow_credentials", "allow_origin_regex", "max_age"),
)


@dataclass(frozen=True)
class HeaderChoice:
    """Names of headers, in patterns such as `x-*`. Without `includes`, there are none."""

    includes: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()

    def takes(self, name: str) -> bool:
        return not _any_fits(name, self.excludes) and _any_fits(name, self.includes)


@dataclass(frozen=True)
class ProjectCors:
    """Which pages of other origins may use the server, as Starlette's `CORSMiddleware` takes it."""

    allow_origins: tuple[str, ...] = ()
    allow_origin_regex: str | None = None
    allow_methods: tuple[str, ...] = ()
    allow_headers: tuple[str, ...] = ()
    expose_headers: tuple[str, ...] = ()
    allow_credentials: bool = False
    max_age: int = 600


@dataclass(frozen=True)
class ProjectHttp:
    """What the project changes about HTTP. The default changes nothing."""

    app: GraphSpec | None = None
    disabled: frozenset[Part] = frozenset()
    cors: ProjectCors | None = None
    configurable_headers: HeaderChoice | None = None
    logging_headers: HeaderChoice | None = None
    mount_prefix: str = ""
    """The page and the forms to sign in only work at the root of an address, so below a prefix they are not served."""
    auth_on_app: bool = False
    """Whether requests to the project's own routes need credentials too."""
    auth_first: bool = False
    """Whether a caller is identified before the project's middleware runs."""

    @property
    def has_page(self) -> bool:
        return "ui" not in self.disabled and not self.mount_prefix


def read_http(content: Mapping[str, Any], file: str) -> ProjectHttp:
    http = read_object(content, "http", file)
    refuse_unknown(http, "http", _KNOWN, file)
    flags = read_flags(http, "http", _FLAGS, file)
    order = http.get("middleware_order", "middleware_first")
    if order not in ("auth_first", "middleware_first", None):
        raise ConfigurationError(f"'http.middleware_order' in '{file}' must be \"auth_first\" or \"middleware_first\".")
    return ProjectHttp(
        app=read_target(http.get("app"), "http.app", file),
        disabled=frozenset(part for part in PARTS if flags[f"disable_{part}"]),
        cors=_read_cors(http, file),
        configurable_headers=_read_headers(http, "configurable_headers", file),
        logging_headers=_read_headers(http, "logging_headers", file),
        mount_prefix=_read_prefix(http, file),
        auth_on_app=flags["enable_custom_route_auth"],
        auth_first=order == "auth_first",
    )


def _read_headers(http: Mapping[str, Any], name: str, file: str) -> HeaderChoice | None:
    choice = read_object(http, name, file, within="http")
    if not choice:
        return None
    key = f"http.{name}"
    refuse_unknown(choice, key, ("includes", "excludes", "include", "exclude"), file)
    includes, excludes = (choice.get(f"{way}s", choice.get(way)) for way in ("include", "exclude"))
    return HeaderChoice(
        tuple(each.lower() for each in read_texts(includes, f"{key}.includes", file)),
        tuple(each.lower() for each in read_texts(excludes, f"{key}.excludes", file)),
    )


def _read_prefix(http: Mapping[str, Any], file: str) -> str:
    prefix = http.get("mount_prefix") or ""
    if prefix and (not isinstance(prefix, str) or not prefix.startswith("/") or prefix.endswith("/") or "//" in prefix):
        raise ConfigurationError(
            f"'http.mount_prefix' in '{file}' must begin with / and not end with it, such as \"/agents/v1\"."
        )
    if prefix and (not _PREFIX.fullmatch(prefix) or {".", ".."} & set(prefix.split("/"))):
        raise ConfigurationError(
            f"'http.mount_prefix' in '{file}' may only contain letters, digits and - . _ ~ between its slashes, such as \"/agents/v1\"."
        )
    if prefix in _HEALTH:
        raise ConfigurationError(
            f"'http.mount_prefix' in '{file}' is '{prefix}', where health checks are answered. Choose another, such as \"/agents\"."
        )
    return str(prefix)


def _read_cors(http: Mapping[str, Any], file: str) -> ProjectCors | None:
    cors = read_object(http, "cors", file, within="http")
    if not cors:
        return None
    refuse_unknown(cors, "http.cors", _CORS, file)
    lists = {name: read_texts(cors.get(name), f"http.cors.{name}", file) for name in _CORS[:4]}
    credentials, regex, age = cors.get("allow_credentials", False), cors.get("allow_origin_regex"), cors.get("max_age", 600)
    if not isinstance(credentials, bool):
        raise ConfigurationError(f"'http.cors.allow_credentials' in '{file}' must be true or false.")
    if not isinstance(regex, str | None) or isinstance(age, bool) or not isinstance(age, int):
        raise ConfigurationError(f"'http.cors' in '{file}': 'allow_origin_regex' is a text, and 'max_age' a whole number.")
    fits_anything = _fits_anything(regex, file)
    if credentials and ("*" in lists["allow_origins"] or fits_anything):
        raise ConfigurationError(
            f"'http.cors' in '{file}' allows every origin to send credentials, so any page could act for its visitor. Name the origins."
        )
    return ProjectCors(
        allow_origins=lists["allow_origins"],
        allow_origin_regex=regex,
        allow_methods=lists["allow_methods"],
        allow_headers=lists["allow_headers"],
        expose_headers=lists["expose_headers"],
        allow_credentials=credentials,
        max_age=age,
    )


def _fits_anything(regex: str | None, file: str) -> bool:
    """Whether a pattern of origins fits one that nobody can have meant."""
    try:
        pattern = re.compile(regex) if regex else None
    except re.error as error:
        raise ConfigurationError(f"'http.cors.allow_origin_regex' in '{file}' is not a regular expression: {error}.") from error
    return pattern is not None and any(pattern.fullmatch(origin) for origin in _NOBODY)


def _any_fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name.lower(), pattern) for pattern in patterns)
