"""What was begun and what was done, remembered outside the process: how an effect happens at most once.

```
begin(key) ── unknown key ──▶ Begun    it is now on disk as begun: run the tool, then finish(key, result) or release(key)
           ── begun before ─▶ Unknown  a crash came in between; nobody knows whether it happened
           ── finished ─────▶ Done     the result, as it was
```

Whoever drives a graph puts a journal into its config (`{"configurable": {JOURNAL: journal}}`); `EffectsMiddleware` acts on it.
Without one nothing is journaled: a library user's saver has no place for it.

A key is the thread, LangGraph's checkpoint namespace, which ends in the task's id, and a number within the task. A task that
runs again from its checkpoint has the same id, a new step has another; a run's id would not do, since a resume is a new run.
The key is only as lasting as the checkpoint it comes from: before a tool hands it to somebody outside, it waits for `settled`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from stepwell.errors import ConfigurationError

if TYPE_CHECKING:
    # For types only: LangChain's tools bring a third of a second, and a server starts without them.
    from langchain.tools import ToolRuntime
    from langchain_core.runnables import RunnableConfig

JOURNAL = "__stepwell_effects"
"""The key in a config's `configurable`. Two underscores keep it out of metadata and checkpoints."""


@dataclass(frozen=True, slots=True)
class Begun:
    """It is ours to do, and on disk as begun."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """It was begun before and not finished."""


@dataclass(frozen=True, slots=True)
class Done:
    """It was done before; `result` is what `finish` was given."""

    result: bytes


Standing = Begun | Unknown | Done


class EffectJournal(Protocol):
    """Each method hands its work over at once, in order, and gives a future that is done when it is durable.

    Such a future serves both colours: sync code takes its `result()`, async code wraps it.
    """

    def begin(self, key: str) -> Future[Standing]: ...
    def finish(self, key: str, result: bytes) -> Future[None]: ...

    def release(self, key: str) -> Future[None]:
        """Forget a begun effect: it turned out not to have happened (the tool paused to ask)."""
        ...

    def barrier(self) -> Future[None]:
        """Done when everything that was handed in before is durable, checkpoints included; refused when the run was taken over."""
        ...


Where: TypeAlias = "RunnableConfig | ToolRuntime[Any, Any]"
"""What a tool has of its surroundings: its `config`, or better its `runtime`, which tells one call of a step from another."""


def journal_of(where: Where) -> EffectJournal | None:
    """The journal of the run that this belongs to."""
    journal: EffectJournal | None = _configurable(where).get(JOURNAL)
    return journal


def effect_key(where: Where, n: int | str = 0) -> str:
    """A key that is the same whenever this step runs again, for a service that takes an idempotency key.

    A tool with several effects numbers them with `n`. In a hand-made graph whose `ToolNode` runs several calls in one step, pass
    the tool's `runtime`: the config alone cannot tell the calls apart.
    """
    configurable = _configurable(where)
    namespace = configurable.get("checkpoint_ns")
    if not namespace:
        raise ConfigurationError(
            "An effect key belongs to a step of a running graph. Pass the config or the runtime that LangGraph gives to the tool."
        )
    call = "" if isinstance(where, dict) else (where.tool_call_id or "")
    return "/".join([str(configurable.get("thread_id", "")), str(namespace), *([call] if call else []), str(n)])


async def settled(where: Where) -> None:
    """Wait until the step that this call belongs to is on disk, so that no crash can give the same work another key."""
    if journal := journal_of(where):
        await asyncio.wrap_future(journal.barrier())


def settled_now(where: Where) -> None:
    """The same for code that is not async; it blocks."""
    if journal := journal_of(where):
        journal.barrier().result()


def _configurable(where: Where) -> Mapping[str, Any]:
    config = where if isinstance(where, dict) else where.config
    return config.get("configurable") or {}
