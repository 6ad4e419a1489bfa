"""Which roots a caller may use, and which root a run is tied to.

```
key or token ──> Grants ──open_root(what the request asks for)──> OpenedRoot ──pinned into the run──> the tools of its graph
```
A root in a request may only narrow the grant: a grant of `/acme/main/` also allows `/acme/main/sub/`. A grant of `t1` never opens `t10`,
since roots end with a slash. We do not check whether a root exists, so another tenant's root gives the same error as one that does not
exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stepwell.backends.objects.root import OpenedRoot, check_root
from stepwell.errors import AccessError, InvalidRequestError

ROOT_KEY = "gcs_root_path"
"""The key in `configurable` with which a request names its root."""

PINNED_ROOT = "langgraph_auth_workspace"
"""The key in `configurable` for the root that a run is tied to. Servers reject caller-supplied keys with this prefix."""

MAX_GRANTED = 100


@dataclass(frozen=True)
class Grants:
    """Roots with write access, and read-only roots, normalised. If both cover a path, write access wins."""

    roots: tuple[str, ...] = ()
    read_roots: tuple[str, ...] = ()
    unlimited: bool = False
    """Whether the caller may use every root, as on a laptop without authentication."""

    @property
    def all_roots(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.roots, *self.read_roots)))

    def with_more(self, more: Grants) -> Grants:
        """Both grants combined."""
        roots, read_roots = dict.fromkeys((*self.roots, *more.roots)), dict.fromkeys((*self.read_roots, *more.read_roots))
        return Grants(tuple(roots), tuple(read_roots), self.unlimited or more.unlimited)

    def open(self, root: str) -> OpenedRoot | None:
        """Open a root, if this caller may use it."""
        if self.unlimited or _covers(self.roots, root):
            return OpenedRoot(root)
        return OpenedRoot(root, read_only=True) if _covers(self.read_roots, root) else None


Granted = Callable[[str], Grants]
"""Returns what an owner was granted beyond what their key or token says, for example in an operator's table."""

NO_ROOTS = Grants()
ANY_ROOT = Grants(unlimited=True)


def nothing_more(owner: str) -> Grants:
    """The `Granted` for setups in which keys and tokens contain all grants."""
    return NO_ROOTS


def make_grants(roots: Iterable[object], read_roots: Iterable[object]) -> Grants:
    """Grants from external texts. Raises `InvalidRequestError` for an invalid root, or for too many."""
    made = Grants(_check_all(roots), _check_all(read_roots))
    if len(made.all_roots) > MAX_GRANTED:
        raise InvalidRequestError(f"More than {MAX_GRANTED} workspace roots are granted. Grant a folder that holds several.")
    return made


def _check_all(given: Iterable[object]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(check_root(each) for each in given))


def open_root(grants: Grants, asked: object, default: str | None = None) -> OpenedRoot:
    """The root of a request: the requested one, or `default`, or the caller's only one.

    Raises:
        AccessError: The caller may not use this root, whether it exists or not.
        InvalidRequestError: The root is invalid, or the request names none although the caller has several.
    """
    if not asked and default is None and not grants.unlimited:
        return _open_only(grants)
    opened = grants.open(check_root(asked or default))
    if opened is None:
        raise AccessError("This workspace root is not open to you. Use one that was given to you, or ask the operator for it.")
    return opened


def _open_only(grants: Grants) -> OpenedRoot:
    if not (mine := grants.all_roots):
        raise AccessError("No workspace is open to you. Ask the operator for a key or a token with a workspace root.")
    if len(mine) > 1:
        raise InvalidRequestError(
            f"Several workspaces are open to you. Name one as config.configurable.{ROOT_KEY}, or as root= for files: "
            f"{', '.join(mine[:10])}"
        )
    return OpenedRoot(mine[0], read_only=mine[0] not in grants.roots)


def pin(opened: OpenedRoot | None) -> dict[str, Any]:
    """The entry in `configurable` that ties a run to a root; None as `opened` means that the run has no root at all."""
    return {PINNED_ROOT: {"root": opened.root, "read_only": opened.read_only} if opened else {"root": None}}


def pinned_root(configurable: Mapping[str, Any]) -> OpenedRoot | None:
    """The root that a run is tied to; None if no server has tied it to one.

    Raises:
        AccessError: The run's caller has no root.
    """
    if PINNED_ROOT not in configurable:
        return None
    pinned = configurable[PINNED_ROOT]
    if not isinstance(pinned, Mapping) or not pinned.get("root"):
        raise AccessError(f"This run has no workspace. Start one that names its root, as config.configurable.{ROOT_KEY}.")
    return OpenedRoot(check_root(pinned["root"]), bool(pinned.get("read_only")))


def _covers(granted: Iterable[str], root: str) -> bool:
    return any(root.startswith(each) for each in granted)
