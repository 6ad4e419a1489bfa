"""What a scripted model was asked: one record per call, with queries for tests.

Recording must cost next to nothing, because benchmarks measure agents that run on a scripted model. So a record holds only references:
messages are not copied, and tool names and schemas are computed on demand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

SHOWN_CHARS = 300
"""How much of a long text an error message repeats."""

_REPLY_TYPES = ("ai", "AIMessageChunk")


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One call of the model."""

    number: int
    """The number of this call to the model, from 1."""
    agent: str
    """The `name` of the agent that asked; `main` if it has none."""
    messages: Sequence[BaseMessage]
    """All messages sent to the model, the system message first."""
    tools: Sequence[Any]
    """The tools on offer, as they were bound."""
    tool_choice: Any
    model_settings: Mapping[str, Any]
    """Every other keyword of the call, such as `temperature`."""
    stop: Sequence[str] | None = None

    @property
    def system(self) -> str:
        """The system text, empty if there is none."""
        return "\n".join(str(message.text) for message in self.messages if isinstance(message, SystemMessage))

    @property
    def human(self) -> str:
        """The text of the latest human message, empty if there is none."""
        return next((str(message.text) for message in reversed(self.messages) if isinstance(message, HumanMessage)), "")

    @property
    def first_human(self) -> str:
        """The text of the first human message: for a subagent, the task it was given."""
        return next((str(message.text) for message in self.messages if isinstance(message, HumanMessage)), "")

    @property
    def last(self) -> BaseMessage | None:
        """The latest message."""
        return self.messages[-1] if self.messages else None

    @property
    def turn(self) -> int:
        """How many model replies this conversation already has; 0 on its first call."""
        # By type: `isinstance` on a pydantic class takes twice as long, and this reads the whole history on every call.
        return sum(message.type in _REPLY_TYPES for message in self.messages)

    @property
    def results(self) -> list[ToolMessage]:
        """The tool results since the model's latest reply."""
        fresh: list[ToolMessage] = []
        for message in reversed(self.messages):
            if isinstance(message, AIMessage):
                break
            if isinstance(message, ToolMessage):
                fresh.append(message)
        return fresh[::-1]

    @property
    def tool_names(self) -> list[str]:
        """The names of the offered tools, in order."""
        return [_tool_name(tool) for tool in self.tools]

    @property
    def tool_schemas(self) -> list[dict[str, Any]]:
        """The offered tools in the format that a provider gets. Computed again on every access."""
        return [convert_to_openai_tool(tool) for tool in self.tools]

    def mentions(self, text: str) -> bool:
        """Whether the text occurs in any message, including the system message."""
        return any(text in str(message.text) for message in self.messages)

    def assert_offers(self, *names: str) -> None:
        """Fail unless all these tools are offered."""
        offered = self.tool_names
        missing = [name for name in names if name not in offered]
        if missing:
            raise AssertionError(f"Call {self.number} did not offer {missing}. It offered {offered}.")

    def assert_mentions(self, *texts: str) -> None:
        """Fail unless every text occurs in some message."""
        missing = [text for text in texts if not self.mentions(text)]
        if missing:
            raise AssertionError(f"No message of call {self.number} mentions {missing}.\n{self.describe()}")

    def describe(self) -> str:
        """A few lines for an error message: who asked, with which tools, and the end of the conversation."""
        return (
            f"Call {self.number}, by agent '{self.agent}': {len(self.messages)} messages, "
            f"tools {self.tool_names or 'none'}.\nLast message: {_show(self.last)}"
        )


def _tool_name(tool: Any) -> str:
    """A tool may be an object with a name, a function, a class, or a provider's dict in one of two shapes."""
    if isinstance(tool, Mapping):
        inner = tool.get("function")
        named = inner if isinstance(inner, Mapping) else tool
        return str(named.get("name") or named.get("title") or named.get("type"))
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", tool))


def _show(message: BaseMessage | None) -> str:
    if message is None:
        return "none"
    text = str(message.text)
    cut = text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}… ({len(text)} characters)"
    called = [call["name"] for call in message.tool_calls] if isinstance(message, AIMessage) else []
    return f"{message.type}: {cut!r}" + (f", calling {called}" if called else "")
