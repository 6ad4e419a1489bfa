"""The roots of tenants: which roots are valid, and which one is open to the current call.

A root is the prefix of every name that a tenant can reach. It ends with a slash, so that `t1` is not a prefix of `t10/a.md`.

Tools find the root of their request in a context variable. Each tool call has its own value, so concurrent requests in one process share
nothing. `GCSRuntimeMiddleware` sets the variable around each call; code outside of an agent may set it itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass

from stepwell.backends import paths
from stepwell.backends.protocol import ErrorText
from stepwell.errors import ConfigurationError, InvalidRequestError

MAX_ROOT_BYTES = 512
"""Half of the longest name that a store accepts, so that every tenant has room for paths."""


@dataclass(frozen=True)
class OpenedRoot:
    """A normalised root that is open to somebody. A request is given one, a run is tied to it, and a backend works below it."""

    root: str
    read_only: bool = False

    @property
    def tenant(self) -> str:
        """The owner: the first part of the root."""
        return self.root.split("/", 2)[1]


_current: ContextVar[OpenedRoot] = ContextVar("gcs_root_path")


def check_root(raw: object) -> str:
    """A tenant's root, normalised: `/company/workspace/`. The first and last slash are optional."""
    if not isinstance(raw, str) or not raw.strip("/ ."):
        raise InvalidRequestError(
            "The workspace root is missing. Send it as config.configurable.gcs_root_path, such as '/company/workspace/'."
        )
    if "\\" in raw:  # grants name roots, so each root must have only one spelling
        raise InvalidRequestError(f"The workspace root {paths.show(raw)} holds a backslash. Separate its parts with '/'.")
    root = paths.resolve(raw)
    if isinstance(root, ErrorText):
        raise InvalidRequestError(f"The workspace root cannot be used. {root.removeprefix('Error: ')}")
    if len(root.encode()) > MAX_ROOT_BYTES:
        raise InvalidRequestError(f"The workspace root is longer than {MAX_ROOT_BYTES} bytes. Choose a shorter one.")
    if any(part.endswith(".") or part.startswith(".well-known") for part in root.split("/")):
        raise InvalidRequestError(
            f"The workspace root {paths.show(raw)} has a part that ends with a full stop or is reserved. Choose another name."
        )
    return root + "/"


def set_gcs_root_path(root: str) -> Token[OpenedRoot]:
    """Set the root from here on, in this task or thread; resetting the token restores the previous root."""
    return _current.set(open_here(root))


def get_gcs_root_path() -> str:
    """The current root, `/company/workspace/`."""
    return current_root().root


def current_root() -> OpenedRoot:
    """The root that is open to the current call."""
    try:
        return _current.get()
    except LookupError:
        raise ConfigurationError(
            "No workspace root is set here. GCSRuntimeMiddleware sets it around each tool call of an agent; elsewhere, call "
            "set_gcs_root_path first."
        ) from None


def is_read_only() -> bool:
    """Whether the current call may only read."""
    current = _current.get(None)
    return current is not None and current.read_only


def open_here(root: str | OpenedRoot) -> OpenedRoot:
    """Open a root that code names by itself. In a call that may only read, this root can only be read too."""
    return root if isinstance(root, OpenedRoot) else OpenedRoot(check_root(root), is_read_only())


@contextmanager
def gcs_root_path(root: str | OpenedRoot) -> Iterator[None]:
    """Set the root for a `with` block."""
    token = _current.set(open_here(root))
    try:
        yield
    finally:
        _current.reset(token)
