"""Approvals before tools run: LangChain's, with one difference. A wrong answer is refused before LangGraph keeps it.

LangChain's interrupt does not say what an answer looks like. LangGraph then keeps whatever comes, the node fails on it, and fails again
whenever the thread is resumed. Here the interrupt carries the shape of its answer: LangGraph checks an answer before it keeps it, lets
calls that were answered beside it finish, and leaves the interrupt open under the same id, in subagents too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.middleware.human_in_the_loop import HITLRequest
from langchain.agents.middleware.types import AgentState
from langchain_core.messages import AIMessage, ToolCall
from langgraph.config import get_config
from langgraph.errors import is_invalid_resume
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import PlainValidator, ValidationError, WithJsonSchema

from stepwell.answers import approvals_fault, approvals_schema
from stepwell.errors import AnswerShapeError
from stepwell.tools.files.order import EDITED_BY_A_PERSON

# LangGraph's names for what it hands to a node: the answers of this run by id, and the place where a bare one waits.
_ANSWERS_BY_ID, _SCRATCHPAD = "__pregel_resume_map", "__pregel_scratchpad"


class ApprovalMiddleware(HumanInTheLoopMiddleware[Any, Any, Any]):
    """`HumanInTheLoopMiddleware` that raises `AnswerShapeError` for an answer of the wrong shape, and goes on waiting."""

    @property
    def name(self) -> str:
        # The node's name is part of the ids of stored interrupts: it stays what it was before this class.
        return HumanInTheLoopMiddleware.__name__

    def after_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        message = next((each for each in reversed(state["messages"]) if isinstance(each, AIMessage)), None)
        calls = self._calls_to_ask(message, state, runtime)
        if message is None or not calls:
            return super().after_model(state, runtime)
        asked = [self._create_action_and_config(call, self.interrupt_on[call["name"]], state, runtime) for call in calls]
        decisions = _ask({"action_requests": [one for one, _ in asked], "review_configs": [two for _, two in asked]})
        answered = list(zip(calls, decisions, strict=True))
        edited = {call["id"]: one["edited_action"] for call, one in answered if one["type"] == "edit" and call.get("id")}
        said = [self._process_decision(one, call, self.interrupt_on[call["name"]])[1] for call, one in answered]
        return {"messages": [message, *(each for each in said if each)], EDITED_BY_A_PERSON: edited}

    def _calls_to_ask(self, message: AIMessage | None, state: AgentState[Any], runtime: Runtime[Any]) -> list[ToolCall]:
        if message is None or self.interrupt_mode == "per_call":  # those are asked when each call begins
            return []
        gated = [(call, self.interrupt_on.get(call["name"])) for call in message.tool_calls]
        return [call for call, config in gated if config and self._should_interrupt(call, config, state, runtime)]


def _ask(request: HITLRequest) -> list[Any]:
    """The decisions, one for each request."""

    def check(answer: Any) -> Any:
        if fault := approvals_fault(request, answer):
            raise ValueError(fault)
        return answer

    _drop_leftover_answer()
    shape: Any = Annotated[Mapping[str, Any], PlainValidator(check), WithJsonSchema(approvals_schema(request))]
    try:
        answer: Mapping[str, Any] = interrupt(request, response_schema=shape)
    except ValidationError as error:
        if not is_invalid_resume(error):
            raise
        raise _refusal(error) from error
    return list(answer["decisions"])


def _drop_leftover_answer() -> None:
    """LangGraph stores a bare answer with the checkpoint, whether it was taken or refused, and gives it to whatever that checkpoint asks
    next: a subagent's second approval would be answered by its first. In a run whose answers are named it can only be a leftover."""
    inside = get_config()["configurable"]
    if inside.get(_ANSWERS_BY_ID) and _SCRATCHPAD in inside:
        inside[_SCRATCHPAD].get_null_resume(True)


def _refusal(error: ValidationError) -> AnswerShapeError:
    fault = str(error.errors(include_url=False, include_input=False)[0]["ctx"]["error"])
    refused = AnswerShapeError(f"{fault} The interrupt is still open.")
    # The mark by which LangGraph knows that it was the answer that failed, not the node: it goes on with what runs beside it.
    vars(refused).update(vars(error))
    return refused
