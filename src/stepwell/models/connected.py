"""The models that one run uses: which model does which work, through which connection. `stepwell.connections` decides it for the run's
caller; other programs can set it with `using`.

```
gate (ids only, stored with the run) ─> an attempt opens its graph ─> RunModels ─┬─ using(models): while the graph is built and runs
                                                                                └─ models.key: the registry keeps one graph per key
choose_model(None) ─ an explicit choice ─> the environment ─> the stored default ─> the embedded model, if allowed
```
Rule to keep: a key is only in memory, in `ConnectedModel.key`. It never enters a run's config, a checkpoint, an event or a log.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args
from uuid import UUID

from stepwell.secrets.text import hiding
from stepwell.settings import Secret

if TYPE_CHECKING:
    from stepwell.models.usage import CallUsage

TaskKind = Literal["plan", "audit", "write", "files", "summarise"]
TASK_KINDS: tuple[TaskKind, ...] = get_args(TaskKind)

ENVIRONMENT = "env:"
"""How the id of a connection begins that the environment gives."""


@dataclass(frozen=True)
class ConnectedModel:
    """One model through one connection."""

    connection_id: str
    """`env:anthropic` for what the environment gives."""
    revision: int
    """A changed key or address is another revision."""
    provider: str
    """A name in `models.providers.PROVIDERS`."""
    name: str
    """The provider's name for the model."""
    label: str
    """How people see the connection: "Anthropic", "My OpenAI key"."""
    key: Secret | None = None
    base_url: str | None = field(default=None, repr=False)
    """Not in `repr`, because an address may contain a password."""
    network: Callable[[ModuleType], Any] | None = field(default=None, repr=False, compare=False)
    """Makes an asynchronous transport to `base_url`, if its connections need more checks than usual, such as that the address is public.
    Gets the HTTP library that the provider's SDK uses: httpx, or its successor httpx2."""

    @property
    def from_environment(self) -> bool:
        return self.connection_id.startswith(ENVIRONMENT)

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}"


Settle = Callable[["CallUsage"], Awaitable[None]]
"""Called once a call has ended, failed or broken off: replaces its expected usage with what it really used."""


class CallWatch(Protocol):
    """Sees every call of a connected model: counts what it costs, and refuses a call that a limit forbids."""

    async def before(self, model: ConnectedModel, user: str | None, expected: CallUsage) -> Settle:
        """Before the provider is asked. Counts what the call will probably use, until it is settled. An error ends the call."""
        ...


@dataclass(frozen=True)
class RunModels:
    """What one run uses."""

    default: ConnectedModel | None = None
    tasks: Mapping[TaskKind, ConnectedModel] = field(default_factory=lambda: MappingProxyType({}))
    explicit: bool = False
    """Whether somebody chose these models for this run or its conversation. If so they replace the environment's."""
    user: str | None = None
    """For whom the run calls its models."""
    watch: CallWatch | None = field(default=None, repr=False, compare=False)
    open_calls: dict[UUID, Callable[[], Awaitable[None]]] = field(default_factory=dict, repr=False, compare=False)
    """Calls under way -> what settles them if nobody reports their end."""

    @property
    def key(self) -> str:
        """Two runs with the same key may use the same graph."""
        chosen = [("", self.default), *self.tasks.items()]
        named = [f"{task}={model.connection_id}@{model.revision}:{model.name} {model.label}" for task, model in chosen if model]
        return "\n".join(["explicit" if self.explicit else "", *sorted(named)]) if named else ""

    async def settle(self) -> None:
        """Count the calls whose end was not reported, because they were cancelled. For the end of an attempt."""
        for close in list(self.open_calls.values()):
            await close()

    @property
    def secrets(self) -> frozenset[str]:
        """The keys, for hiding them."""
        return frozenset(model.key.reveal() for model in (self.default, *self.tasks.values()) if model and model.key)


_CURRENT: ContextVar[RunModels | None] = ContextVar("stepwell_run_models", default=None)


@contextmanager
def using(models: RunModels | None) -> Iterator[None]:
    """Use these models inside the block: for graphs that are built there, and for calls that are made there. Their keys are hidden in every
    text that leaves the program from there, also where a provider's error repeats one."""
    before = _CURRENT.set(models)
    try:
        with hiding(models.secrets if models else ()):
            yield
    finally:
        _CURRENT.reset(before)


def current_models() -> RunModels | None:
    """The models of the run that is being prepared or driven here; None outside of runs."""
    return _CURRENT.get()
