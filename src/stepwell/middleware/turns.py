"""A turn of an agent is everything that follows one message of the user. This module tells which turn it is (`turn_of`), and whether the
agent still makes progress in it (`read_stall`).

A run that paused for a person, or was resumed after a crash, continues the same turn, though LangGraph gives it another run id.
Everything here is read from the thread, so it works in another process too.

A *step* is an answer of the model with tool calls, and their results. A step is *barren* if every call failed, or if every call with its
result also appears in one of the earlier steps. Running the tests twenty times while fixing a program is work, and so is polling a job
until its state changes; getting the same result four times is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from stepwell.middleware.clarify import USER_WORDS
from stepwell.middleware.own_words import is_decided_by_person, is_own_answer, is_refusal, stands_in
from stepwell.tools.background import is_note

PATIENCE = 3
"""After this many barren steps or identical calls in a row, the model is warned."""
MAX_FAILURES = 6
"""After this many different failures in a row, the agent stops. Looking for a file under four names is still work."""
_WINDOW = 6
"""How many steps back we look for the same call with the same result."""
SENT_BACK = "rubric_grader"
"""The `lc_source` of messages with which `RubricMiddleware` sends an agent back to work."""
STUCK = "stepwell_stuck"
"""Marks the result of a subagent that made no progress."""


def turn_of(messages: Sequence[BaseMessage]) -> str:
    """The id of the user's last message; empty if there is none. A message that sends an agent back to work, and a background task that
    reports its end, continue the turn."""
    for message in reversed(messages):
        if message.type == "human" and message.additional_kwargs.get("lc_source") != SENT_BACK and not is_note(message):
            return message.id or ""
    return ""


def feedback_id(evaluation: Mapping[str, Any]) -> str:
    """The id of the message with which an evaluation of `RubricMiddleware` sends the agent back to work."""
    return f"{evaluation['grading_run_id']}-{evaluation['iteration']}"


@dataclass(frozen=True, slots=True)
class Stall:
    """The state of an agent that makes no progress."""

    is_told: bool
    """Whether the model was warned in an earlier step."""
    is_over: bool
    """Whether the model did the same again after the warning, or failed too often, so that our code decides."""
    what: str
    """What happened, in words."""


def read_stall(messages: Sequence[BaseMessage]) -> Stall | None:
    """The agent's state before its next model call; None while it makes progress. Only the last few steps matter."""
    if not messages or messages[-1].type != "tool" or is_own_answer(_newest_answer(messages)):
        return None  # the model has not been asked since a person, or our own code, spoke
    back = _steps_back(messages)
    steps = list(islice(back, 1 + _WINDOW))
    if not steps or not steps[0].is_barren(steps[1:]):
        return None
    steps += islice(back, MAX_FAILURES - 1)
    weights: list[int] = []
    for place, step in enumerate(steps[:MAX_FAILURES]):
        before = steps[place + 1 : place + 1 + _WINDOW]
        if not step.is_barren(before):
            break
        weights.append(step.weight)
    oldest = steps[len(weights) - 1]
    first = 0 if oldest.has_failed else 1  # the step that the oldest one repeats counts too
    now = sum(weights) + first
    earlier = sum(weights[1:]) + first if len(weights) > 1 else 0
    if now < PATIENCE:
        return None
    is_told = earlier >= PATIENCE
    same = steps[0].does_the_same(steps[1 : 1 + _WINDOW])
    is_over = is_told and (same or len(weights) >= MAX_FAILURES)
    return Stall(is_told, is_over, _describe(steps[: len(weights)], len(weights) + first))


def _newest_answer(messages: Sequence[BaseMessage]) -> BaseMessage:
    return next((message for message in reversed(messages) if message.type != "tool"), messages[-1])


@dataclass(frozen=True, slots=True)
class _Made:
    """A call and its result."""

    name: str
    args: Any
    result: ToolMessage

    @property
    def failed(self) -> bool:
        # If a structured answer cannot be parsed, the result looks like any other, and only its text says so.
        return self.result.status == "error" or _text(self.result).startswith("Error:")

    def repeats(self, other: _Made) -> bool:
        """Whether this is the same call with the same result as another; if both failed, their arguments may differ."""
        if self.name != other.name or not (self.args == other.args or (self.failed and other.failed)):
            return False
        return self._content() == other._content()

    def _content(self) -> str:
        return _text(self.result).replace(self.result.tool_call_id, "")  # a large result is named after its call


@dataclass(frozen=True, slots=True)
class _Step:
    made: list[_Made]

    @property
    def has_failed(self) -> bool:
        return all(each.failed for each in self.made)

    @property
    def weight(self) -> int:
        """How many barren steps this step counts as: `PATIENCE` if it called a subagent that was stopped as stuck, otherwise one."""
        return PATIENCE if any(each.result.additional_kwargs.get(STUCK) for each in self.made) else 1

    def is_barren(self, before: Sequence[_Step]) -> bool:
        return self.has_failed or self._repeats(self.made, before)

    def does_the_same(self, before: Sequence[_Step]) -> bool:
        others = [each for each in self.made if not is_refusal(each.result) and not each.result.additional_kwargs.get(STUCK)]
        return self._repeats(others, before)

    def _repeats(self, made: Sequence[_Made], before: Sequence[_Step]) -> bool:
        return all(any(each.repeats(other) for step in before for other in step.made) for each in made)


def _steps_back(messages: Sequence[BaseMessage]) -> Iterator[_Step]:
    """The turn's steps, newest first, back to where a person last spoke. An answer to a question that our code asked in the model's place
    does not end them, because it does not show progress by the model."""
    results: dict[str, ToolMessage] = {}
    heard = False
    for message in reversed(messages):
        # By type: `isinstance` takes ten times as long, and this runs in every step.
        if message.type == "tool":
            result = cast("ToolMessage", message)
            results[result.tool_call_id] = result
            heard = heard or USER_WORDS in result.additional_kwargs or is_decided_by_person(result)
            continue
        if message.type != "ai" or (heard and not stands_in(message)):
            return
        answer = cast("AIMessage", message)
        if not is_own_answer(answer):
            made = [
                _Made(call["name"], call["args"], results[call["id"]]) for call in answer.tool_calls if call["id"] in results
            ]
            if not made:
                return
            yield _Step(made)
        results, heard = {}, False


def _describe(steps: Sequence[_Step], times: int) -> str:
    made = [each for step in steps for each in step.made]
    names = " and ".join(sorted({each.name for each in made}))
    if not all(each.failed for each in made):
        return f"{names} gave nothing new {times} times in a row: the same calls, the same results."
    said = _text(made[0].result).strip().split("\n")[0][:200]
    happened = "refused" if all(is_refusal(each.result) for each in made) else "without success"
    return f"{names} was called {times} times in a row, {happened} each time; the last result was “{said}”."


def _text(message: ToolMessage) -> str:
    return message.content if isinstance(message.content, str) else str(message.content)
