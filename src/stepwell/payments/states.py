"""The life of a payment session.

```
pending ──approved──> authorized ──first call──> redeeming ──swapped──> active <──> exhausted
   │                      │  │                       │  │                  │   topped up  │
   │                      │  └──given back──┐        │  └─nothing taken──┐ └──────┬───────┘
   └──────refused─────────┴─────────────────┼────────┴──> rejected      │        │ requested, idle, or last thread deleted
                                            │                           │        v
                                            │                   (back to where    settling ──swapped──> refund_ready ──spent──> refunded
                                            │                    it came from)       │                      ^
                                            └────────────────────────────────────────┼──────────────────────┘
                                                                                     └──outcome unknown──> error
```
`pending` and `authorized`: the money is still the payer's; we have checked the token and not touched it. `redeeming`: we have asked the
mint to take it, and it may have done so. `active`: it can be spent. `exhausted`: the balance is less than the next call costs; topping up
makes it active again. `settling`: one swap separates what was spent from what is left. `refund_ready`: the rest waits to be fetched.
`refunded`: the mint reports the refund as spent, or there was nothing left. `rejected`: the mint refused the token, so nothing was taken.
`error`: the mint contradicts itself; an operator has to look (`stepwell wallet`), and can have the swap retried.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

SessionState = Literal[
    "pending", "authorized", "redeeming", "active", "exhausted", "settling", "refund_ready", "refunded", "rejected", "error"
]
FundingState = Literal["pending", "authorized", "redeeming", "redeemed", "rejected", "returned"]
"""A token waits for approval, can be redeemed, is being redeemed, was redeemed, was refused by the mint, or was returned untouched."""
ReservationState = Literal["held", "settled", "confirmed", "released", "void"]
"""A call's money: set aside, charged, charged for an answer that is checkpointed, released, or charged back because the answer was lost
or one of our rules refused everything it asked for."""
OperationState = Literal["pending", "done", "failed", "unknown"]

EntryKind = Literal["credit", "charge", "void", "refund", "fee"]

TAKES_MONEY: frozenset[SessionState] = frozenset({"pending", "authorized", "redeeming", "active", "exhausted", "rejected"})
"""States in which a token can be added. After a rejected token, the payer may send another."""
REFUNDED: frozenset[SessionState] = frozenset({"settling", "refund_ready", "refunded"})
"""States of a session that has ended: what was left belongs to the payer again."""
SPENDS_MONEY: frozenset[SessionState] = frozenset({"active", "exhausted"})

FUNDING_ID = "funding_id"
"""The field that names a session: in the input, the configuration, an answer, or a graph's state."""
TOKEN = "payment_token"  # noqa: S105 - the name of a field
"""Where older clients put a token: in the input, in the configuration, or in an answer."""
PAYMENTS = "__stepwell_payments"
"""The key in a config's `configurable` under which a run finds its payer (`meter.RunPayments`). Two underscores keep it out of metadata and
checkpoints."""

CHARGED = "payment_charged"
"""The field in a graph's state that holds the key of its newest charge. Graphs that charge have it."""

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
    """Whether the drawing has this arrow, or the state stays the same."""
    return now == following or following in _NEXT[now]
