"""What a thread of the older seminar agent remembers."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from langchain.agents.middleware.types import OmitFromInput, PrivateStateAttr

from stepwell.apps.seminar.artifact import Version, reduce_versions
from stepwell.state.channels import incremental
from stepwell.state.schema import DeepAgentState


class SeminarState(DeepAgentState):
    artifact: NotRequired[Annotated[list[Version], OmitFromInput, incremental(reduce_versions)]]
    funding_id: NotRequired[str | None]
    payment_status: NotRequired[Annotated[str, OmitFromInput]]
    """`none` without a purse; then `active`, `refunded`, or `exhausted`."""
    payment_spent_sats: NotRequired[Annotated[int, OmitFromInput]]
    payment_refund_id: NotRequired[Annotated[str | None, OmitFromInput]]
    payment_held: NotRequired[Annotated[dict[str, Any] | None, PrivateStateAttr]]
    """The reservation: its key and attempt. Nobody can send one in: it might be another payer's."""
