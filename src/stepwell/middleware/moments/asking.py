"""How hooks are called: one course of events, written once as a generator, for sync and async code.

A course yields an `Ask` and gets what the function returned, or yields anything else (a request, a prompt) and gets what the handler
made of it. `run` drives a course in sync code, `arun` in async code:

| a function is | in sync code | in async code |
|---|---|---|
| sync | called | called in a thread, so that it may block |
| async | `MiddlewareError`, which says so | awaited |

A function that fails does not let anything through: the run fails with `MiddlewareError`, unless the middleware was told to
ignore failures. A pause (`interrupt`) and everything else that `control_flow` names passes.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from inspect import isawaitable, iscoroutinefunction
from typing import Any, TypeVar, cast

from stepwell.control_flow import let_pass
from stepwell.errors import MiddlewareError
from stepwell.in_thread import in_thread
from stepwell.middleware.moments.events import HookEvent, Verdict
from stepwell.secrets.errors import words_of

E = TypeVar("E", bound=HookEvent)
Course = Generator[Any, Any, Any]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Hook:
    """One function of one moment."""

    moment: str
    function: Callable[[Any], Any]
    ignores_failures: bool = False

    @property
    def label(self) -> str:
        return f"{self.moment} ({getattr(self.function, '__qualname__', type(self.function).__name__)})"

    @property
    def is_async(self) -> bool:
        call = getattr(self.function, "__call__", None)  # noqa: B004  an object with an async `__call__` is async too
        return iscoroutinefunction(self.function) or iscoroutinefunction(call)


@dataclass(frozen=True, slots=True)
class Ask:
    """A question of a course to one hook."""

    hook: Hook
    event: HookEvent


def consult(hooks: Sequence[Hook], event: E) -> Generator[Any, Any, tuple[E, Verdict | None]]:
    """Ask the hooks of one moment in their order. Each sees what the ones before it replaced; the first verdict ends the questions."""
    for hook in hooks:
        answer = yield Ask(hook, event)
        if answer is None:
            continue
        if isinstance(answer, event.verdicts):
            return event, cast("Verdict", answer)
        try:
            event = event.changed(answer)
        except TypeError:
            raise MiddlewareError(
                f"The hook {hook.label} returned a {type(answer).__name__}. It may return {event.may_return}."
            ) from None
    return event, None


def run(course: Course, handler: Callable[[Any], Any]) -> Any:
    """Drive a course in sync code."""
    advance: Callable[[Any], Any] = course.send
    value: Any = None
    while True:
        try:
            step = advance(value)
        except StopIteration as end:
            return end.value
        try:
            value, advance = (_call(step) if isinstance(step, Ask) else handler(step)), course.send
        except Exception as error:
            value, advance = error, course.throw


async def arun(course: Course, handler: Callable[[Any], Awaitable[Any]]) -> Any:
    """Drive a course in async code."""
    advance: Callable[[Any], Any] = course.send
    value: Any = None
    while True:
        try:
            step = advance(value)
        except StopIteration as end:
            return end.value
        try:
            value, advance = (await _acall(step) if isinstance(step, Ask) else await handler(step)), course.send
        except Exception as error:
            value, advance = error, course.throw


def _call(ask: Ask) -> Any:
    hook = ask.hook
    if hook.is_async:
        raise MiddlewareError(f"The hook {hook.label} is async, and this run is sync. Call the agent with ainvoke or astream.")
    try:
        answer = hook.function(ask.event)
    except Exception as error:
        return _fail(hook, error)
    if isawaitable(answer):
        raise MiddlewareError(f"The hook {hook.label} returned an awaitable, and this run is sync. Write it as async def.")
    return answer


async def _acall(ask: Ask) -> Any:
    hook = ask.hook
    try:
        if hook.is_async:
            return await hook.function(ask.event)
        answer = await in_thread(hook.function, ask.event)
        return await answer if isawaitable(answer) else answer
    except Exception as error:
        return _fail(hook, error)


def _fail(hook: Hook, error: Exception) -> None:
    """Report a hook that failed. Nothing goes past it, unless failures of this hook are to be ignored."""
    let_pass(error)
    if hook.ignores_failures:
        _log.warning("The hook %s failed and was ignored", hook.label, exc_info=error)
        return
    raise MiddlewareError(
        f"The hook {hook.label} failed: {type(error).__name__}: {words_of(error)}. Nothing goes past a check that fails. Fix it, or pass "
        'on_failure="ignore" if it only watches.'
    ) from error
