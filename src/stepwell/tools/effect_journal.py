"""A journal, kept outside the process, of effects that were begun and finished. It lets an effect happen at most once.

```
begin(key) ── unknown key ─────▶ Begun           now stored as begun: run the tool, then finish(key, result) or release(key)
           ── begun before ────▶ Unknown         something stopped it before it finished; it may or may not have happened
           ── finished ────────▶ Done            the stored result
           ── a person said ───▶ Settled         whether it happened; the tool is not run in either case
           ── other arguments ─▶ OtherArguments  the call was begun before, with other arguments
```

The code that drives a graph puts a journal into its config (`{"configurable": {JOURNAL: journal}}`); `EffectsMiddleware` uses it.
Without a journal nothing is recorded, because a library user's saver has no place for one.

**What a key consists of.** Only this module makes keys.

| the effect belongs to | its key consists of | it is the same |
|---|---|---|
| a call of a model | origin, graphs around, message, call, number | wherever the call appears: after a crash, on a copy, on a branch |
| a step without a call | origin, namespace with the task's id, number | if the task runs again from its checkpoint |

The origin identifies the thread without naming it, and a copy keeps the origin of the original. A run's id would not work, because a
resume is a new run. A key lasts only as long as the checkpoint it comes from, so a tool waits for `settled` before it sends its key to
another service.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
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
    """The effect is now stored as begun, and the caller may carry it out."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The effect was begun before and not finished."""


@dataclass(frozen=True, slots=True)
class Done:
    """The effect was finished before; `result` is what `finish` stored, or `None` if that was deleted since."""

    result: bytes | None


@dataclass(frozen=True, slots=True)
class Settled:
    """The effect's outcome was unknown, and a person has checked it: whether it happened, and the person's note."""

    happened: bool
    note: str


@dataclass(frozen=True, slots=True)
class OtherArguments:
    """The call was begun before, with other arguments: on a copy of the thread, or on another branch."""


Standing = Begun | Unknown | Done | Settled | OtherArguments


@dataclass(frozen=True, slots=True)
class NotedCall:
    """What a journal stores about a call besides its key: nothing of the call's content, because an effect outlives its thread."""

    tool: str
    arguments: str = ""
    """A fingerprint of the arguments; it differs if the call was edited."""
    former_key: str | None = None
    """The key that releases before 0.2 used, so that an effect they began is recognised after the upgrade."""


class EffectJournal(Protocol):
    """Each method queues its work at once, in order, and returns a future that is done when the work is durable.

    Such a future serves both kinds of callers: sync code calls `result()`, async code wraps it.
    """

    @property
    def origin(self) -> str:
        """The prefix of the thread's keys: the same on its copies, and different on every other thread."""
        ...

    def begin(self, key: str, call: NotedCall | None = None) -> Future[Standing]: ...
    def finish(self, key: str, result: bytes) -> Future[None]: ...

    def release(self, key: str) -> Future[None]:
        """Forget a begun effect that turned out not to have happened (the tool paused to ask)."""
        ...

    def look(self, keys: Sequence[str]) -> Future[Mapping[str, Standing]]:
        """The standing of those effects that were begun; begins nothing."""
        ...

    def barrier(self) -> Future[None]:
        """Done when all earlier work is durable, checkpoints included; fails if another worker has taken over the run."""
        ...


Where: TypeAlias = "RunnableConfig | ToolRuntime[Any, Any]"
"""A tool's `config`, or better its `runtime`, which tells the calls of a step apart."""


def journal_of(where: Where) -> EffectJournal | None:
    """The journal of the current run."""
    journal: EffectJournal | None = _configurable(where).get(JOURNAL)
    return journal


def effect_key(where: Where, n: int | str = 0) -> str:
    """A key that is the same whenever this call appears again, for a service that takes an idempotency key.

    A tool with several effects numbers them with `n`. Pass the tool's `runtime`: the config alone identifies the step but not the call, so
    it cannot tell two calls of one step apart, nor recognise the call in another step.
    """
    message = None if isinstance(where, dict) else _message_of(where)
    if message is None or message.id is None or isinstance(where, dict):
        return _step_key(where, n)
    return call_key(where, message.id, where.tool_call_id or "", n)


def call_key(where: Where, message_id: str, call_id: str, n: int | str = 0) -> str:
    """The key of a call in a message of the current graph; every step of that graph gets the same key."""
    around = _namespace(where).rpartition("|")[0]
    return "/".join([_origin(where), *([around] if around else []), message_id, call_id, str(n)])


def noted_call(runtime: ToolRuntime[Any, Any], tool: str, arguments: Mapping[str, Any]) -> NotedCall:
    """What to record about this runtime's call, as it will run."""
    text = json.dumps(arguments, sort_keys=True, default=str)
    return NotedCall(tool, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), _step_key(runtime, 0))


async def settled(where: Where) -> None:
    """Wait until this call's step is stored durably, so that no crash can give the same work another key."""
    if journal := journal_of(where):
        await asyncio.wrap_future(journal.barrier())


def settled_now(where: Where) -> None:
    """`settled` for sync code; it blocks."""
    if journal := journal_of(where):
        journal.barrier().result()


def _step_key(where: Where, n: int | str) -> str:
    call = "" if isinstance(where, dict) else (where.tool_call_id or "")
    return "/".join([_origin(where), _namespace(where), *([call] if call else []), str(n)])


def _origin(where: Where) -> str:
    journal = journal_of(where)
    return journal.origin if journal else str(_configurable(where).get("thread_id", ""))


def _namespace(where: Where) -> str:
    namespace = _configurable(where).get("checkpoint_ns")
    if not namespace:
        raise ConfigurationError(
            "An effect key belongs to a step of a running graph. Pass the config or the runtime that LangGraph gives to the tool."
        )
    return str(namespace)


def _message_of(runtime: ToolRuntime[Any, Any]) -> Any:
    """The model's newest message that contains this call's id; `None` if a graph calls tools without messages."""
    state = runtime.state
    messages: Any = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
    for message in reversed(messages if isinstance(messages, list) else []):
        if getattr(message, "type", "") == "ai" and any(call["id"] == runtime.tool_call_id for call in message.tool_calls):
            return message
    return None


def _configurable(where: Where) -> Mapping[str, Any]:
    config = where if isinstance(where, dict) else where.config
    return config.get("configurable") or {}
