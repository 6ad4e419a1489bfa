"""`before_model` and `after_model`: around each model call.

An answer is checked before it leaves the model's step, so what a check takes away is never stored. A function of `after_model` that pauses
is the exception: its answer is stored and streamed, because LangGraph would otherwise ask the model again when the run is resumed, and
a person's decision would apply to an answer that the person has not seen.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, cast

from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.constants import TAG_NOSTREAM
from langgraph.errors import GraphInterrupt
from langgraph.runtime import Runtime

from stepwell.middleware.moments.asking import Course, arun, consult, run
from stepwell.middleware.moments.base import HookedMiddleware, no_handler, place_of, withheld
from stepwell.middleware.moments.events import AnswerEvent, ModelEvent, SendBack
from stepwell.middleware.moments.structured import answering_call, with_result
from stepwell.middleware.own_words import own_answer
from stepwell.middleware.request import AsyncHandler, Handler, ModelCall, Response
from stepwell.middleware.stubborn import discard_shown, tell_to_drop

_PAUSED = "stepwell_hook_paused"
"""Marks an answer whose `after_model` pauses for a person, in `additional_kwargs`."""


class AroundModel(HookedMiddleware):
    def wrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> Response:
        return super().wrap_model_call(request, lambda prepared: run(self._around_model(prepared), handler))

    def awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> Coroutine[Any, Any, Response]:
        return super().awrap_model_call(request, lambda prepared: arun(self._around_model(prepared), handler))

    def _around_model(self, request: ModelRequest[Any]) -> Course:
        given = ModelEvent(
            **place_of(request.state, request.runtime),
            system_prompt=str(request.system_message.text) if request.system_message else "",
            messages=request.messages,
            tool_names=[_tool_name(tool) for tool in request.tools],
        )
        event, verdict = yield from consult(self.hooks["before_model"], given)
        if verdict:
            return ModelResponse([own_answer(verdict.sentence, "hook")])
        if event.messages is not request.messages:
            request = request.override(messages=list(event.messages))
        if self.hold_back:
            request = request.override(model=self._quiet(request.model))
        response = yield request
        if not self.hooks["after_model"]:
            return response
        response, again = yield from self._check_answer(request, response, 1)
        if again is None:
            return response
        response = yield request.override(messages=[*request.messages, *_told_again(response, again)])
        response, again = yield from self._check_answer(request, response, 2)
        return self._replace_answer(request, response, again.otherwise) if again else response

    def _check_answer(self, request: ModelRequest[Any], response: ModelResponse[Any], attempt: int) -> Course:
        """Ends with the response to use, and with what the model is told if it has to answer again."""
        message = next((each for each in reversed(response.result) if isinstance(each, AIMessage)), None)
        if message is None:
            return response, None
        try:
            place = place_of(request.state, request.runtime)
            given = _answer_event(place, message, attempt, response.result, response.structured_response)
            event, verdict = yield from consult(self.hooks["after_model"], given)
        except GraphInterrupt:
            # A pause here would ask the model again when the run is resumed. So the answer is stored, and `after_model` asks again.
            marked = message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, _PAUSED: True}})
            result = [marked if each is message else each for each in response.result]
            return ModelResponse(result, response.structured_response), None
        if isinstance(verdict, SendBack):
            self._drop_shown(request, message)
            return response, verdict
        if verdict:
            return self._replace_answer(request, response, verdict.sentence), None
        if event.message is message:
            return response, None
        results = [_followed(each, given, event) for each in response.result]
        changed = ModelResponse([each for each in results if each is not None], event.structured_response)
        return self._with_answer(request, changed, event.message), None

    def _replace_answer(self, request: ModelRequest[Any], response: ModelResponse[Any], text: str) -> ModelResponse[Any]:
        message = next(each for each in reversed(response.result) if isinstance(each, AIMessage))
        # The result of a call goes with it: that of a structured answer repeats the answer.
        rest = [each for each in response.result if not isinstance(each, ToolMessage)]
        return self._with_answer(request, ModelResponse(rest), withheld(_without_calls(message), text))

    def _with_answer(self, request: ModelRequest[Any], response: ModelResponse[Any], answer: AIMessage) -> ModelResponse[Any]:
        """The response with another answer. Its id is new, because streams would skip a second message with an id they have seen."""
        old = next(each for each in reversed(response.result) if isinstance(each, AIMessage))
        self._drop_shown(request, old)
        new = answer.model_copy(update={"id": f"{old.id}-checked" if old.id else None})
        return ModelResponse([new if each is old else each for each in response.result], response.structured_response)

    def _drop_shown(self, request: ModelRequest[Any], message: AIMessage) -> None:
        if not self.hold_back:
            discard_shown(ModelCall(request), ModelResponse([message]), "checked")

    def _quiet(self, model: BaseChatModel) -> BaseChatModel:
        """The model with a mark that keeps its tokens out of message streams."""
        known: tuple[BaseChatModel, BaseChatModel] | None = self.__dict__.get("_quiet_model")
        if known is None or known[0] is not model:
            known = (model, model.model_copy(update={"tags": [*(model.tags or ()), TAG_NOSTREAM]}))
            self.__dict__["_quiet_model"] = known
        return known[1]


class AfterPause(HookedMiddleware):
    """Asks `after_model` about an answer for which it pauses, in a step of its own, so that the model is not asked again."""

    def after_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return cast("dict[str, Any] | None", run(self._ask_again(state, runtime), no_handler))

    async def aafter_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return cast("dict[str, Any] | None", await arun(self._ask_again(state, runtime), no_handler))

    def _ask_again(self, state: Any, runtime: Runtime[Any]) -> Course:
        message = next((each for each in reversed(state["messages"]) if isinstance(each, AIMessage)), None)
        if message is None or not message.additional_kwargs.get(_PAUSED):
            return None
        results = [each for each in _following(state["messages"], message) if isinstance(each, ToolMessage)]
        structured = state.get("structured_response")
        given = _answer_event(place_of(state, runtime), message, 1, results, structured)
        event, verdict = yield from consult(self.hooks["after_model"], given)
        answer = event.message
        if verdict:
            answer = withheld(_without_calls(message), verdict.otherwise if isinstance(verdict, SendBack) else verdict.sentence)
        marks = {key: value for key, value in answer.additional_kwargs.items() if key != _PAUSED}
        answer = answer.model_copy(update={"id": message.id, "additional_kwargs": marks})
        update: dict[str, Any] = {}
        if structured is not None and (verdict or event.structured_response is not structured):
            update["structured_response"] = None if verdict else event.structured_response
        followed = [each for each in (_followed(each, given, event) for each in results) if each is not None]
        if not verdict and (event.message is message or followed):
            return {**update, "messages": [answer, *(each for each in followed if each not in results)]}
        # As in `_with_answer`: clients have the old message, and streams would skip a second one with its id.
        tell_to_drop(runtime, message.id, "checked")
        gone = [RemoveMessage(id=each.id or "") for each in (message, *results)]
        return {**update, "messages": [*gone, answer.model_copy(update={"id": f"{message.id}-checked"})]}


def _answer_event(
    place: dict[str, Any], message: AIMessage, attempt: int, results: Sequence[BaseMessage], structured: Any
) -> AnswerEvent:
    call_id = answering_call(message, results, structured)
    return AnswerEvent(**place, message=message, attempt=attempt, structured_response=structured, answering_call=call_id)


def _followed(result: BaseMessage, given: AnswerEvent, event: AnswerEvent) -> BaseMessage | None:
    return with_result(result, given.answering_call, given.structured_response, event.structured_response)


def _following(messages: Sequence[AnyMessage], message: AIMessage) -> Sequence[AnyMessage]:
    return messages[messages.index(message) + 1 :]


def _tool_name(tool: Any) -> str:
    return str(getattr(tool, "name", None) or (tool.get("name") if isinstance(tool, Mapping) else "") or "")


def _without_calls(message: AIMessage) -> AIMessage:
    return message.model_copy(update={"tool_calls": [], "invalid_tool_calls": []})


def _told_again(response: ModelResponse[Any], verdict: SendBack) -> list[AnyMessage]:
    """What the model sees when it has to answer again. None of it is stored."""
    text = next((str(each.text) for each in reversed(response.result) if isinstance(each, AIMessage)), "").strip()
    said: list[AnyMessage] = [AIMessage(text)] if text else []
    told = f"[Your last answer was not accepted, and the user has not seen it: {verdict.sentence} Answer again.]"
    return [*said, HumanMessage(told)]
