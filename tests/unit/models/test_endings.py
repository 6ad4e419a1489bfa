"""How an answer ended, in the words of each provider's LangChain package."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage

from stepwell.models.endings import ending_of, is_finished, may_be_cut

FINISHED: list[dict[str, Any]] = [
    {"finish_reason": "stop"},  # OpenAI, Mistral, Groq, DeepSeek, xAI, vLLM, llama.cpp
    {"finish_reason": "tool_calls"},
    {"finish_reason": "function_call"},
    {"finish_reason": "STOP"},  # Google
    {"finish_reason": "STOPSTOP"},  # LangChain joins what several pieces of a stream say
    {"finish_reason": "nullnullstop"},
    {"status": "completed", "incomplete_details": None},  # OpenAI's Responses API
    {"stop_reason": "end_turn", "stop_sequence": None},  # Anthropic
    {"stop_reason": "tool_use"},
    {"stop_reason": "stop_sequence"},
    {"done": True, "done_reason": "stop"},  # Ollama
    {"stopReason": "end_turn"},  # Bedrock
    {"stopReason": "tool_use"},
    {"finish_reason": "COMPLETE"},  # Cohere
    {"finish_reason": "TOOL_CALL"},
    {"finish_reason": "eos_token"},  # Hugging Face
]
CUT_SHORT: list[dict[str, Any]] = [
    {"finish_reason": "length"},
    {"finish_reason": "MAX_TOKENS"},
    {"finish_reason": "STOPMAX_TOKENS"},
    {"finish_reason": "model_length"},
    {"finish_reason": "CONTINUATION"},
    {"stop_reason": "max_tokens"},
    {"stop_reason": "model_context_window_exceeded"},
    {"done_reason": "length"},
    {"stopReason": "max_tokens"},
    {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
    {"status": "incomplete"},
]
REFUSED: list[dict[str, Any]] = [
    {"finish_reason": "content_filter"},
    {"finish_reason": "SAFETY"},
    {"stop_reason": "refusal"},
    {"stopReason": "content_filtered"},
    {"stopReason": "guardrail_intervened"},
    {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
]
NOT_FINISHED: list[dict[str, Any]] = [
    {"finish_reason": "error"},
    {"finish_reason": "MALFORMED_FUNCTION_CALL"},
    {"finish_reason": "insufficient_system_resource"},
    {"finish_reason": "abort"},
    {"finish_reason": "a reason of next year"},
    {"stop_reason": "pause_turn"},
    {"status": "failed"},
    {"status": "cancelled"},
    {"status": "in_progress"},
    {"done_reason": "unload"},
]


@pytest.mark.parametrize("said", FINISHED, ids=str)
def test_a_finished_answer(said: dict[str, Any]):
    message = AIMessage("", response_metadata=said)
    assert (ending_of(message), is_finished(message), may_be_cut(message)) == (None, True, False)


@pytest.mark.parametrize("said", CUT_SHORT, ids=str)
def test_an_answer_that_reached_its_limit(said: dict[str, Any]):
    message = AIMessage("", response_metadata=said)
    assert (ending_of(message), is_finished(message), may_be_cut(message)) == ("cut short", False, True)


@pytest.mark.parametrize("said", REFUSED, ids=str)
def test_an_answer_that_the_provider_ended(said: dict[str, Any]):
    message = AIMessage("", response_metadata=said)
    assert (ending_of(message), is_finished(message), may_be_cut(message)) == ("refused", False, True)


@pytest.mark.parametrize("said", NOT_FINISHED, ids=str)
def test_every_other_ending_may_have_cut_something(said: dict[str, Any]):
    message = AIMessage("", response_metadata=said)
    assert (ending_of(message), is_finished(message), may_be_cut(message)) == (None, False, True)


@pytest.mark.parametrize(
    "said", [{}, {"finish_reason": None}, {"finish_reason": ""}, {"done": True}, {"status": "ok"}], ids=str
)
def test_nothing_said(said: dict[str, Any]):
    message = AIMessage("", response_metadata=said)
    assert (ending_of(message), is_finished(message), may_be_cut(message)) == (None, False, False)
