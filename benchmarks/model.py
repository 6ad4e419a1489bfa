"""A chat model that costs nearly nothing and plays a fixed list of turns; the same class for every contestant.

It knows where it is from the id of the last tool message (`turn-17-0`), so it keeps no place of its own, never scans the
history, and one instance can serve any number of concurrent runs. It must work where Stepwell is not installed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

Turn = list[tuple[str, dict[str, Any]]]
"""The tool calls of one answer, as (tool name, arguments)."""


class TurnsModel(BaseChatModel):
    """Answers with one turn of tool calls after the other, then with a closing sentence."""

    turns: list[Turn]
    delay_s: float = 0.0
    convert_schemas: bool = False
    """Turn the tools into JSON schemas at every binding, as models behind an HTTP API do."""
    stamps: list[float] = Field(default_factory=list)
    """CPU time of the process at each call."""
    requests: list[dict[str, Any]] = Field(default_factory=list)
    """What was sent, if `convert_schemas`: the messages and the tool schemas of each call."""

    @property
    def _llm_type(self) -> str:
        return "benchmark-turns"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        if self.convert_schemas:
            return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools])
        return self.bind(tools=tools)

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **sent: Any) -> ChatResult:
        if self.delay_s:
            time.sleep(self.delay_s)
        return self._answer(messages, sent)

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **sent: Any
    ) -> ChatResult:
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        return self._answer(messages, sent)

    def _answer(self, messages: list[BaseMessage], sent: dict[str, Any]) -> ChatResult:
        self.stamps.append(time.process_time())
        if self.convert_schemas:
            self.requests.append({"messages": messages, "tools": sent.get("tools", [])})
        last = messages[-1]
        number = int(last.tool_call_id.split("-")[1]) + 1 if isinstance(last, ToolMessage) else 0
        calls = [
            {"name": name, "args": arguments, "id": f"turn-{number}-{place}", "type": "tool_call"}
            for place, (name, arguments) in enumerate(self.turns[number] if number < len(self.turns) else [])
        ]
        message = AIMessage(content="" if calls else "Done.", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def noop_model(steps: int, **settings: Any) -> TurnsModel:
    """A model that calls the no-op tool `steps` times, once per turn."""
    return TurnsModel(turns=[[("noop", {"n": n})] for n in range(steps)], **settings)


def noop_tool() -> StructuredTool:
    """A tool that does nothing, in both colours, so that no thread is paid for."""

    def noop(n: int) -> str:
        """Do nothing."""
        return "ok"

    async def anoop(n: int) -> str:
        return "ok"

    return StructuredTool.from_function(noop, coroutine=anoop, name="noop", description="Do nothing.")
