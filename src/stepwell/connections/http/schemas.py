"""Connections as JSON. No response has a field for a key: it has `has_key`, and the last four characters."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, SecretStr

from stepwell.connections.service import Change
from stepwell.connections.tables import Ref, Task
from stepwell.errors import InvalidRequestError
from stepwell.models.probe import ProblemKind
from stepwell.models.status import ModelStatus
from stepwell.server.schemas.fields import Body, WireModel
from stepwell.settings import Secret


def _check_printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("it contains a character that cannot be shown, such as a line break")
    return text


def _check_key(key: SecretStr) -> SecretStr:
    text = key.get_secret_value()
    if not 1 <= len(text) <= 4096 or not (text.isascii() and text.isprintable()) or text != text.strip():
        raise ValueError("a key has up to 4,096 characters, without spaces around it or line breaks")
    return key


Plain = AfterValidator(_check_printable)
ConnectionId = Annotated[str, Field(min_length=1, max_length=100)]
ModelName = Annotated[str, Field(min_length=1, max_length=200), Plain]
Label = Annotated[str, Field(min_length=1, max_length=60), Plain]
Key = Annotated[SecretStr, AfterValidator(_check_key)]
Address = Annotated[str, Field(min_length=1, max_length=2000), Plain]
ModelNames = Annotated[list[ModelName], Field(max_length=200)]
Usd = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]


class _Body(Body):
    """Unknown fields are refused: a misspelt limit must not look as if it were kept."""

    model_config = ConfigDict(extra="forbid")


class ModelRef(_Body):
    """A model through a connection."""

    connection: ConnectionId
    model: ModelName

    def ref(self) -> Ref:
        return Ref(self.connection, self.model)


class Limits(_Body):
    """What may be spent through a connection, in US dollars; null removes a limit."""

    per_user_day_usd: Usd | None = None
    per_user_month_usd: Usd | None = None
    month_usd: Usd | None = None


class _Details(_Body):
    label: Label | None = None
    key: Key | None = Field(default=None, description="The provider's key. It is stored encrypted and never sent back")
    base_url: Address | None = None
    models: ModelNames | None = Field(default=None, description="The models to offer")
    shared: bool | None = Field(default=None, description="Whether everyone may use it; operators only")

    def change(self, limits: Limits | None = None) -> Change:
        given = self.model_fields_set
        return Change(
            label=self.label,
            key=_secret(self.key),
            forget_key="key" in given and self.key is None,
            base_url=self.base_url,
            forget_address="base_url" in given and self.base_url is None,
            models=None if self.models is None else tuple(dict.fromkeys(self.models)),
            limits=limits.model_dump(include=limits.model_fields_set) if limits else None,
            shared=self.shared,
        )


class NewConnection(_Details):
    provider: Annotated[str, Field(min_length=1, max_length=60)]


class ConnectionChange(_Details):
    limits: Limits | None = None


class ConnectionTest(_Body):
    """Either a connection, or a provider with what the user has entered."""

    connection: ConnectionId | None = None
    provider: Annotated[str, Field(min_length=1, max_length=60)] | None = None
    key: Key | None = None
    base_url: Address | None = None
    model: ModelName | None = None

    def change(self) -> Change:
        if (self.connection is None) == (self.provider is None):
            raise InvalidRequestError("Send either 'connection', or 'provider' with a key or an address.")
        if self.connection is not None and (self.key or self.base_url):
            # Otherwise a stored key could be sent to any address.
            raise InvalidRequestError(
                "A stored connection is tested as it is. To test another key or address, send 'provider'."
            )
        return Change(key=_secret(self.key), base_url=self.base_url)


class NewChoice(_Body):
    """Defaults. A task that is left out stays as it is; null removes the choice."""

    scope: Literal["mine", "everyone"]
    default: ModelRef | None = None
    plan: ModelRef | None = None
    write: ModelRef | None = None
    judge: ModelRef | None = None

    def choices(self) -> dict[Task, Ref | None]:
        named: dict[Task, ModelRef | None] = {
            "default": self.default,
            "plan": self.plan,
            "write": self.write,
            "judge": self.judge,
        }
        return {task: chosen.ref() if chosen else None for task, chosen in named.items() if task in self.model_fields_set}


class NewAllowed(_Body):
    allowed: Annotated[list[Annotated[str, Field(min_length=3, max_length=260), Plain]], Field(max_length=500)] | None = Field(
        description="`provider:name` or `provider:*`; null allows every model"
    )


class _Response(WireModel):
    model_config = ConfigDict(extra="forbid")


class OfferedModel(_Response):
    name: str
    title: str | None = None
    tools: bool | None = Field(default=None, description="Whether it calls tools; null if unknown")
    sees: bool | None = Field(default=None, description="Whether it takes images; null if unknown")
    writes: bool = Field(default=True, description="Whether its text is good enough to show as an answer")
    context: int | None = None
    size_bytes: int | None = None
    downloaded: bool | None = None
    status: ModelStatus | None = None
    progress: float | None = Field(default=None, description="Per cent, while it is being downloaded")


class LimitsResponse(_Response):
    per_user_day_usd: float | None = None
    per_user_month_usd: float | None = None
    month_usd: float | None = None


class Spent(_Response):
    today_usd: float = 0.0
    month_usd: float = 0.0
    calls_month: int = 0


class ConnectionResponse(_Response):
    id: str
    provider: str
    label: str
    base_url: str | None
    has_key: bool
    key_hint: str | None = Field(description="The end of the key, such as …wXyZ")
    source: Literal["environment", "stored", "found", "embedded"]
    variable: str | None = Field(description="The environment variable that it comes from")
    shared: bool = Field(description="Whether everyone may use it")
    mine: bool
    editable: bool
    problem: str | None = Field(description="Why it cannot be used now")
    warning: str | None = Field(description="Why its limits forbid some of its models")
    models: list[OfferedModel]
    limits: LimitsResponse
    spent: Spent


class ProviderResponse(_Response):
    id: str
    title: str
    needs_key: bool
    needs_address: bool
    key_hint: str | None = Field(description="How a key looks")
    key_page: str | None = Field(description="Where to get a key")
    installed: bool
    install: str | None = Field(description="What to install first")
    default_model: str | None


class FoundServer(_Response):
    provider: str
    title: str
    base_url: str
    models: list[OfferedModel]


class ChosenModel(_Response):
    connection: str
    model: str
    label: str
    reason: str


class Choice(_Response):
    default: ChosenModel | None
    plan: ChosenModel | None
    write: ChosenModel | None
    judge: ChosenModel | None


class ConnectionsResponse(_Response):
    connections: list[ConnectionResponse]
    providers: list[ProviderResponse]
    found: list[FoundServer] = Field(description="Model servers on the server's computer; for operators")
    choice: Choice
    can_store: bool
    why_not: str | None = Field(description="Why keys cannot be stored")
    may_share: bool
    may_use_private_addresses: bool
    allowed: list[str] | None


class TestProblem(_Response):
    kind: ProblemKind
    sentence: str


class TestResponse(_Response):
    ok: bool
    model: str | None
    answers: bool
    tools: bool | None
    streams: bool | None
    sees: bool | None
    latency_ms: int | None
    models: list[str] = Field(description="The models that the provider lists")
    problem: TestProblem | None


class SpendRow(_Response):
    user: str
    connection: str
    label: str
    day: str
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None


def _secret(key: SecretStr | None) -> Secret | None:
    return Secret(key.get_secret_value()) if key else None
