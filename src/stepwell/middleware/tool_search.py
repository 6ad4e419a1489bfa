"""Tools that cost nothing until they are needed: the model is offered `tool_search` in their place.

```
offered   the other tools, tool_search | deferred tools that this thread has loaded, in the order of loading
```
What stands before the bar never changes, so a provider's cache of the prompt stays valid up to there. The names of loaded tools are
state of the thread; a subagent has its own. If the model's provider searches tools itself, deferred tools are sent to it with its mark,
and it decides what the model reads (LangChain's `ProviderToolSearchMiddleware`).

A deferred tool runs only once it is loaded: a call before that is answered with how to load it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import ProviderToolSearchMiddleware
from langchain.agents.middleware.types import AgentState, ModelRequest, ModelResponse, PrivateStateAttr
from langchain.tools import ToolRuntime
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command
from pydantic import BaseModel, Field

from stepwell.middleware.approvals import ask_only_if
from stepwell.middleware.own_words import refuse
from stepwell.middleware.request import AsyncToolHandler, ModelCall, RequestMiddleware, ToolHandler, ToolResult
from stepwell.models.own_tool_search import searches_tools_itself
from stepwell.tools.catalog import MAX_LOADED, MAX_SELECTED, SELECT, Catalog, CatalogMemory, Found, is_deferred
from stepwell.tools.effects import with_effect

TOOL_NAME = "tool_search"
LOADED = "loaded_tools"
"""The state key of the names of loaded tools."""


def add_loaded(state: list[str], names: Sequence[str]) -> list[str]:
    """The names with new ones at the end. Searches of one step are added one after another."""
    return list(dict.fromkeys([*(state or ()), *names]))


class ToolSearchState(AgentState[Any]):
    """State with the names of the deferred tools that this thread has loaded."""

    loaded_tools: NotRequired[Annotated[list[str], PrivateStateAttr, add_loaded]]


class ToolSearchArgs(BaseModel):
    query: str = Field(description=f"what you want to do, in a few words; or {SELECT}name1,name2")


class ToolSearchMiddleware(RequestMiddleware):
    """Offers deferred tools (`extras={"defer_loading": True}`) through `tool_search`. `create_deep_agent` adds it if there are any.

    `native` says whether the provider's own search is used: True, False, or None for what is known about the model and its address.
    """

    state_schema = ToolSearchState
    if_names_conflict = f"The agent searches its deferred tools with '{TOOL_NAME}': rename yours, or defer no tools."

    def __init__(self, *, native: bool | None = None) -> None:
        super().__init__()
        self._native = native
        self._catalogs = CatalogMemory()
        self._provider = ProviderToolSearchMiddleware[Any, Any]()
        self._described: tuple[Catalog | None, BaseTool] = (None, self._search_tool("Find and load more tools."))
        self.tools = [self._described[1]]

    def prepare(self, call: ModelCall) -> None:
        catalog = self._catalogs.of(call.tools)
        offered = [tool for tool in call.tools if not is_deferred(tool) and not _is_search(tool)]
        if not catalog.tools:
            call.tools = offered
        elif self._uses_native(call.request.model):
            call.tools = self._native_tools(call.request, [*offered, *catalog.tools.values()])
        else:
            call.tools = [*offered, self._describe(catalog), *catalog.loaded(call.stored(LOADED) or ())]

    def review(self, call: ModelCall, response: ModelResponse[Any]) -> ModelResponse[Any]:
        """Note the deferred tools that a model found with its provider's search. They stay loaded if another model takes over."""
        if self._uses_native(call.request.model):
            known = self._catalogs.of(call.request.tools).tools
            calls = [each for message in response.result if isinstance(message, AIMessage) for each in message.tool_calls]
            if found := [each["name"] for each in calls if each["name"] in known]:
                call.update[LOADED] = found
        return response

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        return self._refusal(request) or _without_names(request, handler(request))

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        refusal = self._refusal(request)
        if refusal is not None:
            return _ready(refusal)
        return handler(request) if request.tool is not None else _answer_without_names(request, handler)

    def _refusal(self, request: ToolCallRequest) -> ToolMessage | None:
        call, tool = request.tool_call, request.tool
        if tool is None or not is_deferred(tool) or tool.name in _loaded(request.state):
            return None
        return refuse(
            call,
            f"Error: {tool.name} is not loaded, so it was not run. Load it with {TOOL_NAME}(query='{SELECT}{tool.name}'), then call it "
            "with the arguments that its description names.",
        )

    def _uses_native(self, model: BaseChatModel) -> bool:
        return searches_tools_itself(model) if self._native is None else self._native

    def _native_tools(self, request: ModelRequest[Any], tools: list[Any]) -> list[Any]:
        prepared: Any = self._provider.wrap_model_call(request.override(tools=tools), lambda request: request)  # type: ignore[arg-type, return-value]  # only the request is wanted
        return list(prepared.tools)

    def _describe(self, catalog: Catalog) -> BaseTool:
        """`tool_search` with a description that says what there is to find. The same object as long as the deferred tools are the same."""
        known, tool = self._described
        if known is not catalog:
            contents = f": {summary}" if (summary := catalog.summary()) else ""
            tool = self._search_tool(
                f"Find and load more tools, which are not listed here. There are {len(catalog.tools)}{contents}. "
                f"Loads the best {MAX_LOADED} for the query; call them afterwards like any other tool."
            )
            self._described = (catalog, tool)
        return tool

    def _search_tool(self, description: str) -> BaseTool:
        return StructuredTool(
            name=TOOL_NAME, description=description, func=self._search, coroutine=self._asearch, args_schema=ToolSearchArgs
        )

    @with_effect("read")
    def _search(self, runtime: ToolRuntime, query: str) -> Command[Any] | ToolMessage:
        catalog = self._catalogs.of(runtime.tools)
        return _load(runtime, query, catalog, catalog.find(query))

    async def _asearch(self, runtime: ToolRuntime, query: str) -> Command[Any] | ToolMessage:
        catalog = self._catalogs.of(runtime.tools)
        # In a thread: the first search of a thousand tools makes an index, which takes longer than an event loop should wait.
        return _load(runtime, query, catalog, await asyncio.to_thread(catalog.find, query))


