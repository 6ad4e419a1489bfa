"""Middleware that only prepares the model's request, and a way to fold several such middleware into one.

Every `wrap_model_call` in a stack costs time on every step, and an async one costs more than a graph node. Most capabilities only
add to the system prompt, change which messages the model sees, or look at its answer. They derive from `RequestMiddleware`, which works
alone in any `create_agent` stack; `fold` combines neighbours into a single wrapper.

A fold keeps the order of the stack: `prepare` runs from first to last, `review` from last to first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any, TypedDict, cast, get_type_hints

from langchain.agents.middleware.types import AgentMiddleware, AgentState, ExtendedModelResponse, ModelRequest, ModelResponse
from langchain.tools import ToolRuntime
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AnyMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import Command

from stepwell.control_flow import let_pass
from stepwell.middleware.listening import listening

Response = ModelResponse[Any] | AIMessage | ExtendedModelResponse[Any]
Handler = Callable[[ModelRequest[Any]], ModelResponse[Any]]
AsyncHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
ToolResult = ToolMessage | Command[Any]
ToolHandler = Callable[[ToolCallRequest], ToolResult]
AsyncToolHandler = Callable[[ToolCallRequest], Awaitable[ToolResult]]


class ModelCall:
    """A model call while it is being prepared."""

    __slots__ = ("answer", "entering", "listeners", "messages", "request", "sections", "tools", "update")

    def __init__(self, request: ModelRequest[Any], updates: Iterable[dict[str, Any] | None] = ()) -> None:
        self.request = request
        self.messages: list[AnyMessage] = request.messages
        """What the model will see. Replace this list, but never change it in place, because it may be the thread's own list."""
        self.tools: list[BaseTool | dict[str, Any]] = request.tools
        """What the model is offered. Replace this list, but never change it in place, because it is the agent's own list."""
        self.sections: list[str] = []
        """What follows the system prompt in this call: text that may differ from thread to thread, such as a file of the user's."""
        self.answer: AIMessage | None = None
        """Our own answer. If `prepare` sets it, the model is not called, and capabilities further inside do not see the call."""
        self.entering: Sequence[AnyMessage] = ()
        """Messages that come into the thread with this call. They are stored before the answer, whose `messages` must have them too."""
        self.listeners: list[BaseCallbackHandler] = []
        """Hear the model while it answers."""
        self.update: dict[str, Any] = {}
        """State to store together with the model's answer."""
        for update in updates:
            self.update.update(update or {})

    def stored(self, key: str) -> Any:
        """A value of the agent's state as it will be after this call."""
        return self.update[key] if key in self.update else cast("Mapping[str, Any]", self.request.state).get(key)


def tool_runtime(state: Any, runtime: Runtime[Any]) -> ToolRuntime[Any, Any]:
    """The runtime that a tool of this step would receive, for code around tools. Backend factories need it."""
    return ToolRuntime(
        state=state,
        context=runtime.context,
        config=get_config(),
        stream_writer=runtime.stream_writer,
        tool_call_id=None,
        store=runtime.store,
    )


