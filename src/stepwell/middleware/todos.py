"""Planning with LangChain's to-do list, but with a short description and without its extra graph node.

LangChain checks for two `write_todos` calls in one turn after every model call, in a separate node. Here the tool itself checks, so a
step costs nothing if the plan does not change.
"""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware.todo import PlanningState, Todo, TodoListMiddleware
from langchain.agents.middleware.types import AgentMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.types import Command
from pydantic import BaseModel

from stepwell.middleware.prompts import load_prompt
from stepwell.middleware.request import RequestMiddleware
from stepwell.tools.effects import with_effect

TOOL_NAME = "write_todos"


class WriteTodosArgs(BaseModel):
    todos: list[Todo]


class PlanningMiddleware(RequestMiddleware, TodoListMiddleware):
    """`write_todos` and the section of the system prompt that teaches it."""

    state_schema = PlanningState
    # The tool below makes the check for which the base class adds a node.
    after_model = AgentMiddleware.after_model
    aafter_model = AgentMiddleware.aafter_model
    wrap_model_call = RequestMiddleware.wrap_model_call  # type: ignore[assignment]  # may also return state updates
    awrap_model_call = RequestMiddleware.awrap_model_call  # type: ignore[assignment]  # as above

    def __init__(self, *, system_prompt: str | None = None, tool_description: str | None = None) -> None:
        AgentMiddleware.__init__(self)
        self.prompt = load_prompt("todos") if system_prompt is None else system_prompt
        description = tool_description or load_prompt("write_todos")
        self.tools = [
            StructuredTool(
                name=TOOL_NAME, description=description, func=_write_todos, coroutine=_awrite_todos, args_schema=WriteTodosArgs
            )
        ]


@with_effect("read")  # a plan changes nothing outside of the conversation
def _write_todos(runtime: ToolRuntime, todos: list[Any]) -> Command[Any] | ToolMessage:
    if _calls_this_turn(runtime) > 1:
        return ToolMessage(
            "Error: write_todos was called several times in one turn, and each call replaces the whole list. Call it once.",
            name=TOOL_NAME,
            tool_call_id=runtime.tool_call_id or "",
            status="error",
        )
    done = sum(todo["status"] == "completed" for todo in todos)
    message = ToolMessage(f"{done} of {len(todos)} done.", name=TOOL_NAME, tool_call_id=runtime.tool_call_id or "")
    return Command(update={"todos": [dict(todo) for todo in todos], "messages": [message]})


async def _awrite_todos(runtime: ToolRuntime, todos: list[Any]) -> Command[Any] | ToolMessage:
    return _write_todos(runtime, todos)


# The annotations are classes, not names: LangChain resolves them for every new agent, and resolving a name costs more.
_write_todos.__annotations__ = _awrite_todos.__annotations__ = {"runtime": ToolRuntime, "todos": list}


def _calls_this_turn(runtime: ToolRuntime) -> int:
    for message in reversed(runtime.state.get("messages", [])):
        if isinstance(message, AIMessage):
            return sum(call["name"] == TOOL_NAME for call in message.tool_calls)
    return 0