# The annotations are classes, not names: LangChain resolves them for every new agent, and resolving a name costs more.
ToolSearchMiddleware._search.__annotations__ = {"runtime": ToolRuntime, "query": str}
ToolSearchMiddleware._asearch.__annotations__ = {"runtime": ToolRuntime, "query": str}


def _load(runtime: ToolRuntime, query: str, catalog: Catalog, found: Found) -> Command[Any] | ToolMessage:
    wanted = [tool.name for tool in found.tools]
    names, left = wanted[:MAX_SELECTED], wanted[MAX_SELECTED:]
    if not names:
        return refuse(
            {"name": TOOL_NAME, "args": {}, "id": runtime.tool_call_id, "type": "tool_call"}, _nothing(catalog, query)
        )
    before = _loaded(runtime.state)
    message = ToolMessage(
        _say([name for name in names if name not in before], [name for name in names if name in before], left, found.unknown),
        name=TOOL_NAME,
        tool_call_id=runtime.tool_call_id or "",
    )
    return Command(update={LOADED: names, "messages": [message]})


def ask_once_loaded(interrupt_on: Mapping[str, Any], tools: Iterable[Any]) -> dict[str, Any]:
    """The same approvals, except that nobody is asked about a deferred tool that is not loaded, because such a call is not run."""
    deferred = {tool.name for tool in tools if is_deferred(tool)}
    return ask_only_if(interrupt_on, deferred, lambda request: request.tool_call["name"] in _loaded(request.state))


def _is_search(tool: object) -> bool:
    return isinstance(tool, BaseTool) and tool.name == TOOL_NAME


def _loaded(state: Any) -> Sequence[str]:
    return (state.get(LOADED) or ()) if isinstance(state, Mapping) else ()


def _without_names(request: ToolCallRequest, result: ToolResult) -> ToolResult:
    """Our own words for an unknown name. LangGraph's would list the names of all tools, deferred ones included."""
    call = request.tool_call
    unknown = isinstance(result, ToolMessage) and result.status == "error" and "is not a valid tool" in result.text
    if request.tool is not None or not unknown:
        return result  # a tool that middleware further inside provides has no object here, and is left alone
    return refuse(call, f"Error: there is no tool '{call['name'][:80]}'. Look for one with {TOOL_NAME}(query).")


async def _answer_without_names(request: ToolCallRequest, handler: AsyncToolHandler) -> ToolResult:
    return _without_names(request, await handler(request))


async def _ready(result: ToolMessage) -> ToolResult:
    return result


def _say(new: Sequence[str], before: Sequence[str], left: Sequence[str], unknown: Sequence[str]) -> str:
    parts = [f"Loaded: {', '.join(new)}."] if new else []
    parts += [f"Already loaded: {', '.join(before)}."] if before else []
    if left:
        shown = ", ".join(left[:MAX_SELECTED]) + (f" and {len(left) - MAX_SELECTED} more" if len(left) > MAX_SELECTED else "")
        parts += [f"Not loaded, because one search loads at most {MAX_SELECTED}: {shown}. Search for them again."]
    parts += ["There is no tool " + ", ".join(f"'{name[:80]}'" for name in unknown) + "."] if unknown else []
    return " ".join([*parts, "Call them like your other tools."])


def _nothing(catalog: Catalog, query: str) -> str:
    summary = catalog.summary()
    contents = f": {summary}" if summary else ""
    return (
        f"Error: no tool fits '{query[:80]}'. There are {len(catalog.tools)} to find{contents}. "
        "Try other words, or a word for the thing it works on."
    )
