"""Settings from the environment. The only module that reads environment variables and `.env`.

Importing this module reads nothing; `Settings.load()` reads once and returns a frozen value to pass on. It makes no choices, and
values are validated only when they are used; `stepwell.models` decides which model the settings mean.

```
Settings.load()                      process environment, over `.env` in the working directory
Settings.load({...})                 only this mapping: ignores the process environment and `.env`
Settings.load({...}, dotenv=path)    this mapping, over that file
```

Rules to keep:
- The first layer wins: a variable in the environment, even an empty one, hides the one in `.env`. An empty value counts as not
  set.
- `.env` is never copied into the process environment. Provider SDKs read the environment themselves, so we pass a key that is
  not in the environment to them as an argument (`ProviderAccess.handed_over`).
- A provider's address is taken only from the layer that holds its key. Otherwise a `.env` in another person's folder could send the
  user's own key to any server.
- No secret appears in `repr`, in a log or in an error.

The functions at the end read or change the process environment for native code, child processes and served projects, so that no other
module has to.
"""

from __future__ import annotations

import os
import sys
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from stepwell.errors import ConfigurationError

PROVIDER_VARIABLES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "anthropic": (("ANTHROPIC_API_KEY",), ("ANTHROPIC_API_URL", "ANTHROPIC_BASE_URL")),
    "openai": (("OPENAI_API_KEY",), ("OPENAI_API_BASE", "OPENAI_BASE_URL")),
    "google_genai": (("GOOGLE_API_KEY", "GEMINI_API_KEY"), ()),
    "mistralai": (("MISTRAL_API_KEY",), ()),
    "groq": (("GROQ_API_KEY",), ("GROQ_API_BASE",)),
    "deepseek": (("DEEPSEEK_API_KEY",), ("DEEPSEEK_API_BASE",)),
    "xai": (("XAI_API_KEY",), ()),
    "openrouter": (("OPENROUTER_API_KEY",), ("OPENROUTER_API_BASE",)),
}
"""Provider -> the variables for its key and those for its address; the first variable that is set counts. The order of the providers is
also the order in which we look for a default model."""

BUCKET_VARIABLES: Mapping[Literal["gcs", "s3", "azure"], tuple[str, tuple[str, ...], Mapping[str, tuple[str, ...]]]] = {
    "gcs": ("GCS_BUCKET_NAME", ("service_account_key",), {"service_account_key": ("GOOGLE_CLOUD_CREDENTIALS_JSON",)}),
    "s3": (
        "S3_BUCKET_NAME",
        ("secret_access_key", "session_token"),
        {
            "access_key_id": ("AWS_ACCESS_KEY_ID",),
            "secret_access_key": ("AWS_SECRET_ACCESS_KEY",),
            "session_token": ("AWS_SESSION_TOKEN",),
            "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
            "endpoint": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
        },
    ),
    "azure": (
        "AZURE_STORAGE_CONTAINER_NAME",
        ("account_key", "sas_key"),
        {
            "account_name": ("AZURE_STORAGE_ACCOUNT_NAME",),
            "account_key": ("AZURE_STORAGE_ACCOUNT_KEY",),
            "sas_key": ("AZURE_STORAGE_SAS_TOKEN",),
            "endpoint": ("AZURE_STORAGE_ENDPOINT",),
        },
    ),
}
"""Store -> the variable with the bucket's name, the options that are keys, and obstore's options with their variables."""

TASK_KINDS = ("plan", "audit", "write", "files", "summarise")
"""The kinds of work that can have their own model: `STEPWELL_MODEL_PLAN` and so on."""

