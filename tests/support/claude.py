"""An Anthropic model without an account: it keeps the requests that it would send."""

from __future__ import annotations

from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field


class Claude(ChatAnthropic):
    """An Anthropic model that keeps the requests that it would send."""

    sent: list[dict[str, Any]] = Field(default_factory=list)

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        self.sent.append(self._get_request_payload(messages, stop=stop, **kwargs))
        return ChatResult(generations=[ChatGeneration(message=AIMessage("done"))])


def claude() -> Claude:
    return Claude(model_name="claude-sonnet-4-5", anthropic_api_key="none")  # type: ignore[call-arg]
