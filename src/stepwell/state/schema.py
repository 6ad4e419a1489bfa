"""What a deep agent remembers within a thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NotRequired, Required

from langchain.agents.middleware.todo import Todo
from langchain.agents.middleware.types import AgentState, OmitFromInput, PrivateStateAttr
from langchain_core.messages import AnyMessage
from typing_extensions import TypedDict  # pydantic builds no JSON schema from typing's own before Python 3.12

from stepwell.backends.changes import StoredFile, reduce_files
from stepwell.state.channels import incremental
from stepwell.state.messages import reduce_messages


class Summary(TypedDict):
    """What stands for the first part of a long conversation when the model is asked."""

    text: str
    until: str
    """The id of the last message that the text covers."""
    made_at: NotRequired[str]
    """The id of the thread's last message when the text was written; what is later was answered with the summary in sight."""


def reduce_summary(state: Summary, writes: Sequence[Summary]) -> Summary:
    """The latest summary. Incremental like the messages: a plain value would stand again in every checkpoint."""
    return writes[-1]


class DeepAgentState(AgentState[Any]):
    """State of a deep agent. Messages and files grow in checkpoints with what changed, not with the whole.

    Incremental channels must stand in the schema given as `state_schema`: LangChain lets the base override a middleware's.
    """

    messages: Required[Annotated[list[AnyMessage], incremental(reduce_messages)]]
    files: NotRequired[Annotated[dict[str, StoredFile], incremental(reduce_files)]]
    todos: NotRequired[Annotated[list[Todo], OmitFromInput]]
    summary: NotRequired[Annotated[Summary, PrivateStateAttr, incremental(reduce_summary)]]
