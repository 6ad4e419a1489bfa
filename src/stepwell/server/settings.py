"""The server's settings: one frozen value, from the environment and the command line. `docs/reference/environment.md` lists them.

```
reachable from elsewhere?        who must sign in
no  (loopback, local hosts)      nobody: all requests are the local user's        STEPWELL_AUTH=required requires it anyway
yes                              everybody; the server does not start without keys or a token issuer
yes, with --insecure             nobody
a project with `auth`            everybody, as the project's own code decides
```

A loopback server also counts as reachable if STEPWELL_ALLOWED_HOSTS or STEPWELL_PUBLIC_URL names another host: it is then behind a
proxy that others can reach.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args
from urllib.parse import urlsplit

from stepwell.addresses import DEFAULT_HOST, DEFAULT_PORT
from stepwell.errors import ConfigurationError
from stepwell.runs.graphs.project.webhooks import ProjectWebhooks
from stepwell.runs.webhooks.rules import WebhookRules
from stepwell.server.addresses import EVERYTHING, LOCAL_HOSTS, read_network
from stepwell.settings import Secret
from stepwell.variables import Variables, is_loopback

LogFormat = Literal["auto", "json", "text"]
LogLevel = Literal["debug", "info", "warning", "error"]

MAX_RUN_TIMEOUT_S = 30 * 24 * 3600
ASYMMETRIC = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})


@dataclass(frozen=True)
class JwtSettings:
    """The issuer whose tokens are accepted. Without `jwks_url`, we read it from the issuer's discovery document."""

    issuer: str
    audience: str
    jwks_url: str | None = None
    algorithms: tuple[str, ...] = ("RS256", "ES256")
    user_claim: str = "sub"
    operator_claim: str | None = None
    operator_value: str = "true"
    roots_claim: str | None = None
    """The claim that lists the workspace roots a user may work in; `read_roots_claim` is for read-only roots."""
    read_roots_claim: str | None = None
    leeway_s: int = 30


@dataclass(frozen=True)
class OidcSettings:
    """Signing in at the issuer of `JwtSettings`, for the page."""

    client_id: str
    client_secret: Secret | None = None
    scopes: str = "openid"


