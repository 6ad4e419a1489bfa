"""Why a model's answer ended before it was finished, in one form for all providers."""

from __future__ import annotations

from typing import Literal

from langchain_core.messages import AIMessage

ENDED = "stepwell_end"
"""Where a message says it, in `response_metadata`. Answers that were finished say nothing."""

Ending = Literal["refused", "cut short"]

_REASONS: dict[str, Ending] = {
    "refusal": "refused",
    "content_filter": "refused",
    "safety": "refused",
    "prohibited_content": "refused",
    "blocklist": "refused",
    "spii": "refused",
    "recitation": "refused",
    "max_tokens": "cut short",
    "length": "cut short",
    "model_length": "cut short",
    "model_context_window_exceeded": "cut short",
}


_FINISHED = frozenset({"stop", "tool_calls", "tool_use", "function_call", "end_turn", "eos"})


def ending_of(message: AIMessage) -> Ending | None:
    """`refused`: the provider's rules ended the answer. `cut short`: it reached the limit for its length. `None`: it is complete."""
    said = message.response_metadata
    reasons = (said.get(name) for name in ("stop_reason", "finish_reason", "done_reason"))
    return next(
        (_REASONS[reason.lower()] for reason in reasons if isinstance(reason, str) and reason.lower() in _REASONS), None
    )


def is_finished(message: AIMessage) -> bool:
    """Whether the provider says that the model ended its answer itself. False if the provider says nothing about it."""
    said = message.response_metadata
    reasons = (said.get(name) for name in ("stop_reason", "finish_reason", "done_reason"))
    return any(isinstance(reason, str) and reason.lower() in _FINISHED for reason in reasons)


def note_ending(message: AIMessage) -> None:
    """Let the message say it."""
    if ending := ending_of(message):
        message.response_metadata[ENDED] = ending
