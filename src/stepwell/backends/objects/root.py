"""A tenant's root: which roots are valid, and which one applies to the current call.

A root is the prefix of every name that a tenant can reach. It ends with a slash, so that `t1` is not a prefix of `t10/a.md`.

Tools find the root of their request in a context variable: each tool call has its own, and concurrent requests in one process share
nothing. `middleware.workspace` sets it around each call; code outside of an agent may set it itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token

from stepwell.backends import paths
from stepwell.backends.protocol import ErrorText
from stepwell.errors import ConfigurationError, InvalidRequestError

MAX_ROOT_BYTES = 512
"""Half of the longest name that a store accepts, so that every tenant has room for paths."""

_root: ContextVar[str] = ContextVar("gcs_root_path")
_read_only: ContextVar[bool] = ContextVar("gcs_read_only", default=False)


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


def set_gcs_root_path(root: str) -> Token[str]:
    """Set the root from here on, in this task or thread; resetting the token restores the previous one."""
    return _root.set(check_root(root))


def get_gcs_root_path() -> str:
    """The current root, `/company/workspace/`."""
    try:
        return _root.get()
    except LookupError:
        raise ConfigurationError(
            "No workspace root is set here. GCSRuntimeMiddleware sets it around each tool call of an agent; elsewhere, call "
            "set_gcs_root_path first."
        ) from None


def is_read_only() -> bool:
    """Whether the files of the current root may only be read."""
    return _read_only.get()


@contextmanager
def gcs_root_path(root: str, *, read_only: bool = False) -> Iterator[None]:
    """Set the root for a `with` block; with `read_only`, every write below it is refused there."""
    token, before = set_gcs_root_path(root), _read_only.set(read_only)
    try:
        yield
    finally:
        _read_only.reset(before)
        _root.reset(token)
