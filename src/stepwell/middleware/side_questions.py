"""`SideQuestionMiddleware`: a run that only answers a question about the conversation, with one model call and without tools.

Such a run works on a copy of the conversation, so nothing of it is stored in the thread. Its config says what it is
(`{"configurable": {"side_question": True}}`).
"""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware.types import ModelResponse
from langchain_core.messages import AIMessage
from langgraph.config import get_config

from stepwell.middleware.request import ModelCall, RequestMiddleware

SIDE_QUESTION = "side_question"
"""The key in a config's `configurable`."""
_SECTION = (
    "The user's last message is a side question. Answer it briefly from the conversation so far. You have no tools now, and the work "
    "that the conversation is about goes on without you: do not continue it."
)


class SideQuestionMiddleware(RequestMiddleware):
    """Takes the tools away from runs that answer a side question. A model that calls one all the same, as it sees in the conversation, has
    only its text counted."""

    def prepare(self, call: ModelCall) -> None:
        if is_side_question():
            call.tools = []
            call.sections.append(_SECTION)

    def mend(self, call: ModelCall, response: ModelResponse[Any]) -> ModelResponse[Any]:
        if (
            not any(isinstance(message, AIMessage) and message.tool_calls for message in response.result)
            or not is_side_question()
        ):
            return response
        answers = [
            AIMessage(message.text, id=message.id, usage_metadata=message.usage_metadata)
            for message in response.result
            if isinstance(message, AIMessage)
        ]
        return ModelResponse(result=list(answers), structured_response=response.structured_response)


def is_side_question() -> bool:
    """Whether the run under way only answers a side question. Outside of a run: False."""
    try:
        return bool((get_config().get("configurable") or {}).get(SIDE_QUESTION))
    except RuntimeError:
        return False
