"""The JSON of `POST /api/agent`: messages, and the config that names the workspace."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from stepwell.runs.starting import RunOrder
from stepwell.server.schemas.config import RunConfig
from stepwell.server.schemas.fields import AssistantRef, Body, Uuid
from stepwell.server.schemas.runs import RunCommand, RunCreate, StreamMode, run_order_of

MAX_MESSAGES = 1_000
DEFAULT_MODES: tuple[StreamMode, ...] = ("updates", "messages-tuple")


class AgentQuestion(Body):
    """A user's messages to the agent, or, with `command`, the answer to an interrupt on `thread_id`."""

    messages: Annotated[list[Any], Field(max_length=MAX_MESSAGES)] = Field(default_factory=list)
    config: RunConfig | None = None
    thread_id: Uuid | None = None
    command: RunCommand | None = None
    assistant_id: AssistantRef | None = None
    stream_mode: StreamMode | Annotated[list[StreamMode], Field(max_length=20)] | None = None


def agent_order_of(asked: AgentQuestion, assistant_id: str, thread_id: str) -> RunOrder:
    """The order for a run. The thread is kept, so that interrupts can be answered later."""
    run = RunCreate(
        assistant_id=asked.assistant_id or assistant_id,
        input={"messages": asked.messages} if asked.messages else None,
        command=asked.command,
        config=asked.config,
        stream_mode=asked.stream_mode or list(DEFAULT_MODES),
        stream_subgraphs=True,
        if_not_exists="create",
    )
    return run_order_of(run, thread_id)
