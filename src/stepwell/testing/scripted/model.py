"""`ScriptedModel`: a chat model that plays a script, for tests, benchmarks, examples and demonstrations.

It is a real LangChain chat model: it can be invoked and streamed, sync and async, bound to tools, given a profile, and used
like any other model. It makes no calls and no guesses: if the script does not cover a call, the call fails and says what was asked.

This module has only what LangChain needs from a model. Turns are in `replies`, their order in `scripts`, position and ids in `playing`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import isawaitable, iscoroutine
from typing import Any

from langchain_core.caches import BaseCache
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from pydantic import Field

from stepwell.testing.scripted.asked import Asked
from stepwell.testing.scripted.chunks import to_chunks
from stepwell.testing.scripted.playing import Player
from stepwell.testing.scripted.replies import Computed, Playable, Reply, ScriptError, as_turn
from stepwell.testing.scripted.scripts import Answering, ByAgent, ScriptLike, as_script


class ScriptedModel(BaseChatModel):
    """Plays a script: a list of replies in order, `each_run([...])`, or a function of what was asked."""

    cache: BaseCache | bool | None = Field(default=False, exclude=True)
    """Off, because a cached answer would leave its turn unplayed."""
    player: Player = Field(exclude=True, repr=False)
    """The model's state, made from the script. A field, because reading a private attribute of a pydantic model costs 6 µs."""

    def __init__(
        self,
        script: ScriptLike = (),
        *,
        usage: tuple[int, int] | None = None,
        remember: int | None = None,
        **fields: Any,
    ) -> None:
        """`usage`: input and output tokens of every reply that does not set its own. `remember`: the maximum number of records in
        `asked`.

        `fields` are those of any chat model, such as `profile={"max_input_tokens": 1000}`.
        """
        player = Player(as_script(script), usage=usage, remember=remember)
        super().__init__(player=player, **fields)  # type: ignore[call-arg]  # pydantic takes every field of the subclass

    @classmethod
    def answering(cls, answer: Callable[[Asked], Playable | Awaitable[Playable]], **options: Any) -> ScriptedModel:
        """A model without a position: `answer` decides every turn, for any number of concurrent runs."""
        return cls(Answering(answer), **options)

    @classmethod
    def by_agent(
        cls, scripts: Mapping[str, ScriptLike], *, key: Callable[[Asked], str] | None = None, **options: Any
    ) -> ScriptedModel:
        """One script per agent that shares this model, by the agent's `name` (`main` if it has none) or by `key(asked)`."""
        return cls(ByAgent(scripts, key), **options)

    @property
    def asked(self) -> list[Asked]:
        """The calls so far."""
        return list(self.player.asked)

    @property
    def last_asked(self) -> Asked:
        """The latest call; fails if there was none."""
        if not self.player.asked:
            raise AssertionError("The model was never asked (or it remembers nothing: remember=0).")
        return self.player.asked[-1]

    def assert_finished(self) -> None:
        """Fail unless the whole script was played and no check failed, including failures whose error was swallowed."""
        if self.player.failures:
            raise self.player.failures[0]
        unplayed = self.player.script.unplayed()
        if unplayed:
            raise ScriptError("The script was not played to its end.\n" + "\n".join(unplayed))

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | Any], *, tool_choice: Any = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind the tools unchanged. No schema is built; `asked.tool_schemas` does that on demand."""
        if tool_choice is not None:
            kwargs["tool_choice"] = tool_choice
        return self.bind(tools=list(tools), **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        asked, turn = self.player.ask(messages, stop, kwargs)
        return self._result(self._decide(turn, asked), asked)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        asked, turn = self.player.ask(messages, stop, kwargs)
        return self._result(await self._adecide(turn, asked), asked)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        asked, turn = self.player.ask(messages, stop, kwargs)
        reply = self._decide(turn, asked)
        for place, chunk in enumerate(self._chunks(reply, asked)):
            if place and reply.chunk_delay_s:
                time.sleep(reply.chunk_delay_s)
            yield chunk
        _raise_error_of(reply)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        asked, turn = self.player.ask(messages, stop, kwargs)
        reply = await self._adecide(turn, asked)
        for place, chunk in enumerate(self._chunks(reply, asked)):
            if place and reply.chunk_delay_s:
                await asyncio.sleep(reply.chunk_delay_s)
            yield chunk
        _raise_error_of(reply)

    def _decide(self, turn: Reply | Computed, asked: Asked) -> Reply:
        """Wait as long as the turn says, and call its function until there is a reply."""
        while True:
            if turn.delay_s:
                time.sleep(turn.delay_s)
            if isinstance(turn, Reply):
                return turn
            try:
                entry = turn.decide(asked)
                if isawaitable(entry):
                    raise _needs_async(entry)
            except AssertionError as failure:
                self.player.failures.append(failure)
                raise
            turn = _following(turn, entry)

    async def _adecide(self, turn: Reply | Computed, asked: Asked) -> Reply:
        """`_decide` for async calls, where the function may be async too."""
        while True:
            if turn.delay_s:
                await asyncio.sleep(turn.delay_s)
            if isinstance(turn, Reply):
                return turn
            try:
                entry = turn.decide(asked)
                if isawaitable(entry):
                    entry = await entry
            except AssertionError as failure:
                self.player.failures.append(failure)
                raise
            turn = _following(turn, entry)

    def _result(self, reply: Reply, asked: Asked) -> ChatResult:
        _raise_error_of(reply)
        return ChatResult(generations=[ChatGeneration(message=self.player.build(reply, asked))])

    def _chunks(self, reply: Reply, asked: Asked) -> Iterator[ChatGenerationChunk]:
        """The reply as a stream; a stream that breaks never sends the last chunk, which would mark it as complete."""
        if reply.error is not None and not reply.text and not reply.tool_calls and reply.message is None:
            return
        chunks = list(to_chunks(self.player.build(reply, asked)))
        shown = chunks if reply.error is None else chunks[:-1][: reply.cut_after]
        for chunk in shown:
            yield ChatGenerationChunk(message=chunk)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def __repr__(self) -> str:
        return f"ScriptedModel(asked {len(self.player.asked)} times)"


def _following(turn: Computed, entry: Playable) -> Reply | Computed:
    """The turn that a function decided, with the streaming delay of the `slow` around that function."""
    decided = as_turn(entry)
    if turn.chunk_delay_s and not decided.chunk_delay_s:
        return replace(decided, chunk_delay_s=turn.chunk_delay_s)
    return decided


def _raise_error_of(reply: Reply) -> None:
    """Raise a reply's error. An instance may be raised many times, and its old traceback would grow each time."""
    if isinstance(reply.error, BaseException):
        raise reply.error.with_traceback(None)
    if reply.error is not None:
        raise reply.error


def _needs_async(entry: Any) -> ScriptError:
    if iscoroutine(entry):
        entry.close()
    return ScriptError(
        "This turn is decided by an async function, but the model was called synchronously. Use ainvoke or astream."
    )
