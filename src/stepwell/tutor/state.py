"""What a tutor's thread stores: the conversation, the agent's own files and plan, the argument, and its relation to the project's files.

`argument` is the document (`argument.document.to_data`), `progress` is derived from it for a client to show. Money never enters the
graph: `payment_balance_sats`, `payment_spent_sats` and `payment_status` mirror the ledger. `payment_token` and `payment_refund_token`
exist for clients of this schema and are always None: anyone who reads a checkpoint could spend them. A refund is fetched from the
wallet (`POST /api/wallet/refund`, then `claim`). A run's input may name the project and contain messages; fields that code
maintains (argument, progress, payment) cannot be sent in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypeAlias

from langchain.agents.middleware.types import OmitFromInput, PrivateStateAttr
from langchain_core.messages import AnyMessage
from typing_extensions import TypedDict

from stepwell.state.channels import incremental
from stepwell.state.schema import DeepAgentState
from stepwell.tutor.argument.document import reduce_argument

PaymentStatus: TypeAlias = Literal["none", "active", "exhausted", "refunded"]


class Kept(TypedDict, total=False):
    """How the thread stands to the files in the project."""

    loaded: bool
    hashes: dict[str, str]
    """File -> SHA-256 of its text when it was last written or read."""
    base: dict[str, Any]
    """The argument at that time."""
    notes: Literal["yes", "no"]
    """Whether the user lets the tutor keep its notes in the project; missing until they were asked."""
    conflict: bool
    """A file has changed since, so nothing was written; it will be read again next."""
    notice: str
    """What the user should know about the files."""


def reduce_latest(state: Mapping[str, Any], writes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The last value written. Stored incrementally, like the argument, because a plain field would be repeated in every checkpoint."""
    return dict(writes[-1]) if writes else dict(state)


class TutorInput(TypedDict, total=False):
    """What a run may be given."""

    messages: list[AnyMessage]
    current_project_id: str | None
    write_approval: bool | dict[str, bool] | None
    keep_notes: bool | None


class TutorOutput(TutorInput, total=False):
    """What a thread shows."""

    argument: dict[str, Any]
    progress: dict[str, Any]


class DeeptutorState(DeepAgentState):
    """State of the tutor."""

    payment_token: NotRequired[Annotated[str | None, OmitFromInput]]
    payment_balance_sats: NotRequired[Annotated[int, OmitFromInput]]
    payment_spent_sats: NotRequired[Annotated[int, OmitFromInput]]
    payment_refund_token: NotRequired[Annotated[str | None, OmitFromInput]]
    payment_status: NotRequired[Annotated[PaymentStatus, OmitFromInput]]
    payment_refund_claimed: NotRequired[Annotated[bool, OmitFromInput]]
    current_project_id: NotRequired[str | None]
    write_approval: NotRequired[bool | dict[str, bool] | None]
    keep_notes: NotRequired[bool | None]
    """What the user has decided for this project about the tutor's notes, if the client knows: yes, no, or not asked yet."""
    argument: NotRequired[Annotated[dict[str, Any], OmitFromInput, incremental(reduce_argument)]]
    progress: NotRequired[Annotated[dict[str, Any], OmitFromInput, incremental(reduce_latest)]]
    kept: NotRequired[Annotated[dict[str, Any], PrivateStateAttr, incremental(reduce_latest)]]
    told: NotRequired[Annotated[str, PrivateStateAttr]]
    """The id of the utterance whose request to be told is already in the log."""
