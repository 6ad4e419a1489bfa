"""Warns a model that gets stuck once; after that, our code decides how to continue.

| a model that | is warned | and then |
|---|---|---|
| keeps making the same call with the same result | after 3 | stopped at the 4th |
| alternates two calls (A, B, A, B), each with the same result as before | after the 4th | stopped at the 5th |
| repeats a refused call, with the same arguments or others | after 3 | stopped at the 4th |
| repeats a change of state, or a question, that one of our rules refuses | after 3 | stopped at the 4th |
| calls tools that do not exist | after 3 | stopped at the 4th; with another name each time at the 6th |
| calls a tool with invalid arguments | after 3 | stopped at the 4th; at the 6th if the error differs |
| keeps writing the same large file | after 3 | stopped at the 4th |
| keeps giving a subagent the same task | after 3 | stopped at the 4th |
| gives a task to a subagent that gets stuck | at once | stopped at the next |
| never gives a valid structured answer | after 3 | stopped at the 4th; at the 6th if the error differs |
| gives arguments that are not JSON | at once | stopped at the 2nd |
| gives an empty answer | at once | stopped at the 2nd |
| gives only reasoning | at once | stopped at the 2nd |
| keeps making different calls that succeed | never, because that is work | limited by a budget and by the recursion limit |
| polls a state until it changes | never, because the result differs | continues |

*Stopped* means the first of these that is possible: the application's own way to continue (with its `fallback`, the tutor asks its
method's question); a question to the user, if the agent has `ask_user`; a final message that says what happened. None of this costs the
user a model call, and answers by our own code are not charged (`own_words`).

This middleware reads the last few messages of the thread (`turns.read_stall`) and remembers nothing else, so it works after a pause,
after a crash and in subagents. It does not touch tool calls, so approvals, effects and charges see them unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from langchain.agents.middleware.types import ModelResponse
from langchain_core.messages import AIMessage, HumanMessage

from stepwell.answers.clarification import ASK_USER
from stepwell.middleware.own_words import last_words, own_answer
from stepwell.middleware.request import ModelCall, RequestMiddleware
from stepwell.middleware.turns import read_stall
from stepwell.models.usage import label_of

Fallback = Callable[[ModelCall, str], AIMessage | None]
"""Takes a call that is not made, and what happened; returns what to say instead, or None. It may add to the call's `update`."""

_SILENT_BLOCKS = frozenset({"text", "reasoning", "thinking", "redacted_thinking", "tool_use", "tool_call", "invalid_tool_call"})


class StubbornModelMiddleware(RequestMiddleware):
    """Stops a model that makes no progress. `fallback` says how the application continues without the model."""

    reaches_subagents = True

    def __init__(self, *, fallback: Fallback | None = None) -> None:
        super().__init__()
        self._fallback = fallback

    def prepare(self, call: ModelCall) -> None:
        state: Mapping[str, Any] = call.request.state
        stall = read_stall(state.get("messages") or ())
        if stall is None:
            return
        if stall.is_over:
            call.answer = self._decide(call, stall.what)
        elif not stall.is_told:
            call.messages = [*call.messages, _note(_WARNING.format(what=stall.what))]

    def wants_another(self, call: ModelCall, response: ModelResponse[Any]) -> bool:
        fault = _silence(response)
        if fault is None:
            return False
        discard_shown(call, response, "silent")
        told = f"Your last answer could not be used: {fault}. The user has seen nothing. Answer in words now, or call a tool."
        call.messages = [*call.messages, _note(told)]
        return True

    def review(self, call: ModelCall, response: ModelResponse[Any]) -> ModelResponse[Any]:
        fault = _silence(response)
        if fault is None:
            return response
        answer = response.result[-1]
        if answer.text.strip():  # text beside a call that cannot be parsed
            return ModelResponse([*response.result[:-1], _without_broken_calls(cast("AIMessage", answer))])
        return ModelResponse([self._decide(call, f"The model was asked twice, and its answer could not be used: {fault}.")])

    def _decide(self, call: ModelCall, what: str) -> AIMessage:
        """The answer in the model's place."""
        if self._fallback and (answer := self._fallback(call, what)):
            return answer
        if any(getattr(tool, "name", None) == ASK_USER for tool in call.request.tools):
            return own_answer("", "stubborn", [_ask_user(call, f"I am stuck. {what} How should I go on?")])
        return last_words(
            f"I stopped, because I was getting nowhere. {what} Tell me how to go on.", call.request.state, "stubborn"
        )


_WARNING = (
    "You are getting nowhere: {what} Doing that again will not help. Do something else, or answer the user in plain words with what you "
    "have. If you do the same again, you will be stopped."
)


def _note(text: str) -> HumanMessage:
    """A note for this call only: it is not stored, so it never counts as the user's message."""
    return HumanMessage(f"[{text}]")


def _ask_user(call: ModelCall, question: str) -> Any:
    number = len(cast("Mapping[str, Any]", call.request.state).get("messages") or ())
    return {"name": ASK_USER, "args": {"question": question}, "id": f"ask_when_stuck_{number}", "type": "tool_call"}


def _silence(response: ModelResponse[Any]) -> str | None:
    """Why an answer gives the user nothing; None if it says or does something."""
    answer = response.result[-1] if response.result else None
    if answer is None or answer.type != "ai" or response.structured_response is not None:
        return None
    message = cast("AIMessage", answer)
    if message.tool_calls:
        return None
    if message.invalid_tool_calls:
        broken = message.invalid_tool_calls[0]
        return f"it called {broken.get('name') or 'a tool'} with arguments that are not valid JSON"
    if message.text.strip() or not _is_silent(message.content):
        return None
    if message.content or message.additional_kwargs.get("reasoning_content"):
        return "it had only reasoning in it, no text and no call of a tool"
    return "it was empty"


def _is_silent(content: str | list[Any]) -> bool:
    """Whether the content has nothing for the user. An image or a provider's own tool call counts as something."""
    return isinstance(content, str) or all(
        isinstance(block, str) or (isinstance(block, dict) and block.get("type") in _SILENT_BLOCKS) for block in content
    )


def _without_broken_calls(message: AIMessage) -> AIMessage:
    names = ", ".join(str(broken.get("name") or "a tool") for broken in message.invalid_tool_calls)
    text = f"{message.text.strip()}\n\n(The call of {names} was not made: its arguments were not valid JSON.)"
    return message.model_copy(update={"content": text, "invalid_tool_calls": [], "tool_calls": []})


def discard_shown(call: ModelCall, response: ModelResponse[Any], reason: str) -> None:
    """Send the same event as for a failed call, so that clients drop what they have shown of the message with this id."""
    tell_to_drop(call.request.runtime, response.result[-1].id, reason, label_of(call.request.model))


def tell_to_drop(runtime: Any, message_id: str | None, reason: str, model: str = "") -> None:
    """The same where the model is not known any more."""
    write = getattr(runtime, "stream_writer", None)
    if write is not None:
        event = {"type": "model_retry", "attempt": 2, "reason": reason, "model": model, "wait_s": 0.0}
        write({**event, "message_id": message_id})
