"""The rule for a root that is open for reading only, and the messages for whoever tries to change something in it.

| who tries | is refused by | before |
|---|---|---|
| a program, by HTTP | `require_write` | its body is read |
| a model, with a file tool | `TOOL_REFUSAL` | a person is asked for approval |
| any code with the files of the root | `refuse_change` | anything is stored; the last line of defence, in every backend of workspaces |

`OpenedRoot.read_only` is decided where a root is opened (`grants`), and only there.
"""

from __future__ import annotations

from stepwell.backends.objects.root import OpenedRoot, is_read_only
from stepwell.backends.paths import PathError, Place
from stepwell.backends.protocol import ErrorText
from stepwell.errors import AccessError

TOOL_REFUSAL = (
    "Error: this workspace is open to its user for reading only, so nothing in it can be changed. Say so, and give the text "
    "in your answer."
)


def require_write(opened: OpenedRoot) -> None:
    """Raise `AccessError` if the root may only be read."""
    if opened.read_only:
        raise AccessError("This workspace is open to you for reading only. Ask its operator for a key that may write.")


def refuse_change(opened: OpenedRoot, path: str) -> ErrorText | None:
    """What a backend answers instead of changing a file; None if it may change the file. It may not if the root may only be read, or if
    the current call may only read, even if the backend was made elsewhere."""
    if not (opened.read_only or is_read_only()):
        return None
    return PathError("Error: ", Place(path), " is in a workspace that is open for reading only. Nothing in it can be changed.")
