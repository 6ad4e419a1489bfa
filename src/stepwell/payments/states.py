"""The life of a payment session.

```
pending ──approved──> authorized ──first call──> redeeming ──swapped──> active <──> exhausted
   │                      │  │                       │  │                  │   topped up  │
   │                      │  └──given back──┐        │  └─nothing of it──┐ └──────┬───────┘
   └──────refused─────────┴─────────────────┼────────┴──> rejected      │        │ asked for, idle, or its last thread gone
                                            │                           │        v
                                            │                   (back to where    settling ──swapped──> refund_ready ──spent──> refunded
                                            │                    it came from)       │                      ^
                                            └────────────────────────────────────────┼──────────────────────┘
                                                                                     └──nobody can tell──> error
```
`pending` and `authorized`: the money is still the payer's; the token is known, checked and untouched. `redeeming`: the mint is being
asked to take it, and may have. `active`: it can be spent. `exhausted`: what is left is less than the next call costs; topping up makes it
active again. `settling`: what was spent and what is left are being parted, in one swap. `refund_ready`: the rest waits to be fetched.
`refunded`: the mint says that it was, or there was nothing left. `rejected`: the mint would not take it, so nothing was taken. `error`:
the mint contradicts itself; an operator has to look (`stepwell wallet`), and can have the swap tried again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

SessionState = Literal[
    "pending", "authorized", "redeeming", "active", "exhausted", "settling", "refund_ready", "refunded", "rejected", "error"
]
FundingState = Literal["pending", "authorized", "redeeming", "redeemed", "rejected", "returned"]
"""A token's own life: it waits for approval, can be redeemed, is being, was; the mint would not take it; it was given back untouched."""
ReservationState = Literal["held", "settled", "confirmed", "released", "void"]
"""A call's money: set aside, charged, charged for an answer that is checkpointed, given back, taken back because the answer was lost or
a rule of ours refused all that it wanted."""
OperationState = Literal["pending", "done", "failed", "unknown"]

EntryKind = Literal["credit", "charge", "void", "refund", "fee"]

TAKES_MONEY: frozenset[SessionState] = frozenset({"pending", "authorized", "redeeming", "active", "exhausted", "rejected"})
"""A token can be added. After a rejected one another may come."""
REFUNDED: frozenset[SessionState] = frozenset({"settling", "refund_ready", "refunded"})
"""It has ended, and its rest is the payer's again."""
SPENDS_MONEY: frozenset[SessionState] = frozenset({"active", "exhausted"})

FUNDING_ID = "funding_id"
"""The field that names a session: in the input, the configuration, an answer, or a graph's state."""
TOKEN = "payment_token"  # noqa: S105 - the name of a field
"""Where older clients put a token: in the input, in the configuration, or in an answer."""
PAYMENTS = "__stepwell_payments"
"""The key in a config's `configurable` under which a run finds who pays (`meter.RunPayments`). Two underscores keep it out of metadata and
checkpoints."""

CHARGED = "payment_charged"
"""The field of a graph's state with the key of its newest charge. A graph that charges has it."""

_NEXT: Mapping[SessionState, frozenset[SessionState]] = {
    "pending": frozenset({"authorized", "rejected", "refund_ready"}),
    "authorized": frozenset({"redeeming", "active", "rejected", "refund_ready"}),
    "redeeming": frozenset({"active", "authorized", "rejected", "error"}),
    "active": frozenset({"exhausted", "settling", "refunded"}),
    "exhausted": frozenset({"active", "settling", "refunded"}),
    "settling": frozenset({"refund_ready", "active", "error"}),
    "refund_ready": frozenset({"refunded"}),
    "refunded": frozenset(),
    "rejected": frozenset({"authorized", "pending", "active"}),
    "error": frozenset({"redeeming", "settling"}),
}


def may_follow(now: SessionState, following: SessionState) -> bool:
    """Whether the drawing has this arrow, or nothing changes."""
    return now == following or following in _NEXT[now]