SERVER_VARIABLES = (
    "STEPWELL_HOST", "STEPWELL_PORT", "STEPWELL_PUBLIC_URL", "STEPWELL_ALLOWED_HOSTS", "STEPWELL_CORS_ORIGINS", "STEPWELL_AUTH",
    "STEPWELL_TRUSTED_PROXIES",
    "STEPWELL_JWT_ISSUER", "STEPWELL_JWT_AUDIENCE", "STEPWELL_JWT_JWKS_URL", "STEPWELL_JWT_ALGORITHMS",
    "STEPWELL_JWT_USER_CLAIM", "STEPWELL_JWT_OPERATOR_CLAIM", "STEPWELL_JWT_OPERATOR_VALUE",
    "STEPWELL_JWT_ROOTS_CLAIM", "STEPWELL_JWT_READ_ROOTS_CLAIM",
    "STEPWELL_OIDC_CLIENT_ID", "STEPWELL_OIDC_CLIENT_SECRET", "STEPWELL_OIDC_SCOPES", "STEPWELL_SESSION_HOURS",
    "STEPWELL_BODY_LIMIT_BYTES", "STEPWELL_BODIES_LIMIT_BYTES", "STEPWELL_JSON_DEPTH_LIMIT", "STEPWELL_JSON_ITEMS_LIMIT",
    "STEPWELL_JSON_MESSAGES_LIMIT", "STEPWELL_MAX_ACTIVE_RUNS", "STEPWELL_MAX_STREAMS",
    "STEPWELL_TENANT_MAX_RUNS", "STEPWELL_TENANT_MAX_BYTES", "STEPWELL_TENANT_MAX_OPERATIONS_PER_MINUTE", "STEPWELL_MAX_FILE_BYTES",
    "STEPWELL_RUN_TIMEOUT_S", "STEPWELL_BARE_ANSWERS", "STEPWELL_POWER_LOSS",
    "STEPWELL_WEBHOOK_ALLOW", "STEPWELL_WEBHOOK_HTTP", "STEPWELL_WEBHOOK_SECRET",
    "STEPWELL_RETENTION_DAYS", "STEPWELL_RETENTION_CHECKPOINTS", "STEPWELL_MIN_FREE_MB", "STEPWELL_DRAIN_SECONDS",
    "STEPWELL_NOTICE_SECONDS", "STEPWELL_DATABASE_WAIT_S", "STEPWELL_LOG_FORMAT", "STEPWELL_LOG_LEVEL",
)  # fmt: skip
"""The variables that `stepwell.server.settings` reads. `--insecure` has no variable on purpose, because a stray `.env` file must not be
able to open a server to the network."""

PAYMENT_VARIABLES = (
    "STEPWELL_MINTS", "STEPWELL_SATS_PER_CALL", "STEPWELL_TOKEN_PRICES", "STEPWELL_PAID_GRAPHS", "STEPWELL_WALLET_SEED",
    "STEPWELL_DEPOSIT_SATS", "STEPWELL_PAYMENT_IDLE_HOURS",
)  # fmt: skip
"""The variables that `stepwell.payments.configuration` reads."""

OTEL_ENDPOINTS = ("STEPWELL_OTEL_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_TO_START = (
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "SYSTEMROOT",
    "PYTHONHOME",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONPYCACHEPREFIX",
)
"""The variables that an interpreter needs to find its own files on systems with unusual locations."""
TRACE_SINKS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], str, str]] = {
    "langfuse": (
        ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"),
        ("LANGFUSE_BASE_URL", "LANGFUSE_HOST"),
        "https://cloud.langfuse.com",
        "/api/public/otel",
    ),
    "langsmith": (("LANGSMITH_API_KEY",), ("LANGSMITH_ENDPOINT",), "https://api.smith.langchain.com", "/otel"),
    "phoenix": ((), ("PHOENIX_COLLECTOR_ENDPOINT",), "http://127.0.0.1:6006", ""),
}
"""What `STEPWELL_TRACES` may name: the keys it needs, the variables with its address, its usual address, and the path for OTLP there. The
variables are those of each product's own SDK."""
OTEL_HEADERS = ("STEPWELL_OTEL_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")


class Secret:
    """Text that `repr` hides. Call `reveal()` only where the text is needed."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "Secret('…')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


@dataclass(frozen=True)
class ProviderAccess:
    """A provider whose key is set."""

    variable: str
    key: Secret
    handed_over: bool
    """The SDK cannot find the key itself (because it is in `.env` or in a mapping), so pass the key and `base_url` as arguments."""
    base_url: str | None = field(default=None, repr=False)
    """From the same layer as the key. Not in `repr`, because an address may contain a password."""


@dataclass(frozen=True)
class TelemetrySettings:
    """Where to send traces. The address is not in `repr`, because it may contain a password."""

    endpoint: str = field(repr=False)
    """The collector's address for OTLP over HTTP, with or without `/v1/traces`."""
    headers: Secret | None = None
    """`name=value,name=value`, values percent-encoded, as OpenTelemetry writes them."""
    content: bool = False
    """Whether traces include messages, arguments and results."""
    fault: str | None = None
    """What is wrong with `STEPWELL_TRACES`. The error is raised when traces are set up, so that other commands keep working."""


