"""A turn as a chat completion: in one piece, or in chunks.

The text of a completion in one piece is the assistant's last message. A stream has every message that the assistant writes, with an empty
line between two of them: what was sent cannot be taken back. Tools that the assistant uses itself are not told, because a client would try
to call them; reasoning is told as `reasoning_content`, as DeepSeek and others do.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import orjson

from stepwell.answers.typed import read_line, wording
from stepwell.database.types import PendingInterrupt, RequestKey
from stepwell.errors import AnswerShapeError, InvalidRequestError, NotFoundError
from stepwell.server.bridges.openai.errors import error_body
from stepwell.server.bridges.openai.marks import mark
from stepwell.server.bridges.openai.requests import ChatRequest, Conversation
from stepwell.server.bridges.schemas import compact
from stepwell.server.bridges.turns import Outcome, Restarted, TextPiece, ThoughtPiece, Turn, Turns
from stepwell.server.sse import data_frame

_DONE = b"[DONE]"
STOPPED = "The run was stopped."


@dataclass(frozen=True)
class AskedAgain:
    """An answer that did not fit its question: no run was started, and the question is put again."""

    thread_id: str
    text: str


async def begin(turns: Turns, conversation: Conversation, headers: Any, key: RequestKey | None) -> Turn | AskedAgain:
    """Start the turn that a request asks for."""
    asking = conversation.thread_id or conversation.waiting_id
    if asking and (waiting := await turns.open_questions(asking)):
        try:
            answers = {each.interrupt_id: read_line(each.value, conversation.last, each.response_schema) for each in waiting}
            return await turns.answer(asking, answers, headers=headers, key=key)
        except (ValueError, AnswerShapeError) as error:
            return AskedAgain(asking, f"{error}\n\n{_worded(waiting)}{mark(asking)}")
    thread_id = conversation.thread_id
    given = {"messages": conversation.new if thread_id else list(conversation.messages)}
    context = _caller_tools(conversation)
    return await turns.begin(conversation.assistant_id, given, thread_id=thread_id, headers=headers, key=key, context=context)


def _caller_tools(conversation: Conversation) -> dict[str, Any] | None:
    if not conversation.tools:
        return None
    from stepwell.middleware.caller_tools import CALLER_TOOLS  # an agent that takes tools has loaded it already

    return {CALLER_TOOLS: list(conversation.tools)}


@dataclass
class Completion:
    """The response to one request."""

    request: ChatRequest
    tool_names: Collection[str]
    """The caller's tools."""
    completion_id: str
    created: int
    status: int = 200
    """The HTTP status, once `whole` has returned."""
    written: WrittenText = field(default_factory=lambda: WrittenText())

    async def whole(self, turn: Turn) -> bytes:
        """One completion, or an error."""
        outcome = await turn.outcome()
        if outcome.status in ("failed", "stopped"):
            self.status, body = _error(outcome)
            return body
        calls = self._calls(outcome)
        return orjson.dumps(self._completion(_text(turn, outcome), await _usage(turn), _place(turn, outcome), calls))

    def asked_again(self, again: AskedAgain) -> bytes:
        return orjson.dumps(self._completion(again.text, _no_usage(), {"thread_id": again.thread_id}))

    async def chunks(self, turn: Turn) -> AsyncGenerator[bytes, None]:
        yield self._chunk({"role": "assistant", "content": ""})
        try:
            async with aclosing(self._pieces(turn)) as pieces:
                async for piece in pieces:
                    yield piece
        except NotFoundError:
            yield data_frame(orjson.dumps(error_body("The thread was deleted, and its run with it.", 404)))
        yield data_frame(_DONE)
        for addition in turn.additions:  # after the end, where only clients look that have sent a payment
            yield await addition.last_event(turn.services, turn.run)

    async def _pieces(self, turn: Turn) -> AsyncGenerator[bytes, None]:
        async with aclosing(turn.follow()) as happenings:
            async for each in happenings:
                match each:
                    case TextPiece(message_id=message_id, text=text):
                        if told := self.written.add(message_id, text):
                            yield self._chunk({"content": told})
                    case ThoughtPiece(text=text):
                        yield self._chunk({"reasoning_content": text})
                    case Restarted():
                        self.written.begin_again()
                    case Outcome(status="failed" | "stopped"):
                        yield data_frame(_error(each)[1])
                    case Outcome():
                        async for piece in self._end(turn, each):
                            yield piece

    async def chunks_asked_again(self, again: AskedAgain) -> AsyncGenerator[bytes, None]:
        yield self._chunk({"role": "assistant", "content": again.text})
        yield self._chunk({}, "stop")
        yield data_frame(_DONE)

    async def _end(self, turn: Turn, outcome: Outcome) -> AsyncGenerator[bytes, None]:
        if outcome.status == "asks":
            told = self.written.add("the question", _question(turn, outcome))
            yield self._chunk({"content": told})
        calls = self._calls(outcome)
        if calls:
            yield self._chunk({"tool_calls": [{"index": number, **call} for number, call in enumerate(calls)]})
        yield self._chunk({}, "tool_calls" if calls else "stop", **_place(turn, outcome))
        if self.request.stream_options and self.request.stream_options.include_usage:
            yield data_frame(orjson.dumps({**self._head("chat.completion.chunk"), "choices": [], "usage": await _usage(turn)}))

    def _chunk(self, delta: dict[str, Any], finish: str | None = None, **place: str) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        more = {"metadata": place} if place else {}
        return data_frame(orjson.dumps({**self._head("chat.completion.chunk"), "choices": [choice], **more}))

    def _calls(self, outcome: Outcome) -> list[dict[str, Any]]:
        """The calls of the caller's tools with which the run has ended."""
        messages = outcome.values.get("messages") if isinstance(outcome.values, dict) else None
        last = messages[-1] if self.tool_names and isinstance(messages, list) and messages else {}
        return [
            {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": compact(call["args"])}}
            for call in last.get("tool_calls") or ()
            if call["name"] in self.tool_names
        ]

    def _completion(
        self, text: str, usage: dict[str, int], place: dict[str, str], calls: Sequence[dict[str, Any]] = ()
    ) -> dict[str, Any]:
        message = {"role": "assistant", "content": text, "refusal": None, **({"tool_calls": calls} if calls else {})}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls" if calls else "stop"}
        more = {"metadata": place} if place else {}
        return {**self._head("chat.completion"), "choices": [choice], "usage": usage, **more}

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.completion_id, "object": kind, "created": self.created, "model": self.request.model}


