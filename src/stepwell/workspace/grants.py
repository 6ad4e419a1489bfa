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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any, Self

from langchain_core.runnables import RunnableConfig

from stepwell.backends.objects import check_root
from stepwell.backends.objects.grants import ANY_ROOT, NO_ROOTS, PINNED_ROOT, Grants
from stepwell.errors import ConfigurationError, InvalidRequestError

EVERYBODY = "*"
NOBODY_ASKED = "local"
"""The user name on a server without authentication."""
_PERMISSION = "workspace:"
_READ = ":read"


@dataclass(frozen=True)
class GrantTable:
    """The operator's table, and the rules above."""

    table: Mapping[str, Grants] = field(default_factory=dict, hash=False)

    @classmethod
    def load(cls, file: Path | None) -> Self:
        """Reads the table from a file; without a file it is empty."""
        if file is None:
            return cls()
        try:
            return cls({str(user): _join(map(_read_row, rows)) for user, rows in json.loads(file.read_text()).items()})
        except (OSError, ValueError, TypeError, KeyError, AttributeError, InvalidRequestError) as error:
            raise ConfigurationError(
                f"The file of STEPWELL_WORKSPACE_GRANTS cannot be used ({type(error).__name__}). Write JSON such as "
                '{"ada": ["/acme/"], "bob": [{"root": "/acme/plans/", "access": "read"}]}.'
            ) from error

    def of(self, config: RunnableConfig) -> Grants:
        """What a run's caller was granted."""
        configurable = config.get("configurable", {})
        if PINNED_ROOT in configurable:  # the server has asked this table already, and the run has no other root
            return ANY_ROOT
        user = configurable.get("langgraph_auth_user")
        identity = _read(user, "identity")
        if not identity or identity == NOBODY_ASKED or _read(user, "is_authenticated") is False:
            return ANY_ROOT
        said = [_read_permission(text) for text in _read(user, "permissions") or () if text.startswith(_PERMISSION)]
        return _join([*said, self.of_user(identity)])

    def of_user(self, user: str) -> Grants:
        """What the table alone grants a user."""
        return self.table.get(user, NO_ROOTS).with_more(self.table.get(EVERYBODY, NO_ROOTS))


def _join(given: Iterable[Grants]) -> Grants:
    return reduce(Grants.with_more, given, NO_ROOTS)


def _grant(root: str, *, may_write: bool) -> Grants:
    checked = (check_root(root),)
    return Grants(checked) if may_write else Grants(read_roots=checked)


def _read(user: Any, name: str) -> Any:
    """A field of a user, which servers pass as an object or a mapping."""
    return user.get(name) if isinstance(user, Mapping) else getattr(user, name, None)


def _read_permission(text: str) -> Grants:
    root = text.removeprefix(_PERMISSION)
    return _grant(root.removesuffix(_READ), may_write=not root.endswith(_READ))


def _read_row(row: Any) -> Grants:
    if isinstance(row, str):
        return _grant(row, may_write=True)
    if row.get("access", "write") not in ("read", "write"):
        raise ValueError("access is read or write")
    return _grant(row["root"], may_write=row.get("access", "write") == "write")
