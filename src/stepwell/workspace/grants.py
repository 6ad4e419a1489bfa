"""Who may use which roots. A root in a request can only narrow what its caller was granted.

| caller | granted roots |
|---|---|
| a run that the server has tied to a root, by a key, a token or this table | that one |
| a caller who did not sign in (a program, a server on one's own machine) | every root |
| a user with permissions `workspace:/acme/` or `workspace:/acme/:read` (a server with its own authentication) | those |
| a user in the operator's table, `STEPWELL_WORKSPACE_GRANTS` | the roots of their name, and those of `*` |
| any other user | none |

The table is a JSON file: `{"ada": ["/acme/"], "bob": ["/acme/plans/", {"root": "/shared/", "access": "read"}]}`. It is read when the
graph is built. Several users may share a root, some of them read-only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, cast

from langchain_core.runnables import RunnableConfig

from stepwell.backends.objects import check_root
from stepwell.backends.objects.grants import PINNED_ROOT, Grants, make_grants, pinned_root
from stepwell.backends.paths import PathError
from stepwell.backends.paths import Place as PathPlace
from stepwell.backends.protocol import BackendProtocol, EditResult, WriteResult
from stepwell.errors import AccessError, ConfigurationError, InvalidRequestError

EVERYBODY = "*"
NOBODY_ASKED = "local"
"""The user name on a server without authentication."""
_PERMISSION = "workspace:"
_READ = ":read"


@dataclass(frozen=True)
class Grant:
    """A root that a user may use, with everything below it."""

    root: str
    may_write: bool = True


@dataclass(frozen=True)
class GrantTable:
    """The operator's table, and the rules above."""

    table: Mapping[str, tuple[Grant, ...]] = field(default_factory=dict, hash=False)

    @classmethod
    def load(cls, file: Path | None) -> Self:
        """Reads the table from a file; empty without one."""
        if file is None:
            return cls()
        try:
            return cls({str(user): tuple(map(_read_grant, rows)) for user, rows in json.loads(file.read_text()).items()})
        except (OSError, ValueError, TypeError, KeyError, AttributeError, InvalidRequestError) as error:
            raise ConfigurationError(
                f"The file of STEPWELL_WORKSPACE_GRANTS cannot be used ({type(error).__name__}). Write JSON such as "
                '{"ada": ["/acme/"], "bob": [{"root": "/acme/plans/", "access": "read"}]}.'
            ) from error

    def of(self, config: RunnableConfig) -> tuple[Grant, ...] | None:
        """The grants of a run's caller; None means every root."""
        if PINNED_ROOT in (configurable := config.get("configurable", {})):
            return _read_pinned(configurable)
        user = config.get("configurable", {}).get("langgraph_auth_user")
        identity = _read(user, "identity")
        if not identity or identity == NOBODY_ASKED or _read(user, "is_authenticated") is False:
            return None
        said = [_read_permission(text) for text in _read(user, "permissions") or () if text.startswith(_PERMISSION)]
        return (*said, *self.table.get(identity, ()), *self.table.get(EVERYBODY, ()))

    def of_user(self, user: str) -> Grants:
        """What the table alone grants a user, for the server that admits their requests."""
        given = (*self.table.get(user, ()), *self.table.get(EVERYBODY, ()))
        return make_grants(
            (grant.root for grant in given if grant.may_write), (grant.root for grant in given if not grant.may_write)
        )

    def roots(self, config: RunnableConfig) -> Sequence[str] | None:
        """The roots alone, for the middleware that checks them."""
        given = self.of(config)
        return None if given is None else [grant.root for grant in given]

    def limit(self, files: BackendProtocol, root: str, config: RunnableConfig) -> BackendProtocol:
        """The files of a root, with the caller's access."""
        given = self.of(config)
        if given is None or any(grant.may_write and root.startswith(grant.root) for grant in given):
            return files
        return cast("BackendProtocol", _ReadOnly(files))


class _ReadOnly:
    """A backend that refuses changes."""

    def __init__(self, backend: BackendProtocol) -> None:
        self._backend = backend

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._backend, verb)

    def write(self, file_path: str, *_: Any, **__: Any) -> WriteResult:
        return WriteResult(error=_refusal(file_path))

    async def awrite(self, file_path: str, *_: Any, **__: Any) -> WriteResult:
        return WriteResult(error=_refusal(file_path))

    def edit(self, file_path: str, *_: Any, **__: Any) -> EditResult:
        return EditResult(error=_refusal(file_path))

    async def aedit(self, file_path: str, *_: Any, **__: Any) -> EditResult:
        return EditResult(error=_refusal(file_path))


def _refusal(path: str) -> PathError:
    return PathError("Error: ", PathPlace(path), " was not changed: this person may only read here. Tell them.")


def _read(user: Any, name: str) -> Any:
    """A field of a user, which servers pass as an object or a mapping."""
    return user.get(name) if isinstance(user, Mapping) else getattr(user, name, None)


def _read_pinned(configurable: Mapping[str, Any]) -> tuple[Grant, ...]:
    try:
        pinned = pinned_root(configurable)
    except AccessError:
        return ()
    return (Grant(pinned.root, may_write=not pinned.read_only),) if pinned else ()


def _read_permission(text: str) -> Grant:
    root = text.removeprefix(_PERMISSION)
    return Grant(check_root(root.removesuffix(_READ)), may_write=not root.endswith(_READ))


def _read_grant(row: Any) -> Grant:
    if isinstance(row, str):
        return Grant(check_root(row))
    if row.get("access", "write") not in ("read", "write"):
        raise ValueError("access is read or write")
    return Grant(check_root(row["root"]), may_write=row.get("access", "write") == "write")
