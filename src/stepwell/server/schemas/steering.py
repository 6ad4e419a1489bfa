"""Messages to runs, and side questions, as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import Field

from stepwell.database.sent_messages import SentMessage, SteeringState
from stepwell.server.schemas.fields import Body, JsonObject, WireModel
from stepwell.state.steering import SteeringMessage, check_content, check_message_id

MessageContent = Annotated[str, Field(max_length=1_000_000)] | Annotated[list[JsonObject], Field(max_length=100)]


class SteeringMessageCreate(Body):
    id: Annotated[str, Field(min_length=1, max_length=256)] | None = Field(
        None, description="Your id for the message: sent again with it, the message enters once"
    )
    content: MessageContent = Field(description="Text, or content blocks")
    type: Literal["human"] = "human"


class SteeringCreate(Body):
    """A message for a run that works."""

    message: SteeringMessageCreate


class SteeringResponse(WireModel):
    """A message that was sent to a run."""

    message_id: str
    thread_id: str
    run_id: str = Field(description="The run that gets the message; another one if its run ended or paused first")
    status: SteeringState = Field(
        description="`waiting`; `given` to a model call that is not stored yet; `taken` into the thread; `enqueued` as the input of a run"
    )
    position: int = Field(description="Its place among the messages that wait for the run; 0 if it does not wait")
    created_at: datetime


class WaitingMessage(SteeringResponse):
    content: Any


class WaitingMessages(WireModel):
    """The messages that the thread's runs have not taken yet."""

    messages: list[WaitingMessage]


class SideQuestionCreate(Body):
    """A question about the conversation. Neither it nor its answer is stored in the thread."""

    question: Annotated[str, Field(min_length=1, max_length=10_000)]


class SideQuestionResponse(WireModel):
    answer: str
    run_id: str = Field(description="The run that answered, on a thread of its own that is deleted soon; its usage is counted")


def message_of(body: SteeringCreate) -> SteeringMessage:
    return SteeringMessage(check_message_id(body.message.id or str(uuid4())), check_content(body.message.content))


def sent_wire(thread_id: str, sent: SentMessage) -> dict[str, Any]:
    return {
        "message_id": sent.message.id,
        "thread_id": thread_id,
        "run_id": sent.run_id,
        "status": sent.state,
        "position": sent.position,
        "created_at": sent.created_at,
    }


def waiting_messages_wire(thread_id: str, messages: list[SentMessage]) -> dict[str, Any]:
    return {"messages": [{**sent_wire(thread_id, sent), "content": sent.message.content} for sent in messages]}