@dataclass(frozen=True)
class SearchSettings:
    """The available search engines."""

    engines: str | None = None
    """`STEPWELL_SEARCH_ENGINES` as written: names separated by commas, in order of preference."""
    paper_engines: str | None = None
    """`STEPWELL_PAPER_ENGINES` as written, for queries that ask for papers."""
    mcp_sources: str | None = None
    """`STEPWELL_RESEARCH_MCP` as written: `server:tool`, separated by commas."""
    mcp_servers: Path | None = field(default=None, repr=False)
    """The file that describes MCP servers. Never from `.env`: a stray file must not be able to set a command."""
    searxng_url: str | None = field(default=None, repr=False)
    google_cse_key: Secret | None = None
    google_cse_cx: str | None = None
    tavily_key: Secret | None = None
    brave_key: Secret | None = None


@dataclass(frozen=True)
class BucketSettings:
    """A bucket of an object store, and how to access it."""

    kind: Literal["gcs", "s3", "azure"]
    variable: str
    """The variable that names the bucket."""
    name: str
    options: Mapping[str, Secret] = field(default_factory=dict, hash=False)
    """The options by obstore's names. All are treated as secrets, because an address may contain a password."""
    variables: tuple[str, ...] = ()
    """The variables the options come from, for messages."""


@dataclass(frozen=True)
class Settings:
    """The variables that Stepwell knows. If one exists with and without the prefix `STEPWELL_`, the one with it takes precedence."""

    model: str | None = None
    model_provider: str | None = None
    ollama_model_name: str | None = None
    ollama_address: str | None = field(default=None, repr=False)
    lm_studio_model_name: str | None = None
    lm_studio_address: str | None = field(default=None, repr=False)
    lm_studio_api_key: Secret | None = None
    llamacpp_address: str | None = field(default=None, repr=False)
    task_models: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Kind of task -> model, for the kinds that have their own."""
    data_dir: Path | None = field(default=None, repr=False)
    """The folder for our data, if the environment sets one; use `data_folder`, which always has a value."""
    database_url: Secret | None = None
    """The server's database, if the environment sets one. It may contain a password."""
    database_is_meant: bool = False
    """Whether it was set for Stepwell (`STEPWELL_DATABASE_URL`). `DATABASE_URL` may belong to another project in the same folder."""
    redis_url: Secret | None = None
    """The Redis that passes events between servers, if the environment sets one. The address may contain a password."""
    upload_dir: Path | None = field(default=None, repr=False)
    """Where to store the parts of a large file until it is complete (default: in the data folder)."""
    signing_key_file: Path | None = field(default=None, repr=False)
    """The file with the key that signs bundles (default: the key in the data folder or the database)."""
    secrets_key: Secret | None = None
    """The keys with which stored keys of providers are encrypted, separated by commas; the first one encrypts."""
    local_model: str | None = None
    """The embedded model: an id of the catalogue, or a path to a GGUF file."""
    local_threads: str | None = None
    """The number of threads for the embedded model, as written."""
    access: Mapping[str, ProviderAccess] = field(default_factory=dict, hash=False)
    """Provider -> how to reach it, for the providers whose key is set, in the order of `PROVIDER_VARIABLES`."""

    telemetry: TelemetrySettings | None = None
    """`None`: traces are off."""
    policy: Path | None = field(default=None, repr=False)
    """The file with the research policy (default: the packaged one)."""
    search: SearchSettings = field(default_factory=SearchSettings)
    buckets: tuple[BucketSettings, ...] = ()
    """The configured buckets: at most one, if the settings are valid."""
    workspace_grants: Path | None = field(default=None, repr=False)
    """The operator's table of who may use which workspaces."""
    editor: str | None = None
    """The user's editor, `VISUAL` or `EDITOR`. Never from `.env`: a stray file must not be able to set a command."""
    no_color: bool = False
    """Whether the user wants no colours on a terminal (`NO_COLOR`)."""
    api_key: Secret | None = None
    """The key for commands that call a server with sign-in."""
    server: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    """The `SERVER_VARIABLES` that are set, as written. Not in `repr`, because some are secrets."""
    payments: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    """The `PAYMENT_VARIABLES` that are set, as written. Not in `repr`, because whoever knows the seed has the money."""

    @property
    def data_folder(self) -> Path:
        """The folder for Stepwell's own data, by the platform's convention. It may not exist yet."""
        if self.data_dir:
            return self.data_dir
        usual = {"darwin": "Library/Application Support", "win32": "AppData/Local"}
        return Path.home() / usual.get(sys.platform, ".local/share") / "stepwell"

    def count_local_threads(self) -> int | None:
        """`local_threads` as a number; None if it is not set."""
        text = self.local_threads
        if text is None:
            return None
        if text.isdecimal() and 0 < int(text) <= 512:
            return int(text)
        raise ConfigurationError(
            f"STEPWELL_LOCAL_THREADS is '{text}'. Set it to a number of threads, such as 2, or leave it out."
        )

    @classmethod
    def load(cls, environ: Mapping[str, str] | None = None, dotenv: Path | Literal["auto"] | None = "auto") -> Settings:
        """Read the environment (or the mapping) over a `.env` file, which may be missing; see the module's table."""
        if dotenv == "auto":
            dotenv = Path(".env") if environ is None else None
        first = _Layer(os.environ if environ is None else environ, visible=environ is None)
        layers = [first, _Layer(_read_dotenv(dotenv) if dotenv else {}, visible=False)]
        return cls(
            model=_find(layers, "STEPWELL_MODEL"),
            model_provider=_find(layers, "STEPWELL_MODEL_PROVIDER", "DEEPAGENTS_MODEL_PROVIDER"),
            ollama_model_name=_find(layers, "STEPWELL_OLLAMA_MODEL_NAME", "OLLAMA_MODEL_NAME"),
            ollama_address=_find(layers, "STEPWELL_OLLAMA_BASE_URL", "STEPWELL_OLLAMA_HOST", "OLLAMA_BASE_URL", "OLLAMA_HOST"),
            lm_studio_model_name=_find(layers, "STEPWELL_LM_STUDIO_MODEL_NAME", "LM_STUDIO_MODEL_NAME"),
            lm_studio_address=_find(layers, "STEPWELL_LM_STUDIO_BASE_URL", "LM_STUDIO_BASE_URL"),
            lm_studio_api_key=_secret(_find(layers, "STEPWELL_LM_STUDIO_API_KEY", "LM_STUDIO_API_KEY")),
            llamacpp_address=_find(layers, "STEPWELL_LLAMACPP_BASE_URL", "LLAMACPP_BASE_URL"),
            data_dir=_find_data_dir(layers),
            database_url=_secret(_find(layers, "STEPWELL_DATABASE_URL", "DATABASE_URL")),
            database_is_meant=_find(layers, "STEPWELL_DATABASE_URL") is not None,
            redis_url=_secret(_find(layers, "STEPWELL_REDIS_URL")),
            upload_dir=_path(_find(layers, "STEPWELL_UPLOAD_DIR")),
            signing_key_file=_path(_find(layers, "STEPWELL_SIGNING_KEY_FILE")),
            secrets_key=_secret(_find(layers, "STEPWELL_SECRETS_KEY")),
            policy=_path(_find(layers, "STEPWELL_POLICY")),
            editor=_find(layers[:1], "VISUAL", "EDITOR"),
            no_color=_find(layers, "NO_COLOR") is not None,
            local_model=_find(layers, "STEPWELL_LOCAL_MODEL"),
            local_threads=_find(layers, "STEPWELL_LOCAL_THREADS"),
            task_models=_find_task_models(layers),
            access=_find_access(layers),
            telemetry=_find_telemetry(layers),
            search=_find_search(layers),
            buckets=_find_buckets(layers),
            workspace_grants=_path(_find(layers, "STEPWELL_WORKSPACE_GRANTS")),
            api_key=_secret(_find(layers, "STEPWELL_API_KEY")),
            server=_find_server(layers),
            payments={name: value for name in PAYMENT_VARIABLES if (value := _find(layers, name))},
        )


