"""The state of a deep agent within a thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NotRequired, Required, Self

from langchain.agents.middleware.todo import Todo
from langchain.agents.middleware.types import AgentState, OmitFromInput, PrivateStateAttr
from langchain_core.messages import AnyMessage
from typing_extensions import TypedDict  # pydantic cannot build a JSON schema from typing's own before Python 3.12

from stepwell.backends.changes import StoredFile, reduce_files
from stepwell.state.channels import SNAPSHOT_EVERY, IncrementalChannel, incremental
from stepwell.state.messages import MessageReducer, reduce_messages


class Summary(TypedDict):
    """A text that the model sees in place of the first part of a long conversation."""

    text: str
    until: str
    """The id of the last message that the text covers."""
    made_at: NotRequired[str]
    """The id of the thread's last message when the text was written; the model answered later messages with the summary in view."""


def reduce_summary(state: Summary, writes: Sequence[Summary]) -> Summary:
    """The latest summary. The channel is incremental, because a plain value would be stored again in every checkpoint."""
    return writes[-1]


class MessagesChannel(IncrementalChannel):
    """The channel of `messages`. Each loaded thread has a reducer of its own, which remembers ids between steps."""

    __slots__ = ()

    def from_checkpoint(self, checkpoint: Any) -> Self:
        new = super().from_checkpoint(checkpoint)
        new.reducer = MessageReducer()
        return new


class DeepAgentState(AgentState[Any]):
    """State of a deep agent. Checkpoints store only the changes of messages, files and the summary.

    Incremental channels must be in the schema given as `state_schema`, because LangChain lets the base override a middleware's.
    """

    messages: Required[Annotated[list[AnyMessage], MessagesChannel(reduce_messages, snapshot_frequency=SNAPSHOT_EVERY)]]
    files: NotRequired[Annotated[dict[str, StoredFile], incremental(reduce_files)]]
    todos: NotRequired[Annotated[list[Todo], OmitFromInput]]
    summary: NotRequired[Annotated[Summary, PrivateStateAttr, incremental(reduce_summary)]]
