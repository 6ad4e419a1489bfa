"""What counts as one run of an agent: all that follows one message of the user.

A run that paused for a person, or that was taken up again after a crash, goes on under the same message; LangGraph's run ids do not.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage


def turn_of(messages: Sequence[BaseMessage]) -> str:
    """The id of the user's last message; empty if there is none."""
    for message in reversed(messages):
        if message.type == "human":
            return message.id or ""
    return ""
