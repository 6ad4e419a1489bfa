"""The model that grades: an agent of its own, with tools if it is given some, which answers with a `GraderResponse`.

It is made when it is first needed. Its calls count towards the run that it grades for: it is run as a tool would be, within the middleware
that stands outermost (a budget, payments).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware
from langchain.agents.structured_output import MultipleStructuredOutputsError, StructuredOutputValidationError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.constants import TAG_NOSTREAM
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import Command

from stepwell import models
from stepwell.errors import ConfigurationError, MiddlewareError
from stepwell.middleware.effects import EffectsMiddleware, declares_once
from stepwell.middleware.own_words import is_own_answer
from stepwell.middleware.request import tool_runtime
from stepwell.middleware.rubric.transcript import SOURCE, write_payload
from stepwell.middleware.rubric.verdicts import GraderResponse
from stepwell.models.usage import label_of
from stepwell.secrets.errors import words_of

MAX_STEPS = 40
"""How many steps the grader may take for one judgement; a model that never gives one is given up."""

MAX_TRIES = 3
"""How often the grader may answer with something that is no judgement: values that do not fit, or a tool that it does not have."""

# What the grader writes is not the agent's answer, so it stays out of message streams.
_QUIETLY: RunnableConfig = {"tags": [TAG_NOSTREAM], "metadata": {"lc_source": SOURCE}, "recursion_limit": MAX_STEPS}


class ModelGrader:
    """What `RubricMiddleware` knows about the model that grades."""

    _model: str | BaseChatModel | None
    _system_prompt: str
    _tools: list[BaseTool]
    _around: Sequence[AgentMiddleware[Any, Any, Any]] = ()
    """The agent's outermost middleware."""
    _grader: Any = None

    def _ensure_grader(self) -> Any:
        if self._grader is None:
            if self._model is None:
                raise ConfigurationError("A rubric needs a model to judge it. Pass RubricMiddleware(model='provider:name').")
            effects = [EffectsMiddleware()] if declares_once(self._tools) else []
            inner: list[Any] = [_GiveUp([tool.name for tool in self._tools]), *self._around, *effects]
            self._grader = create_agent(
                model=models.resolve_model(self._model),
                system_prompt=self._system_prompt,
                tools=self._tools,
                name=SOURCE,
                response_format=GraderResponse,
                middleware=inner,
            )
        return self._grader

    def _grade(self, state: Mapping[str, Any], iteration: int) -> GraderResponse:
        return self._extract_graded(self._ensure_grader().invoke(self._asked(state, iteration), config=_QUIETLY))

    async def _agrade(self, state: Mapping[str, Any], iteration: int) -> GraderResponse:
        return self._extract_graded(await self._ensure_grader().ainvoke(self._asked(state, iteration), config=_QUIETLY))

    def _asked(self, state: Mapping[str, Any], iteration: int) -> dict[str, Any]:
        return {"messages": [HumanMessage(self._build_grader_payload(state, iteration))]}

    def _build_grader_payload(self, state: Mapping[str, Any], iteration: int) -> str:
        return write_payload(state.get("rubric") or "", state.get("messages") or (), iteration)

    @staticmethod
    def _extract_graded(result: Mapping[str, Any]) -> GraderResponse:
        graded = result.get("structured_response")
        if isinstance(graded, GraderResponse):
            return graded
        if graded is None:
            said = next((each for each in reversed(result.get("messages") or ()) if is_own_answer(each)), None)
            raise RuntimeError(str(said.text) if said else "It gave no structured_response.")
        return GraderResponse.model_validate(graded)

    def _judge(self, state: Mapping[str, Any], runtime: Runtime[Any], iteration: int) -> dict[str, Any]:
        """The judgement as plain data, and the `update` of the agent's state for what it cost."""
        if not self._around:
            return {"graded": self._grade(state, iteration).model_dump(), "update": {}}
        graded: list[GraderResponse] = []

        def grade(request: ToolCallRequest) -> Any:
            graded.append(self._grade(state, iteration))
            return _result(request)

        handler: Callable[[ToolCallRequest], Any] = grade
        for entry in reversed(self._around):
            handler = _within(entry.wrap_tool_call, handler)
        result = handler(_request(state, runtime, iteration))
        return {"graded": graded[0].model_dump(), "update": _update_of(result)}

    async def _ajudge(self, state: Mapping[str, Any], runtime: Runtime[Any], iteration: int) -> dict[str, Any]:
        if not self._around:
            return {"graded": (await self._agrade(state, iteration)).model_dump(), "update": {}}
        graded: list[GraderResponse] = []

        async def grade(request: ToolCallRequest) -> Any:
            graded.append(await self._agrade(state, iteration))
            return _result(request)

        handler: Callable[[ToolCallRequest], Awaitable[Any]] = grade
        for entry in reversed(self._around):
            handler = _within(entry.awrap_tool_call, handler)
        result = await handler(_request(state, runtime, iteration))
        return {"graded": graded[0].model_dump(), "update": _update_of(result)}

    def _what_broke(self, error: Exception) -> str:
        """An error of the grader, in words."""
        code = getattr(error, "status_code", None)
        status = f" (HTTP {code})" if isinstance(code, int) and not isinstance(code, bool) else ""
        model = self._model if isinstance(self._model, str) else label_of(self._model) if self._model else "none"
        how = f"(configured_model={model!r}, effective_strategy={_strategy_of(error)})"
        return f"Grader raised {type(error).__name__}{status} {how}: {words_of(error)}"


