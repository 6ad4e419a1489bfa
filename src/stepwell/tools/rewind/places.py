"""Whether a change was made in the files that a rewind restores: the main agent's. A path alone does not say it, because a subagent may
have files of its own, in which the same path is another file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepwell.backends.composite import CompositeBackend
from stepwell.backends.filesystem import FilesystemBackend
from stepwell.backends.foreign import ForeignBackend


def are_same_files(one: Any, other: Any) -> bool:
    """Whether two backends, or functions that make them, certainly have the same files under the same paths."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, CompositeBackend):
        ours, theirs = one.parts(), other.parts()
        return ours.keys() == theirs.keys() and all(are_same_files(ours[path], theirs[path]) for path in ours)
    if isinstance(one, ForeignBackend):
        return bool(one.inner is other.inner)
    if isinstance(one, FilesystemBackend):
        return bool(one.root == other.root and one.canonical_path("/") == other.canonical_path("/"))
    return bool(getattr(one, "in_state", False))  # a thread has one state


def depth_in(config: Mapping[str, Any]) -> int:
    """How many agents there are around the one whose step this is."""
    namespace = str((config.get("configurable") or {}).get("checkpoint_ns") or "")
    return max(sum(":" in part for part in namespace.split("|")) - 1, 0)  # LangGraph also puts plain numbers into it
