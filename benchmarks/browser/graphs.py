"""The graphs that the page talks to while it is measured.

| graph | what it does |
|---|---|
| `talker` | asked "300 at 50", says 300 numbered words, 50 a second by the clock, one chunk each; the first chunk tells when it began |
| `one_change` | writes a file of 5,000 lines and asks before it changes one of them |
| `many_changes` | the same, and asks before it changes every tenth line |
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langgraph.graph import END, START, MessagesState, StateGraph

from stepwell.agent import create_deep_agent
from stepwell.testing import Asked, ScriptedModel, call, say

WORDS_IN_A_PARAGRAPH = 50
LINES = [f"line {number} of a report that somebody has to read before it is changed" for number in range(5_000)]
MENDED = [f"{line}, mended" if number % 10 == 5 else line for number, line in enumerate(LINES)]


class ClockedModel(BaseChatModel):
    """Says word after word, each when it is due: a reader that is late does not slow it down."""

    @property
    def _llm_type(self) -> str:
        return "benchmark-clocked"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError("The words of this model are streamed. Await it, with a stream open.")

    async def _astream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        count, per_second = (int(number) for number in messages[-1].text.split(" at "))
        began = time.time()
        yield _chunk(f"began {began * 1000:.0f}\n\n")
        for number in range(count):
            # A timer may be a millisecond late: what has become due meanwhile is said without another wait.
            if (wait := began + number / per_second - time.time()) > 0:
                await asyncio.sleep(wait)
            yield _chunk(f"w{number}" + (" " if (number + 1) % WORDS_IN_A_PARAGRAPH else "\n\n"))


def _chunk(text: str) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(text))


async def _talk(state: MessagesState) -> dict[str, Any]:
    return {"messages": [await ClockedModel().ainvoke(state["messages"])]}


def _build_talker() -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("model", _talk)
    builder.add_edge(START, "model")
    builder.add_edge("model", END)
    return builder.compile()


def _build_editor(old: str, new: str) -> Any:
    steps = [
        call("write_file", file_path="/report.md", content="\n".join(LINES)),
        call("edit_file", file_path="/report.md", old_string=old, new_string=new),
        say("The report is mended."),
    ]

    def answer(asked: Asked) -> Any:
        return steps[min(sum(message.type == "tool" for message in asked.messages), 2)]

    return create_deep_agent(ScriptedModel.answering(answer), interrupt_on={"edit_file": True})


# Servers take compiled graphs by name from this file, so here they are made when it is imported.
talker = _build_talker()
one_change = _build_editor(LINES[4321], f"{LINES[4321]}, mended")
many_changes = _build_editor("\n".join(LINES), "\n".join(MENDED))
