"""Tools of the caller: declared with a run, offered to the model beside the agent's own, and carried out by the caller.

```
run with configurable["caller_tools"] ─> model ─> a call of such a tool ─> the run ends; the call is in its last message
                                                  the caller runs the tool ─> the next run, with the result as a tool message
```
OpenAI's clients work like this: their `tools` come with each request. An agent takes them if it has this middleware; without it, the
server refuses them. If the model calls tools of both kinds at once, the agent's own are not run: the caller decides how to go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain.agents.middleware.types import hook_config
from langchain_core.messages import AIMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime

from stepwell.errors import InvalidRequestError
from stepwell.middleware.request import ModelCall, RequestMiddleware

CALLER_TOOLS = "caller_tools"
"""Where a run's configuration has them: a list of functions in OpenAI's form."""


class CallerToolsMiddleware(RequestMiddleware):
    """Lets an agent use tools that come with a run."""

    def prepare(self, call: ModelCall) -> None:
        declared = _declared()
        if not declared:
            return
        own = {
            each["name"] if isinstance(each, Mapping) and "name" in each else getattr(each, "name", None) for each in call.tools
        }
        if taken := own & declared.keys():
            raise InvalidRequestError(f"The agent has a tool '{min(map(str, taken))}' itself. Give the caller's another name.")
        call.tools = [*call.tools, *declared.values()]

    @hook_config(can_jump_to=["end"])
    def after_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        last = state["messages"][-1] if state.get("messages") else None
        if not isinstance(last, AIMessage) or not last.tool_calls:
            return None
        declared = _declared()
        return {"jump_to": "end"} if any(call["name"] in declared for call in last.tool_calls) else None

    @hook_config(can_jump_to=["end"])
    async def aafter_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return self.after_model(state, runtime)


def takes_caller_tools(graph: object) -> bool:
    """Whether a graph is an agent with this middleware."""
    return f"{CallerToolsMiddleware.__name__}.after_model" in getattr(graph, "nodes", ())


def _declared() -> dict[str, dict[str, Any]]:
    """Name -> tool, as the run declares them."""
    given = get_config()["configurable"].get(CALLER_TOOLS) or ()
    return {tool["function"]["name"]: tool for tool in given}