@dataclass(frozen=True)
class _Layer:
    variables: Mapping[str, str]
    visible: bool
    """Whether provider SDKs read this layer themselves."""


def read_dotenv(path: Path) -> dict[str, str | None]:
    """The variables of a dotenv file, which may be missing; None for a name without an equals sign."""
    if not path.is_file():
        return {}
    from dotenv import dotenv_values  # here, so that importing settings stays cheap

    try:
        # Without interpolation, which would read the process environment behind our back; also, a key may contain a dollar sign.
        return dict(dotenv_values(path, interpolate=False))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"The file '{path.name}' cannot be read: {type(error).__name__}. Make it readable, UTF-8 text, or remove it."
        ) from error


def _read_dotenv(path: Path) -> dict[str, str]:
    return {name: value for name, value in read_dotenv(path).items() if value is not None}


def _find(layers: Sequence[_Layer], *names: str) -> str | None:
    """The value of the first name that is set; for each name, the first layer that contains it decides."""
    for name in names:
        value = _lookup(layers, name)[0]
        if value:
            return value
    return None


def _lookup(layers: Sequence[_Layer], name: str) -> tuple[str, _Layer | None]:
    for layer in layers:
        if name in layer.variables:
            return layer.variables[name].strip(), layer
    return "", None


def _secret(text: str | None) -> Secret | None:
    return Secret(text) if text else None


