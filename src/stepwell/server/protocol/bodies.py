"""Thread streams as JSON: commands, their parameters, and subscriptions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field

from stepwell.database.types import MultitaskStrategy
from stepwell.server.protocol.subscription import CHANNELS, NAMED_CUSTOM, Subscription
from stepwell.server.schemas.config import RunConfig
from stepwell.server.schemas.fields import (
    MAX_PAGE,
    AssistantRef,
    Body,
    CheckpointId,
    JsonObject,
    Limit,
    NodeName,
    ResponseBody,
    Whole,
)
from stepwell.server.schemas.runs import SendTo

LARGEST = 2**53 - 1
"""JavaScript's largest safe integer."""

Number = Annotated[int, Field(ge=0, le=LARGEST), Whole]
Part = Annotated[str, Field(min_length=1, max_length=1024)]
Path = Annotated[list[Part], Field(max_length=100)]
InterruptId = Annotated[str, Field(min_length=1, max_length=256)]
Goto = NodeName | SendTo | Annotated[list[NodeName | SendTo], Field(max_length=1000)]

_CHANNEL = f"^({'|'.join(CHANNELS)}|{NAMED_CUSTOM}.+)$"


class EventsQuery(Body):
    """Which events to send, and after which position."""

    channels: Annotated[
        list[Annotated[str, Field(max_length=1024, pattern=_CHANNEL)]], Field(min_length=1, max_length=MAX_PAGE)
    ]
    namespaces: Annotated[list[Path], Field(max_length=MAX_PAGE)] | None = None
    depth: Annotated[int, Field(ge=0, le=100), Whole] | None = None
    since: Number | None = None

    def subscription(self) -> Subscription:
        return Subscription(frozenset(self.channels), tuple(tuple(path) for path in self.namespaces or ()), self.depth)


class ThreadCommand(Body):
    """A command to a thread. The fields of `params` depend on the method."""

    id: Number
    method: Annotated[str, Field(min_length=1, max_length=100)]
    params: JsonObject | None = None


class CommandResponse(ResponseBody):
    """The outcome of a command: `success` with a result, or `error` with a code and a message."""

    type: Literal["success", "error"]
    id: int
    result: JsonObject
    error: str
    message: str
    meta: JsonObject


class RunStart(Body):
    """`run.start`. The SDKs spell `multitask_strategy` differently."""

    assistant_id: AssistantRef
    input: Any = None
    config: RunConfig | None = None
    metadata: JsonObject | None = None
    multitask_strategy: MultitaskStrategy | None = Field(
        default=None, validation_alias=AliasChoices("multitask_strategy", "multitaskStrategy")
    )


class InterruptAnswer(Body):
    """An answer to one interrupt. The id is enough; a namespace is ignored."""

    interrupt_id: InterruptId
    response: Any = None


class InputRespond(Body):
    """`input.respond`: an answer to one interrupt, or answers to several."""

    interrupt_id: InterruptId | None = None
    response: Any = None
    responses: Annotated[list[InterruptAnswer], Field(min_length=1, max_length=MAX_PAGE)] | None = None
    update: JsonObject | None = None
    goto: Goto | None = None
    config: RunConfig | None = None
    metadata: JsonObject | None = None

    def answers(self) -> dict[str, Any]:
        if self.responses:
            return {each.interrupt_id: each.response for each in self.responses}
        return {self.interrupt_id: self.response} if self.interrupt_id else {}


class StateGet(Body):
    """`state.get`."""

    namespace: Path = Field(default_factory=list)
    keys: Annotated[list[Part], Field(max_length=MAX_PAGE)] | None = None


class ListCheckpoints(Body):
    """`state.listCheckpoints`."""

    namespace: Path = Field(default_factory=list)
    limit: Limit = 10
    before: CheckpointId | None = None


class StateFork(Body):
    """`state.fork`."""

    checkpoint_id: CheckpointId
    input: Any = None
    config: RunConfig | None = None