@dataclass(frozen=True)
class ServerSettings:
    """The defaults suit a server for one person on one machine."""

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    public_url: str | None = None
    """The server's public address, if it is behind a proxy."""
    extra_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    """Addresses and networks of proxies whose forwarding headers we trust; `*` trusts every connection."""
    cors_origins: tuple[str, ...] = ()
    insecure: bool = False
    always_ask: bool = False
    own_auth: bool = False
    """Whether the project that is served decides who calls (`auth` in langgraph.json)."""
    jwt: JwtSettings | None = None
    oidc: OidcSettings | None = None
    session_hours: int = 24
    body_limit_bytes: int = 8 * 1024 * 1024
    bodies_limit_bytes: int | None = None
    json_depth_limit: int = 100
    json_items_limit: int = 200_000
    json_messages_limit: int = 10_000
    max_active_runs: int | None = None
    max_streams: int | None = None
    max_file_bytes: int = 1024**3
    """The largest file that can be uploaded to a workspace."""
    tenant_max_runs: int | None = None
    """Limit on a tenant's queued and active runs, over all its users."""
    tenant_max_bytes: int | None = None
    """Limit on the bytes in a tenant's workspaces."""
    tenant_max_operations: int | None = None
    """Limit on a tenant's file requests per minute."""
    run_timeout_s: int | None = None
    """How long a run may work before it is stopped; time spent waiting for a person does not count."""
    refuse_bare_answers: bool = False
    """Answers must name their interrupt."""
    power_loss: bool = False
    """Every write reaches the disk before it is confirmed, so that it survives a power failure."""
    webhook_allow: tuple[str, ...] = ()
    webhook_http: bool = False
    webhook_secret: Secret | None = None
    project_webhooks: ProjectWebhooks = field(default_factory=ProjectWebhooks)
    """What the project that is served asks of webhooks (`webhooks` in langgraph.json)."""
    retention_days: int | None = None
    retention_checkpoints: int | None = None
    min_free_mb: int | None = None
    """No new runs while the database's disk has less free space than this."""
    log_format: LogFormat = "auto"
    log_level: LogLevel = "info"
    drain_s: int = 10
    """How long a stopping server lets runs finish; the next server resumes the rest."""
    database_wait_s: int = 30
    """How long a starting server waits for an unavailable Postgres database."""
    notice_s: int = 0
    """How long a stopping server keeps serving while it reports not ready, so that load balancers can switch to other servers."""

    @property
    def reachable(self) -> bool:
        """Whether other people than this machine's user may be able to send requests."""
        return not all(is_loopback(host) for host in (self.host, *self.extra_hosts, *self._public_host))

    @property
    def asks_who(self) -> bool:
        """Whether requests need credentials."""
        return self.always_ask or self.own_auth or self.jwt is not None or (self.reachable and not self.insecure)

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        """The accepted values of the `Host` header, without a port. `*` accepts all."""
        everywhere = self.host in ("0.0.0.0", "::", "")  # noqa: S104 - compared, not bound
        if everywhere and self.asks_who and not self.extra_hosts and not self.public_url:
            # The list protects servers without sign-in. With sign-in, a page that rebinds a host name has no key and no cookie for it.
            return ("*",)
        bound = () if everywhere else (_bracket(self.host),)
        return tuple(dict.fromkeys((*LOCAL_HOSTS, *bound, *self.extra_hosts, *self._public_host)))

    @property
    def bodies_at_once_bytes(self) -> int:
        """Limit on the memory for all request bodies that are being received."""
        return max(self.bodies_limit_bytes or 16 * self.body_limit_bytes, self.body_limit_bytes)

    @property
    def max_active_runs_per_owner(self) -> int | None:
        return self.max_active_runs or (100 if self.asks_who else None)

    @property
    def max_streams_per_owner(self) -> int | None:
        return self.max_streams or (100 if self.asks_who else None)

    @property
    def webhook_rules(self) -> WebhookRules:
        """Where webhooks may go. Includes this machine if only its user can reach the server: the user can call it anyway."""
        local = () if self.reachable or self.asks_who else ("127.0.0.0/8", "::1")
        rules = WebhookRules.allowing((*self.webhook_allow, *local), allow_http=self.webhook_http, secret=self.webhook_secret)
        return rules.narrowed_by(self.project_webhooks)

    @property
    def _public_host(self) -> tuple[str, ...]:
        return (_bracket(urlsplit(self.public_url).hostname or ""),) if self.public_url else ()

    @classmethod
    def load(
        cls,
        variables: Mapping[str, str],
        *,
        host: str | None = None,
        port: int | None = None,
        insecure: bool = False,
        run_timeout_s: int | None = None,
        power_loss: bool = False,
        drain_s: int | None = None,
    ) -> ServerSettings:
        """Reads the settings from the variables of `Settings.server`; the command line's arguments take precedence."""
        read = Variables(variables)
        jwt = _jwt(read)
        return cls(
            host=host or read.text("STEPWELL_HOST") or DEFAULT_HOST,
            port=read.whole("STEPWELL_PORT", DEFAULT_PORT, least=0, most=65535) if port is None else port,
            public_url=read.address("STEPWELL_PUBLIC_URL"),
            extra_hosts=tuple(name.lower() for name in read.listing("STEPWELL_ALLOWED_HOSTS")),
            trusted_proxies=_proxies(read.listing("STEPWELL_TRUSTED_PROXIES")),
            cors_origins=_origins(read.listing("STEPWELL_CORS_ORIGINS")),
            insecure=insecure,
            always_ask=read.choice("STEPWELL_AUTH", {"auto": False, "required": True}, False),
            jwt=jwt,
            oidc=_oidc(read, jwt),
            session_hours=read.whole("STEPWELL_SESSION_HOURS", 24, most=24 * 365),
            body_limit_bytes=read.whole("STEPWELL_BODY_LIMIT_BYTES", 8 * 1024 * 1024, least=1024),
            bodies_limit_bytes=read.whole("STEPWELL_BODIES_LIMIT_BYTES", None, least=1024),
            json_items_limit=read.whole("STEPWELL_JSON_ITEMS_LIMIT", 200_000, least=1000),
            json_messages_limit=read.whole("STEPWELL_JSON_MESSAGES_LIMIT", 10_000, least=10),
            json_depth_limit=read.whole("STEPWELL_JSON_DEPTH_LIMIT", 100, least=10, most=500),
            max_active_runs=read.whole("STEPWELL_MAX_ACTIVE_RUNS", None),
            max_streams=read.whole("STEPWELL_MAX_STREAMS", None),
            max_file_bytes=read.whole("STEPWELL_MAX_FILE_BYTES", 1024**3, least=1024, most=5 * 1024**3),
            tenant_max_runs=read.whole("STEPWELL_TENANT_MAX_RUNS", None),
            tenant_max_bytes=read.whole("STEPWELL_TENANT_MAX_BYTES", None),
            tenant_max_operations=read.whole("STEPWELL_TENANT_MAX_OPERATIONS_PER_MINUTE", None),
            run_timeout_s=run_timeout_s or read.whole("STEPWELL_RUN_TIMEOUT_S", None, most=MAX_RUN_TIMEOUT_S),
            refuse_bare_answers=read.choice("STEPWELL_BARE_ANSWERS", {"accept": False, "refuse": True}, False),
            power_loss=power_loss or read.switch("STEPWELL_POWER_LOSS"),
            webhook_allow=read.listing("STEPWELL_WEBHOOK_ALLOW"),
            webhook_http=read.switch("STEPWELL_WEBHOOK_HTTP"),
            webhook_secret=_secret(read.text("STEPWELL_WEBHOOK_SECRET")),
            retention_days=read.whole("STEPWELL_RETENTION_DAYS", None, most=36500),
            retention_checkpoints=read.whole("STEPWELL_RETENTION_CHECKPOINTS", None),
            min_free_mb=read.whole("STEPWELL_MIN_FREE_MB", None, least=0),
            log_format=read.choice("STEPWELL_LOG_FORMAT", {form: form for form in get_args(LogFormat)}, "auto"),
            log_level=read.choice("STEPWELL_LOG_LEVEL", {level: level for level in get_args(LogLevel)}, "info"),
            drain_s=read.whole("STEPWELL_DRAIN_SECONDS", 10, least=0, most=3600) if drain_s is None else drain_s,
            notice_s=read.whole("STEPWELL_NOTICE_SECONDS", 0, least=0, most=600),
            database_wait_s=read.whole("STEPWELL_DATABASE_WAIT_S", 30, least=0, most=3600),
        )


