"""Checks and hooks: functions of the application at ten moments of an agent's work.

```
on_input ─▶ before_model ─▶ model ─▶ after_model ─▶ before_tool ─▶ tool ─▶ after_tool ─┐
                ▲                        │ no call                                       │
                ├────────────────────────│───────────────────────────────────────────────┘
                │                        ▼
                └────── SendBack ──── on_stop ─▶ done
```
`before_subagent` and `after_subagent` stand around `task`, inside of `before_tool` and `after_tool`; `before_compaction` and
`after_compaction` stand around the call that summarises a long conversation. `moments.events` says what each function gets and may return.

An agent has only the nodes and wrappers of the moments that have a function, so the others cost nothing.

How often a function is called: once per moment, and again if LangGraph executes the step again. That happens after an `interrupt` in the
same step and after a crash. `on_input`, `on_stop` and an `after_model` that pauses are steps of their own, so a resumed run repeats
only them. `before_tool` and `after_tool` belong to the step of their call: after an `interrupt` in `after_tool`, the tool runs again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from stepwell.errors import ConfigurationError
from stepwell.middleware.moments.asking import Hook
from stepwell.middleware.moments.base import HookedMiddleware
from stepwell.middleware.moments.compaction import CompactionHooks
from stepwell.middleware.moments.events import (
    AnswerEvent,
    CompactionEvent,
    HookEvent,
    InputEvent,
    ModelEvent,
    Refusal,
    SendBack,
    StopEvent,
    SubagentEvent,
    SubagentResultEvent,
    SummaryEvent,
    ToolEvent,
    ToolResultEvent,
)
from stepwell.middleware.moments.input import OnInput
from stepwell.middleware.moments.model import AfterPause, AroundModel
from stepwell.middleware.moments.stop import OnStop
from stepwell.middleware.moments.tools import AroundTools

__all__ = [
    "AnswerEvent",
    "CompactionEvent",
    "HookEvent",
    "HooksMiddleware",
    "InputEvent",
    "ModelEvent",
    "Refusal",
    "SendBack",
    "StopEvent",
    "SubagentEvent",
    "SubagentResultEvent",
    "SummaryEvent",
    "ToolEvent",
    "ToolResultEvent",
]

MAX_RETURNS = 3
Functions = Callable[[Any], Any] | Sequence[Callable[[Any], Any]]


class HooksMiddleware(HookedMiddleware):
    """Calls functions of yours at the moments you choose; each moment takes one function or a list of them, sync or async.

    Args:
        on_input: When messages of the user arrive, before anything is done with them; asked about each of them.
        before_model, after_model: Around each model call.
        before_tool, after_tool: Around each tool call, also around those of `task` and of the file tools.
        before_subagent, after_subagent: Around each task that is given to a subagent.
        before_compaction, after_compaction: Around the summary of a long conversation.
        on_stop: When the agent is about to finish.
        hold_back: Let LangGraph's stream modes have an answer only after `after_model` has let it pass, whole. Without it, the text has
            already been streamed when the check sees it; clients are then told to drop it (the custom event `model_retry` with its
            `message_id`). It does not hold back an answer for which `after_model` pauses, nor LangChain's `astream_events` and callbacks.
        max_returns: How often `on_stop` may send an agent back to work per message of the user. After that, it finishes.
        on_failure: `"fail"` ends the run if a function raises an error, so that nothing goes past a broken check; `"ignore"`
            logs the error and goes on, for functions that only watch.
        reaches_subagents: Whether subagents have these hooks too. An event names its agent.
        name: Its name among other middleware; by default made of the functions' names.
    """

    def __new__(cls, **moments: Any) -> HooksMiddleware:
        chosen = frozenset(name for name, value in moments.items() if name in _PARTS and value)
        return super().__new__(_composed(cls, chosen))  # type: ignore[arg-type]  # classes are hashable; mypy doubts it

    def __init__(
        self,
        *,
        on_input: Functions | None = None,
        before_model: Functions | None = None,
        after_model: Functions | None = None,
        before_tool: Functions | None = None,
        after_tool: Functions | None = None,
        before_subagent: Functions | None = None,
        after_subagent: Functions | None = None,
        before_compaction: Functions | None = None,
        after_compaction: Functions | None = None,
        on_stop: Functions | None = None,
        hold_back: bool = False,
        max_returns: int = MAX_RETURNS,
        on_failure: Literal["fail", "ignore"] = "fail",
        reaches_subagents: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__()
        given = {
            "on_input": on_input,
            "before_model": before_model,
            "after_model": after_model,
            "before_tool": before_tool,
            "after_tool": after_tool,
            "before_subagent": before_subagent,
            "after_subagent": after_subagent,
            "before_compaction": before_compaction,
            "after_compaction": after_compaction,
            "on_stop": on_stop,
        }
        if on_failure not in ("fail", "ignore"):
            raise ConfigurationError(f'on_failure is {on_failure!r}. Write "fail" or "ignore".')
        if max_returns < 0:
            raise ConfigurationError(f"max_returns is {max_returns}. Give a number of at least 0.")
        if hold_back and not after_model:
            raise ConfigurationError(
                "hold_back waits for after_model, which has no function. Give it one, or leave hold_back out."
            )
        self.hooks = {moment: _hooks(moment, value, on_failure == "ignore") for moment, value in given.items()}
        self.hold_back = hold_back
        self.max_returns = max_returns
        self.reaches_subagents = reaches_subagents
        self._name = name

    @property
    def name(self) -> str:
        # Clients recognise nodes that need no mention by "Middleware.", so the class's name comes last.
        own = self._name or "+".join(dict.fromkeys(_label(hook) for hooks in self.hooks.values() for hook in hooks))
        return f"{own[:120]}.HooksMiddleware" if own else "HooksMiddleware"

    def compaction_hooks(self) -> CompactionHooks | None:
        """The functions around summaries; None if there are none. `agent.compile` gives them to the agent's summaries."""
        before, after = self.hooks["before_compaction"], self.hooks["after_compaction"]
        return CompactionHooks(before, after) if before or after else None


_PARTS: Mapping[str, tuple[type[HookedMiddleware], ...]] = {
    "on_input": (OnInput,),
    "before_model": (AroundModel,),
    "after_model": (AroundModel, AfterPause),
    "before_tool": (AroundTools,),
    "after_tool": (AroundTools,),
    "before_subagent": (AroundTools,),
    "after_subagent": (AroundTools,),
    "before_compaction": (),
    "after_compaction": (),
    "on_stop": (OnStop,),
}
"""What each moment needs. LangChain decides by a middleware's class which nodes and wrappers an agent gets, so the class has these only."""


@lru_cache(maxsize=256)
def _composed(cls: type[HooksMiddleware], moments: frozenset[str]) -> type[HooksMiddleware]:
    parts = dict.fromkeys(part for moment in _PARTS if moment in moments for part in _PARTS[moment])
    return type(cls.__name__, (*parts, cls), {}) if parts else cls


def _hooks(moment: str, given: Functions | None, ignores_failures: bool) -> tuple[Hook, ...]:
    if given is None:
        return ()
    functions = [given] if callable(given) else list(given)
    for function in functions:
        if not callable(function):
            raise ConfigurationError(f"{moment} is {function!r}. Give it a function of one event, or a list of such functions.")
    return tuple(Hook(moment, function, ignores_failures) for function in functions)


def _label(hook: Hook) -> str:
    name = getattr(hook.function, "__name__", type(hook.function).__name__)
    return "".join(character if character.isalnum() or character == "_" else "_" for character in name)