def _path(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None


def _find_data_dir(layers: Sequence[_Layer]) -> Path | None:
    chosen = _find(layers, "STEPWELL_DATA_DIR")
    if chosen:
        return Path(chosen).expanduser()
    variable = {"win32": "LOCALAPPDATA", "darwin": None}.get(sys.platform, "XDG_DATA_HOME")
    parent = _find(layers, variable) if variable else None
    return Path(parent) / "stepwell" if parent else None


def _find_task_models(layers: Sequence[_Layer]) -> dict[str, str]:
    found = {kind: _find(layers, f"STEPWELL_MODEL_{kind.upper()}") for kind in TASK_KINDS}
    return {kind: model for kind, model in found.items() if model}


def _find_access(layers: Sequence[_Layer]) -> dict[str, ProviderAccess]:
    found = {}
    for provider, (keys, addresses) in PROVIDER_VARIABLES.items():
        for variable in keys:
            key, layer = _lookup(layers, variable)
            if key and layer:
                address = _find([layer], *addresses)
                found[provider] = ProviderAccess(variable, Secret(key), not layer.visible, address)
                break
    return found


def _find_server(layers: Sequence[_Layer]) -> dict[str, str]:
    found = {name: value for name in SERVER_VARIABLES if (value := _find(layers, name))}
    # We send the client secret to the issuer, so the issuer must not come from a lower layer than the secret.
    secret_in = _lookup(layers, "STEPWELL_OIDC_CLIENT_SECRET")[1]
    if secret_in and not _find(layers[: layers.index(secret_in) + 1], "STEPWELL_JWT_ISSUER"):
        found.pop("STEPWELL_JWT_ISSUER", None)
    return found


def _find_search(layers: Sequence[_Layer]) -> SearchSettings:
    return SearchSettings(
        engines=_find(layers, "STEPWELL_SEARCH_ENGINES"),
        paper_engines=_find(layers, "STEPWELL_PAPER_ENGINES"),
        mcp_sources=_find(layers, "STEPWELL_RESEARCH_MCP"),
        mcp_servers=_path(_find(layers[:1], "STEPWELL_MCP_SERVERS")),
        searxng_url=_find(layers, "STEPWELL_SEARXNG_URL"),
        google_cse_key=_secret(_find(layers, "GOOGLE_CSE_API_KEY")),
        google_cse_cx=_find(layers, "GOOGLE_CSE_CX"),
        tavily_key=_secret(_find(layers, "TAVILY_API_KEY")),
        brave_key=_secret(_find(layers, "BRAVE_API_KEY")),
    )


def _find_buckets(layers: Sequence[_Layer]) -> tuple[BucketSettings, ...]:
    found = []
    for kind, (variable, keys, options) in BUCKET_VARIABLES.items():
        if name := _find(layers, variable):
            values = {option: _find(layers, *names) for option, names in options.items()}
            values["endpoint"] = _find_endpoint(layers, options, keys)
            given = {option: Secret(value) for option, value in values.items() if value}
            found.append(BucketSettings(kind, variable, name, given, tuple(options[option][0] for option in given)))
    return tuple(found)


def _find_endpoint(layers: Sequence[_Layer], options: Mapping[str, tuple[str, ...]], keys: Sequence[str]) -> str | None:
    """A bucket's address. Requests contain the key or are signed with it, so the address must come from the same layer as the key."""
    if "endpoint" not in options:
        return None
    holding = [layer for layer in layers if any(_find([layer], *options[key]) for key in keys)]
    return _find(holding[:1] or layers, *options["endpoint"])


def _find_telemetry(layers: Sequence[_Layer]) -> TelemetrySettings | None:
    # Headers contain keys, so the address must not come from a lower layer than the headers. OpenTelemetry's exporter reads the headers in
    # the process environment itself.
    if sink := _find(layers, "STEPWELL_TRACES"):
        return _find_trace_sink(layers, sink.lower())
    places = [place for place, layer in enumerate(layers) if _find([layer], *OTEL_HEADERS)]
    endpoint, content = _find(layers[: places[0] + 1] if places else layers, *OTEL_ENDPOINTS), _wants_content(layers)
    if endpoint is None:
        return None
    return TelemetrySettings(endpoint, _secret(_find(layers, *OTEL_HEADERS)), content)


def _wants_content(layers: Sequence[_Layer]) -> bool:
    return (_find(layers, "STEPWELL_OTEL_CONTENT") or "").lower() in ("1", "true", "yes", "on")


def _find_trace_sink(layers: Sequence[_Layer], sink: str) -> TelemetrySettings:
    """A product that takes OTLP, by its name and the variables of its own SDK."""
    if sink not in TRACE_SINKS:
        return TelemetrySettings(
            "", fault=f"STEPWELL_TRACES names no place for traces that we know. Use {_either(TRACE_SINKS)}."
        )
    if other := next((name for name in (*OTEL_ENDPOINTS, *OTEL_HEADERS) if _find(layers, name)), None):
        # Its headers would be sent to the product too: OpenTelemetry's exporter reads them in the process environment itself.
        return TelemetrySettings("", fault=f"STEPWELL_TRACES={sink} and {other} both say where traces go. Remove one of them.")
    keys, addresses, usual, path = TRACE_SINKS[sink]
    if missing := [name for name in keys if not _find(layers, name)]:
        return TelemetrySettings("", fault=f"STEPWELL_TRACES={sink} needs {' and '.join(missing)}. Set what is missing.")
    # As above: a key must not be sent to an address from a lower layer than its own.
    secret = (*keys, "PHOENIX_API_KEY") if sink == "phoenix" else keys
    holding = [place for place, layer in enumerate(layers) if _find([layer], *secret)]
    address = (_find(layers[: holding[0] + 1] if holding else layers, *addresses) or usual).rstrip("/")
    headers = ",".join(f"{name}={quote(value, safe='')}" for name, value in _sink_headers(layers, sink).items())
    return TelemetrySettings(f"{address.removesuffix(path)}{path}", _secret(headers), _wants_content(layers))


def _sink_headers(layers: Sequence[_Layer], sink: str) -> dict[str, str]:
    if sink == "langfuse":
        pair = f"{_find(layers, 'LANGFUSE_PUBLIC_KEY')}:{_find(layers, 'LANGFUSE_SECRET_KEY')}"
        return {"authorization": f"Basic {b64encode(pair.encode()).decode()}", "x-langfuse-ingestion-version": "4"}
    if sink == "langsmith":
        found = {"x-api-key": _find(layers, "LANGSMITH_API_KEY"), "langsmith-project": _find(layers, "LANGSMITH_PROJECT")}
        return {name: value for name, value in found.items() if value}
    key = _find(layers, "PHOENIX_API_KEY")
    return {"authorization": f"Bearer {key}"} if key else {}


def _either(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}"


class _Asked(dict[str, str]):
    """An empty environment that notes what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.names.add(str(name))
        return False


def known_variables() -> frozenset[str]:
    """The names of all variables that `Settings.load` looks for in an empty environment, our own among them."""
    asked = _Asked()
    Settings.load(asked)
    return frozenset(asked.names)


def prefer_in_environment(variable: str, value: str) -> None:
    """Set a variable that other code reads when it is loaded, unless the user has set it. It stays set."""
    os.environ.setdefault(variable, value)


def child_environment(changes: Mapping[str, str]) -> dict[str, str]:
    """The environment for a child process: this process's own, with some variables changed."""
    return {**os.environ, **changes}


def bare_environment(changes: Mapping[str, str]) -> dict[str, str]:
    """The environment for a child process that reads untrusted bytes: what an interpreter needs to start, and no keys."""
    return {name: os.environ[name] for name in _TO_START if name in os.environ} | dict(changes)


def current_environment() -> Mapping[str, str]:
    """The variables of this process, for the few values of a served project that name one of its own."""
    return dict(os.environ)


def fill_environment(variables: Mapping[str, str] | Path) -> tuple[str, ...]:
    """Set those variables of a served project (a mapping, or its dotenv file) that the environment does not have yet.

    An exception to the rule above that `.env` is never copied: we are about to run the project's code, which may read its variables in
    any way. Returns the names it has set, never a value.
    """
    if isinstance(variables, Path):
        variables = _read_dotenv(variables)
    missing = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(missing)
    return tuple(missing)