class RequestMiddleware(AgentMiddleware[Any, Any, Any]):
    """A capability that prepares requests. Override `prompt`, `prepare`, `aprepare`, `mend`,
    `wants_another`, `review` or `recover` as needed."""

    prompt: str = ""
    """What to add to the system prompt."""

    tools: Sequence[BaseTool] = ()

    untraced = True
    """Its hooks run without LangChain's tracing wrapper (`agent/loop.py`)."""

    def prepare(self, call: ModelCall) -> None:
        """Change the call before the model gets it."""

    async def aprepare(self, call: ModelCall) -> None:
        """The same from async code; only needed if preparing may block."""
        self.prepare(call)

    def mend(self, call: ModelCall, response: ModelResponse[Any]) -> ModelResponse[Any]:
        """Repair the form of an answer, before any capability judges or reviews it."""
        return response

    def wants_another(self, call: ModelCall, response: ModelResponse[Any]) -> bool:
        """Whether the model should be asked once more because of its answer. Change the call's messages to tell the model why."""
        return False

    def review(self, call: ModelCall, response: ModelResponse[Any]) -> ModelResponse[Any]:
        """Look at the answer before it is stored."""
        return response

    def recover(self, call: ModelCall, error: Exception) -> dict[str, Any] | None:
        """State to store before the request is prepared again, if that may help against this error."""
        return None

    async def arecover(self, call: ModelCall, error: Exception) -> dict[str, Any] | None:
        """The same from async code."""
        return self.recover(call, error)

    @property
    def members(self) -> tuple[RequestMiddleware, ...]:
        """The capabilities that are folded into this one; only itself if nothing is."""
        return (self,)

    @cached_property
    def _preparing(self) -> list[tuple[RequestMiddleware, bool]]:
        """The members that prepare anything, each with whether it may wait in async code. Other members are not called."""
        marked = [(member, _overrides(member, "aprepare")) for member in self.members]
        return [(member, waits) for member, waits in marked if waits or _overrides(member, "prepare")]

    @cached_property
    def _reviewing(self) -> list[RequestMiddleware]:
        """The members that review answers, last first."""
        return [member for member in reversed(self.members) if _overrides(member, "review")]

    @cached_property
    def _mending(self) -> list[RequestMiddleware]:
        """The members that repair answers."""
        return [member for member in self.members if _overrides(member, "mend")]

    @cached_property
    def _doubting(self) -> list[RequestMiddleware]:
        """The members that may want another answer."""
        return [member for member in self.members if _overrides(member, "wants_another")]

    def wrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> Response:
        call = ModelCall(request)
        try:
            return self._ask(call, handler)
        except Exception as error:
            let_pass(error)
            remedies = [member.recover(call, error) for member in self.members]
            if not any(remedies):
                raise
            return self._ask(ModelCall(request, remedies), handler)

    def _ask(self, call: ModelCall, handler: Handler) -> Response:
        for member, _ in self._preparing:
            member.prepare(call)
            if call.answer is not None:
                return self._answer_itself(call, call.answer, member)
        with listening(*call.listeners):
            response = self._mend(call, handler(self._request(call)))
            if self._is_doubted(call, response):
                response = self._mend(call, handler(self._request(call)))
        return self._finish(call, response, self._reviewing)

    def awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> Coroutine[Any, Any, Response]:
        # LangChain wraps hooks for tracing, and an `async def` would cost a thread hop per call even with tracing off.
        return self._awrap_model_call(request, handler)

    async def _awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> Response:
        call = ModelCall(request)
        try:
            return await self._aask(call, handler)
        except Exception as error:
            let_pass(error)
            remedies = [await member.arecover(call, error) for member in self.members]
            if not any(remedies):
                raise
            return await self._aask(ModelCall(request, remedies), handler)

    async def _aask(self, call: ModelCall, handler: AsyncHandler) -> Response:
        for member, waits in self._preparing:
            if waits:
                await member.aprepare(call)
            else:
                member.prepare(call)
            if call.answer is not None:
                return self._answer_itself(call, call.answer, member)
        with listening(*call.listeners):
            response = self._mend(call, await handler(self._request(call)))
            if self._is_doubted(call, response):
                response = self._mend(call, await handler(self._request(call)))
        return self._finish(call, response, self._reviewing)

    def _mend(self, call: ModelCall, response: ModelResponse[Any]) -> ModelResponse[Any]:
        for member in self._mending:
            response = member.mend(call, response)
        return response

    def _is_doubted(self, call: ModelCall, response: ModelResponse[Any]) -> bool:
        return any(member.wants_another(call, response) for member in self._doubting)

    def _answer_itself(self, call: ModelCall, answer: AIMessage, member: RequestMiddleware) -> Response:
        """Our own answer, reviewed by the capabilities outside of the one that gave it."""
        outside = self.members[: self.members.index(member)]
        return self._finish(call, ModelResponse([answer]), [each for each in self._reviewing if each in outside])

    def _request(self, call: ModelCall) -> ModelRequest[Any]:
        request = call.request
        changed: dict[str, Any] = {}
        if call.messages is not request.messages:
            changed["messages"] = call.messages
        if call.tools is not request.tools:
            changed["tools"] = call.tools
        system = self._system_message(request.system_message)
        if call.sections:
            system = with_sections(system, call.sections)
        if system is not request.system_message:
            changed["system_message"] = system
        return request.override(**changed) if changed else request

    def _finish(self, call: ModelCall, response: ModelResponse[Any], reviewing: Sequence[RequestMiddleware]) -> Response:
        for member in reviewing:
            response = member.review(call, response)
        if call.entering:
            response = ModelResponse([*call.entering, *response.result], response.structured_response)
        return ExtendedModelResponse(response, Command(update=call.update)) if call.update else response

    def _system_message(self, given: SystemMessage | None) -> SystemMessage | None:
        """The system prompt with this capability's section. It is built once per prompt, since it is the same on every step."""
        known: tuple[SystemMessage | None, SystemMessage | None] | None = self.__dict__.get("_built_prompt")
        if known is not None and known[0] is given:
            return known[1]
        sections = [member.prompt for member in self.members if member.prompt]
        built = with_sections(given, sections) if sections else given
        self.__dict__["_built_prompt"] = (given, built)
        return built


