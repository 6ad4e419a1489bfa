"""How a model's answer ended, in one form for all providers.

| LangChain's package | says it in | of a finished answer |
|---|---|---|
| openai (and what speaks its language), mistralai, groq, deepseek, xai | `finish_reason` | `stop`, `tool_calls`, `function_call` |
| openai with the Responses API | `status`, `incomplete_details` | `completed` |
| anthropic | `stop_reason` | `end_turn`, `tool_use`, `stop_sequence` |
| google-genai, google-vertexai | `finish_reason` | `STOP` |
| aws (Bedrock) | `stopReason` or `stop_reason` | `end_turn`, `tool_use`, `stop_sequence` |
| ollama | `done_reason` | `stop` |
| cohere | `finish_reason` | `COMPLETE`, `TOOL_CALL`, `STOP_SEQUENCE` |
| huggingface, ibm | `finish_reason` | `eos_token`, `stop_sequence` |

Every other reason, known or not, means that the answer may lack its end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from langchain_core.messages import AIMessage

ENDED = "stepwell_end"
"""Where a message says it, in `response_metadata`. Answers that were finished say nothing."""

Ending = Literal["refused", "cut short"]

# LangChain joins what several pieces of a stream say, so a reason may be there twice, or after the "null" of earlier pieces.
_FINISHED = re.compile(
    r"(?:null)*(?:stop|stop_sequence|stop_token|tool_calls?|tool_use|function_call|end_turn|eos|eos_token|completed?)+", re.I
)
_REFUSED = re.compile(r"refusal|content_filter|safety|prohibited_content|blocklist|spii|recitation|guardrail_intervened", re.I)
_CUT_SHORT = re.compile(r"max_(?:output_)?tokens|length|context_window_exceeded|continuation|^incomplete$", re.I)
_UNFINISHED_STATUS = frozenset({"incomplete", "failed", "cancelled", "in_progress", "queued"})


def ending_of(message: AIMessage) -> Ending | None:
    """`refused`: the provider's rules ended the answer. `cut short`: it reached the limit for its length. `None`: neither."""
    unfinished = [reason for reason in _reasons(message) if not _FINISHED.fullmatch(reason)]
    if any(map(_REFUSED.search, unfinished)):
        return "refused"
    return "cut short" if any(map(_CUT_SHORT.search, unfinished)) else None


def is_finished(message: AIMessage) -> bool:
    """Whether the provider says that the model ended its answer itself. False if the provider says nothing about it."""
    reasons = _reasons(message)
    return bool(reasons) and all(map(_FINISHED.fullmatch, reasons))


def may_be_cut(message: AIMessage) -> bool:
    """Whether the provider says that the answer ended in any other way. False if the provider says nothing about it."""
    return not all(map(_FINISHED.fullmatch, _reasons(message)))


def note_ending(message: AIMessage) -> None:
    """Let the message say it."""
    if ending := ending_of(message):
        message.response_metadata[ENDED] = ending


def _reasons(message: AIMessage) -> list[str]:
    """Everything that the provider says about the end."""
    said = message.response_metadata
    status, details = said.get("status"), said.get("incomplete_details")
    found = [said.get(name) for name in ("stop_reason", "stopReason", "finish_reason", "done_reason")]
    if status == "completed" or status in _UNFINISHED_STATUS:
        found.append(status)
    if isinstance(details, Mapping):
        found.append(details.get("reason") or "incomplete")
    return [reason for reason in found if isinstance(reason, str) and reason]
