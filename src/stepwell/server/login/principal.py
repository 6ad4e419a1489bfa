"""Who is asking: every request has exactly one principal. Nothing below the server knows how it was found.

Rule to keep: `owner` comes from here and from nowhere else. A body, a query or a header never names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stepwell.backends.objects.grants import ANY_ROOT, NO_ROOTS, Grants

Via = Literal["local", "api_key", "jwt", "session"]


@dataclass(frozen=True)
class Principal:
    """A user. `owner` is what services are given, for reading and for creating; an operator's own things are the operator's too.

    A route for all users' data has an operator-only action (`policy.OPERATOR_ONLY`) and passes `None` itself: that way no
    ordinary route shows an operator what belongs to others.
    """

    user_id: str
    owner: str
    is_operator: bool = False
    via: Via = "api_key"
    credential_id: str = ""
    """Which key or session it was, for the log; never the secret."""
    grants: Grants = NO_ROOTS
    """The workspaces that are open to them."""

    @property
    def may_lapse(self) -> bool:
        """Keys are revoked, sessions end and tokens go out of date; only the local user stays."""
        return self.via != "local"


LOCAL = Principal(user_id="local", owner="local", is_operator=True, via="local", grants=ANY_ROOT)
"""Everybody, on a server that asks nobody who they are."""