def _overrides(member: RequestMiddleware, hook: str) -> bool:
    return getattr(type(member), hook) is not getattr(RequestMiddleware, hook)


def with_sections(system: SystemMessage | None, sections: Sequence[str]) -> SystemMessage:
    """A system message followed by more sections."""
    if system is None:
        return SystemMessage("\n\n".join(sections))
    if isinstance(system.content, str):
        return SystemMessage("\n\n".join([system.content, *sections]))
    blocks: list[Any] = [*system.content, *({"type": "text", "text": "\n\n" + section} for section in sections)]
    return SystemMessage(content=blocks)


class FoldedMiddleware(RequestMiddleware):
    """Several request capabilities as one. The agent builder adds their sections to the system prompt (see `sections`)."""

    def __init__(self, members: Sequence[RequestMiddleware]) -> None:
        super().__init__()
        self._members = tuple(members)
        self.tools = [tool for member in members for tool in member.tools]
        self.transformers = tuple(factory for member in members for factory in member.transformers)
        self.state_schema = merged_schema(tuple(member.state_schema for member in members))

    @property
    def members(self) -> tuple[RequestMiddleware, ...]:
        return self._members

    @property
    def name(self) -> str:
        return "+".join(member.name for member in self._members)

    def _system_message(self, given: SystemMessage | None) -> SystemMessage | None:
        return given


class FoldedToolMiddleware(FoldedMiddleware):
    """A fold with members that also wrap tool calls; the first is the outermost."""

    def __init__(self, members: Sequence[RequestMiddleware]) -> None:
        super().__init__(members)
        self._around_tools = [member for member in members if wraps_tools(member)]

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        for member in reversed(self._around_tools):
            handler = _bind(member.wrap_tool_call, handler)
        return handler(request)

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine, as `awrap_model_call` does
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        for member in reversed(self._around_tools):
            handler = _bind(member.awrap_tool_call, handler)
        return handler(request)


def wraps_tools(middleware: AgentMiddleware[Any, Any, Any]) -> bool:
    """Whether a middleware wraps tool calls."""
    cls = type(middleware)
    return (
        cls.wrap_tool_call is not AgentMiddleware.wrap_tool_call or cls.awrap_tool_call is not AgentMiddleware.awrap_tool_call
    )


def sections(folded: Iterable[AgentMiddleware[Any, Any, Any]]) -> list[str]:
    """The system prompt sections of folded capabilities. They are added once, when the agent is built, and so cost nothing per step."""
    folds = [entry for entry in folded if isinstance(entry, FoldedMiddleware)]
    return [member.prompt for entry in folds for member in entry.members if member.prompt]


def fold(stack: Iterable[AgentMiddleware[Any, Any, Any]]) -> list[AgentMiddleware[Any, Any, Any]]:
    """The stack with neighbouring request capabilities folded. Middleware with graph nodes of its own stays as it is."""
    folded: list[AgentMiddleware[Any, Any, Any]] = []
    for foldable, group in groupby(stack, key=lambda entry: _is_foldable(cast("Any", type(entry)))):
        members = list(group)
        if not foldable:
            folded.extend(members)
            continue
        requests = cast("list[RequestMiddleware]", members)
        kind = FoldedToolMiddleware if any(wraps_tools(member) for member in requests) else FoldedMiddleware
        folded.append(kind(requests))
    return folded


_NODE_HOOKS = tuple(f"{a}{when}_{what}" for a in ("", "a") for when in ("before", "after") for what in ("agent", "model"))


@lru_cache(maxsize=256)
def _is_foldable(cls: Any) -> bool:
    return (
        issubclass(cls, RequestMiddleware)
        and cls.wrap_model_call is RequestMiddleware.wrap_model_call
        and cls.awrap_model_call is RequestMiddleware.awrap_model_call
        and all(getattr(cls, hook) is getattr(AgentMiddleware, hook) for hook in _NODE_HOOKS)
    )


@lru_cache(maxsize=64)
def merged_schema(schemas: tuple[type, ...]) -> type:
    """One state schema with the fields of several schemas. It is cached, because LangChain resolves each new type from scratch."""
    distinct = tuple(dict.fromkeys(schemas))
    if len(distinct) == 1:
        return distinct[0]
    fields: dict[str, Any] = dict(get_type_hints(AgentState, include_extras=True))
    for schema in distinct:
        fields.update(get_type_hints(schema, include_extras=True))
    return cast("type", TypedDict("FoldedState", fields))  # type: ignore[operator]  # made at run time from other schemas


def _bind(wrapper: Callable[..., Any], handler: Callable[..., Any]) -> Callable[[ToolCallRequest], Any]:
    return lambda request: wrapper(request, handler)
