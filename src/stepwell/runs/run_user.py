"""Whose run it is, in the form in which graphs written for LangGraph's server ask: `configurable["langgraph_auth_user"]`.

Rule to keep: it is made from the run's owner, which the server has found out. Names that begin with `PREFIX` are never taken over from
a caller, or whoever sends one could pass for somebody else inside a graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

PREFIX = "langgraph_auth_"


class RunUser(dict[str, Any]):
    """A plain object, so that a graph may keep it in its state, with the attributes that LangGraph's `BaseUser` has."""

    def __init__(self, identity: str) -> None:
        super().__init__(identity=identity, display_name=identity, is_authenticated=True, permissions=[])

    @property
    def identity(self) -> str:
        return str(self["identity"])

    @property
    def display_name(self) -> str:
        return str(self["display_name"])

    @property
    def is_authenticated(self) -> bool:
        return bool(self["is_authenticated"])

    @property
    def permissions(self) -> Sequence[str]:
        return list(self["permissions"])


def describe_user(owner: str) -> dict[str, Any]:
    """What a graph finds in `configurable` about its user."""
    return {"user_id": owner, f"{PREFIX}user": RunUser(owner), f"{PREFIX}user_id": owner, f"{PREFIX}permissions": []}
