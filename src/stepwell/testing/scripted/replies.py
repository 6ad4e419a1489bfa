"""The parts of a script: what a scripted model can do in one turn.

`say`, `call`, `calls` and `raw` answer. `fail` and `stream_then_fail` raise. `slow` delays, `repeat` multiplies, `reply` and `expect`
look at what was asked. A plain string, a message or an exception can be used in place of a reply.

A reply is a frozen value that may be played many times, even concurrently: the player (`playing`) builds the message from it, and
nothing here may keep a position.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from langchain_core.messages import AIMessage

from stepwell.testing.scripted.asked import Asked


class ScriptError(AssertionError):
    """What happened does not match the script. Only a test should catch it."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A tool call to make. Without its own id it gets the next one: `call_1`, `call_2` ..."""

    name: str
    args: dict[str, Any]
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One turn of the model, decided in advance."""

    text: str = ""
    tool_calls: tuple[PlannedCall, ...] = ()
    message: AIMessage | None = None
    """Set by `raw`: played unchanged, instead of text and tool calls."""
    error: BaseException | type[BaseException] | None = None
    """Raised instead of an answer; a stream first sends the other parts of the reply."""
    cut_after: int | None = None
    """With an error: how many chunks of the stream are sent before it."""
    delay_s: float = 0.0
    chunk_delay_s: float = 0.0
    usage: tuple[int, int] | None = None
    """Input and output tokens to report."""

    def saying(self, text: str) -> Reply:
        """The same turn with this text beside its tool calls."""
        return replace(self, text=text)

    def with_id(self, call_id: str) -> Reply:
        """The same turn with this id on its tool calls; ids may repeat, as with some providers."""
        return replace(self, tool_calls=tuple(replace(planned, id=call_id) for planned in self.tool_calls))

    def using(self, *, input_tokens: int, output_tokens: int) -> Reply:
        """The same turn with these token counts in its `usage_metadata`."""
        return replace(self, usage=(input_tokens, output_tokens))


@dataclass(frozen=True, slots=True)
class Computed:
    """A turn that is decided when it is played, from what was asked."""

    decide: Callable[[Asked], Playable | Awaitable[Playable]]
    delay_s: float = 0.0
    chunk_delay_s: float = 0.0


Playable: TypeAlias = Reply | Computed | AIMessage | str | BaseException | type[BaseException]
"""One entry of a script."""


def say(text: str) -> Reply:
    """Answer with text and no tool call, which ends an agent's loop."""
    return Reply(text=text)


def call(name: str, /, **args: Any) -> Reply:
    """Call one tool with these arguments."""
    return Reply(tool_calls=(PlannedCall(name, args),))


def calls(*turns: Reply, text: str = "") -> Reply:
    """Call several tools in one turn: `calls(call("ls", path="/"), call("glob", pattern="*.md"))`."""
    if any(not turn.tool_calls for turn in turns):
        raise TypeError("calls(...) joins tool calls only: give it call(...) values, and text by `text=`.")
    return Reply(text=text, tool_calls=tuple(planned for turn in turns for planned in turn.tool_calls))


def raw(message: AIMessage) -> Reply:
    """Play exactly this message: malformed calls, content blocks, metadata, your own ids.

    When streamed, malformed arguments go through LangChain's lenient JSON parser like any provider's, so `'{"a": 1'` becomes a
    valid call there, and `'not json'` does not.
    """
    return Reply(message=message)


def fail(error: BaseException | type[BaseException]) -> Reply:
    """Raise the error. The entry counts as played, so the next call continues with the rest of the script."""
    return Reply(error=error)


def stream_then_fail(
    partial: str | Reply, error: BaseException | type[BaseException], *, after_chunks: int | None = None
) -> Reply:
    """A connection that breaks: a stream sends the partial reply, or its first chunks, then raises. `invoke` just raises."""
    shown = say(partial) if isinstance(partial, str) else partial
    return replace(shown, error=error, cut_after=after_chunks)


def slow(turn: Playable, *, seconds: float = 0.0, seconds_per_chunk: float = 0.0) -> Reply | Computed:
    """Wait before the turn and, if streamed, before each further chunk. Async calls do not block the loop meanwhile."""
    return replace(as_turn(turn), delay_s=seconds, chunk_delay_s=seconds_per_chunk)


def reply(decide: Callable[[Asked], Playable | Awaitable[Playable]]) -> Computed:
    """Decide when the turn is played. An async function works only with async calls; it may wait for an event of the test."""
    return Computed(decide)


def expect(check: Callable[[Asked], object], *, then: Playable) -> Computed:
    """Check what was asked, then play `then`. The check fails by returning False or by raising AssertionError."""

    def checked(asked: Asked) -> Playable:
        try:
            passed = check(asked) is not False
        except AssertionError as failure:
            raise ScriptError(f"An expectation failed: {failure}\n{asked.describe()}") from failure
        if not passed:
            raise ScriptError(f"An expectation failed: {_name_of(check)} returned False.\n{asked.describe()}")
        return then

    return Computed(checked)


def repeat(*turns: Playable, times: int) -> list[Playable]:
    """These turns in order, repeated this many times. A script may contain such lists among its entries."""
    return list(turns) * times


def as_turn(entry: Playable) -> Reply | Computed:
    """The turn for a plain string, message or exception."""
    if isinstance(entry, Reply | Computed):
        return entry
    if isinstance(entry, str):
        return say(entry)
    if isinstance(entry, AIMessage):
        return raw(entry)
    if isinstance(entry, BaseException) or _is_error_class(entry):
        return fail(entry)
    raise TypeError(
        f"A script cannot hold a {type(entry).__name__}. Use say, call, calls, raw, fail, slow, reply or expect, "
        "or a string, an AIMessage or an exception."
    )


def as_turns(script: Iterable[Playable | Iterable[Playable]]) -> list[Reply | Computed]:
    """A script as a flat list; lists inside it, such as those of `repeat`, are flattened."""
    turns: list[Reply | Computed] = []
    for entry in script:
        if isinstance(entry, list | tuple):
            turns.extend(as_turns(entry))
        else:
            turns.append(as_turn(entry))  # type: ignore[arg-type]  # as_turn itself rejects anything else
    return turns


def _is_error_class(entry: object) -> bool:
    return isinstance(entry, type) and issubclass(entry, BaseException)


def _name_of(check: Callable[..., object]) -> str:
    """The name of a check and its line, which says more than the name of a lambda."""
    code = getattr(check, "__code__", None)
    name = getattr(check, "__qualname__", type(check).__name__)
    return f"`{name}`" if code is None or not inspect.isfunction(check) else f"`{name}` (line {code.co_firstlineno})"