def require_sign_in(settings: ServerSettings, usable_keys: int) -> None:
    """Refuse to start a server that requires sign-in but has no key or token issuer to sign in with."""
    if settings.asks_who and not usable_keys and settings.jwt is None and not settings.own_auth:
        raise ConfigurationError(
            f"The server at '{settings.host}' requires sign-in, but has no API key and no token issuer. Create a key with "
            "`stepwell keys create --user NAME`, set STEPWELL_JWT_ISSUER and STEPWELL_JWT_AUDIENCE, or listen on 127.0.0.1 "
            "only. `--insecure` serves everybody as one user."
        )


def _proxies(listed: tuple[str, ...]) -> tuple[str, ...]:
    for each in listed:
        try:
            if each != EVERYTHING:
                read_network(each)
        except ValueError:
            raise ConfigurationError(
                f"STEPWELL_TRUSTED_PROXIES names '{each}'. It takes addresses (10.0.0.2), networks (10.0.0.0/8), or *."
            ) from None
    return listed


def _jwt(read: Variables) -> JwtSettings | None:
    issuer, audience = read.address("STEPWELL_JWT_ISSUER"), read.text("STEPWELL_JWT_AUDIENCE")
    if not issuer and not audience:
        return None
    if not issuer or not audience:
        raise ConfigurationError("STEPWELL_JWT_ISSUER and STEPWELL_JWT_AUDIENCE belong together: set both, or none.")
    algorithms = read.listing("STEPWELL_JWT_ALGORITHMS") or JwtSettings.algorithms
    if unfit := [name for name in algorithms if name not in ASYMMETRIC]:
        raise ConfigurationError(
            f"STEPWELL_JWT_ALGORITHMS names '{unfit[0]}'. Only signatures with a key pair can be checked: {', '.join(sorted(ASYMMETRIC))}."
        )
    return JwtSettings(
        # Unchanged, because an issuer is compared exactly, including a trailing slash.
        issuer=read.text("STEPWELL_JWT_ISSUER") or issuer,
        audience=audience,
        jwks_url=read.address("STEPWELL_JWT_JWKS_URL"),
        algorithms=algorithms,
        user_claim=read.text("STEPWELL_JWT_USER_CLAIM") or "sub",
        operator_claim=read.text("STEPWELL_JWT_OPERATOR_CLAIM"),
        operator_value=read.text("STEPWELL_JWT_OPERATOR_VALUE") or "true",
        roots_claim=read.text("STEPWELL_JWT_ROOTS_CLAIM"),
        read_roots_claim=read.text("STEPWELL_JWT_READ_ROOTS_CLAIM"),
    )


def _oidc(read: Variables, jwt: JwtSettings | None) -> OidcSettings | None:
    client_id = read.text("STEPWELL_OIDC_CLIENT_ID")
    if not client_id:
        return None
    if jwt is None:
        raise ConfigurationError(
            "STEPWELL_OIDC_CLIENT_ID needs STEPWELL_JWT_ISSUER and STEPWELL_JWT_AUDIENCE: they say where to sign in."
        )
    secret = _secret(read.text("STEPWELL_OIDC_CLIENT_SECRET"))
    return OidcSettings(client_id, secret, read.text("STEPWELL_OIDC_SCOPES") or "openid")


def _origins(listed: tuple[str, ...]) -> tuple[str, ...]:
    for origin in listed:
        parts = urlsplit(origin)
        if origin == "*" or parts.scheme not in ("http", "https") or not parts.netloc or parts.path or parts.query:
            raise ConfigurationError(
                f"STEPWELL_CORS_ORIGINS names '{origin}'. Write whole origins, without a path: https://app.example"
            )
    return listed


def _bracket(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host.lower()


def _secret(text: str | None) -> Secret | None:
    return Secret(text) if text else None
