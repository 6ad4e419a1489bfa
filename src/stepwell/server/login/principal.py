"""The caller: every request has exactly one principal. Nothing below the server knows how the principal was found.

Rule to keep: `owner` comes from here and from nowhere else. A body, a query or a header never names it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from stepwell.backends.objects.grants import ANY_ROOT, NO_ROOTS, Grants

Via = Literal["local", "api_key", "jwt", "session", "handler"]


@dataclass(frozen=True)
class Principal:
    """A user. Routes pass `owner` to services, for reading and for creating; an operator owns their own data like any user. If the
    project's auth handlers returned a filter, `owner` carries it (`database/callers.py`).

    A route for all users' data has an operator-only action (`policy.OPERATOR_ONLY`) and passes `None` itself: that way no
    ordinary route shows an operator what belongs to others.
    """

    user_id: str
    owner: str
    is_operator: bool = False
    via: Via = "api_key"
    credential_id: str = ""
    """The id of the key or session, for the log; never the secret."""
    grants: Grants = NO_ROOTS
    """The workspaces that the user may use."""
    handler_user: Any = field(default=None, compare=False, repr=False)
    """What the project's `authenticate` returned, for its `@auth.on` handlers."""

    @property
    def may_lapse(self) -> bool:
        """Whether access may end: keys can be revoked, sessions end and tokens expire; only the local user's access never ends."""
        return self.via != "local"


LOCAL = Principal(user_id="local", owner="local", is_operator=True, via="local", grants=ANY_ROOT)
"""The principal of everybody on a server without sign-in."""