class _GiveUp(AgentMiddleware[Any, Any, Any]):
    """Ends a judgement that never comes, before the model is paid for another try."""

    def __init__(self, tools: Sequence[str]) -> None:
        super().__init__()
        self._evidence = frozenset(tools)

    def before_model(self, state: Any, runtime: Runtime[Any]) -> None:
        said = [each for each in state["messages"] if isinstance(each, AIMessage)]
        missed = sum(any(call["name"] not in self._evidence for call in each.tool_calls) for each in said)
        if missed >= MAX_TRIES:
            last = state["messages"][-1]
            why = f" {last.text}" if isinstance(last, ToolMessage) else ""
            raise MiddlewareError(f"In {MAX_TRIES} tries the model gave no judgement that can be read.{why}")


def _request(state: Mapping[str, Any], runtime: Runtime[Any], iteration: int) -> ToolCallRequest:
    call = ToolCall(name=SOURCE, args={}, id=f"{SOURCE}-{iteration}", type="tool_call")
    return ToolCallRequest(tool_call=call, tool=None, state=cast("Any", state), runtime=tool_runtime(state, runtime))


def _result(request: ToolCallRequest) -> ToolMessage:
    return ToolMessage("", name=SOURCE, tool_call_id=request.tool_call["id"] or "")


def _within(wrapper: Callable[..., Any], handler: Callable[..., Any]) -> Callable[..., Any]:
    return lambda request: wrapper(request, handler)


def _update_of(result: Any) -> dict[str, Any]:
    """What middleware around the call adds to the agent's state, such as what was spent. The call's own result is no message."""
    several = result if isinstance(result, list) else [result]
    updates = [each.update for each in several if isinstance(each, Command) and isinstance(each.update, Mapping)]
    return {key: value for update in updates for key, value in update.items() if key != "messages"}


def _strategy_of(error: BaseException) -> str:
    """The way in which the model gave its structured answer, as far as an error tells it."""
    if isinstance(error, MultipleStructuredOutputsError):
        return "ToolStrategy"
    if not isinstance(error, StructuredOutputValidationError):
        return "unknown"
    message: AIMessage = error.ai_message
    return "ToolStrategy" if any(call["name"] == GraderResponse.__name__ for call in message.tool_calls) else "ProviderStrategy"
