"""What a tutor's thread remembers: the conversation, the agent's own files and plan, the argument, and how it stands with the project.

`argument` is the document (`argument.document.to_data`), `progress` what follows from it for a client to show. Money never enters the
graph: `payment_balance_sats`, `payment_spent_sats` and `payment_status` mirror the ledger; `payment_token` and `payment_refund_token`
exist because clients of this schema know them, and are always None: whoever reads a checkpoint could spend them. A refund is fetched
from the wallet (`POST /api/wallet/refund`, then `claim`). A run's input may name the project and say something; what code
keeps (argument, progress, payment) cannot be sent in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypeAlias

from langchain.agents.middleware.types import OmitFromInput, PrivateStateAttr
from langchain_core.messages import AnyMessage
from typing_extensions import TypedDict

from stepwell.apps.tutor.argument.document import reduce_argument
from stepwell.state.channels import incremental
from stepwell.state.schema import DeepAgentState

PaymentStatus: TypeAlias = Literal["none", "active", "exhausted", "refunded"]


class Kept(TypedDict, total=False):
    """How the thread stands to the files in the project."""

    loaded: bool
    hashes: dict[str, str]
    """File -> SHA-256 of its text when it was last written or read."""
    base: dict[str, Any]
    """The argument as it stood then."""
    declined: str
    """The text of argument.json that the person did not want to save, as a hash: the same is not offered twice."""
    conflict: bool
    """A file has changed since, so nothing was written; it is read again next."""
    notice: str
    """What the person should know about the files."""


def reduce_latest(state: Mapping[str, Any], writes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The last value. Incremental like the argument: a plain one would stand in every checkpoint again."""
    return dict(writes[-1]) if writes else dict(state)


class TutorInput(TypedDict, total=False):
    """What a run may be given."""

    messages: list[AnyMessage]
    current_project_id: str | None
    write_approval: bool | dict[str, bool] | None


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
    argument: NotRequired[Annotated[dict[str, Any], OmitFromInput, incremental(reduce_argument)]]
    progress: NotRequired[Annotated[dict[str, Any], OmitFromInput, incremental(reduce_latest)]]
    kept: NotRequired[Annotated[dict[str, Any], PrivateStateAttr, incremental(reduce_latest)]]
    told: NotRequired[Annotated[str, PrivateStateAttr]]
    """The utterance whose wish to be told stands in the log."""