class WrittenText:
    """The text that a stream has sent. After a restart the model writes an unfinished message again: as long as its words are the same,
    they are not sent twice."""

    def __init__(self) -> None:
        self._message_id: str | None = None
        self._text = ""
        """What was sent of the newest message."""
        self._before: str | None = None
        """What was sent of it before the restart."""
        self._again = ""
        """What was written of it since, all of it the same words."""

    def begin_again(self) -> None:
        self._before, self._again = self._text, ""

    def add(self, message_id: str, text: str) -> str:
        """What to send for a piece."""
        if self._before:
            self._again += text
            if self._before.startswith(self._again):
                return ""
            before, text, self._before = self._before, self._again, None
            if text.startswith(before):
                self._message_id, self._text = message_id, text
                return text[len(before) :]
        gap = "\n\n" if self._text and self._message_id != message_id else ""
        self._text = self._text + text if self._message_id == message_id else text
        self._message_id = message_id
        return gap + text


def _error(outcome: Outcome) -> tuple[int, bytes]:
    """Why a run has no answer: the status, and the error. What an agent refuses of a request, such as a tool's name, is the caller's to
    change."""
    status = 400 if outcome.error_kind == InvalidRequestError.__name__ else 500
    return status, orjson.dumps(error_body(outcome.error or STOPPED, status, outcome.error_kind or "stopped"))


def _text(turn: Turn, outcome: Outcome) -> str:
    return _question(turn, outcome) if outcome.status == "asks" else outcome.text


def _question(turn: Turn, outcome: Outcome) -> str:
    return f"{_worded(outcome.questions) or 'The assistant waits.'}{mark(turn.run.thread_id)}"


def _worded(questions: Any) -> str:
    return "\n\n".join(_one(each) for each in questions)


def _one(pending: PendingInterrupt) -> str:
    return wording(pending.value, pending.response_schema)


def _place(turn: Turn, outcome: Outcome) -> dict[str, str]:
    """Where the conversation is stored, if it is."""
    if turn.run.request.delete_thread_after and outcome.status != "asks":
        return {}
    return {"thread_id": turn.run.thread_id, "run_id": turn.run.run_id}


async def _usage(turn: Turn) -> dict[str, int]:
    rows = await turn.services.persistence.records.usage(turn.principal.owner, "run", thread_id=turn.run.thread_id)
    mine = [row.usage for row in rows if row.key == turn.run.run_id]
    given, written = sum(each.input_tokens for each in mine), sum(each.output_tokens for each in mine)
    return {"prompt_tokens": given, "completion_tokens": written, "total_tokens": given + written}


def _no_usage() -> dict[str, int]:
    return {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
