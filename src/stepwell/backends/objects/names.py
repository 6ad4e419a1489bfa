"""Maps paths to object names, by the stores' rules for names. Pure functions.

Roots and paths are checked by `paths.resolve` like every other path, so no name contains `..`, an empty part or a control character, and
what is written below a root stays below it. Additional rules of the stores:

| rule | whose |
|---|---|
| a name has at most 1,024 bytes, including the root | Google, S3; Azure counts characters |
| nothing below `.well-known/acme-challenge/` | Google |
| no part ends with a full stop | Azure, which drops the full stop |
"""

from __future__ import annotations

from typing import Literal

from stepwell.backends import paths
from stepwell.backends.paths import PathError, Place
from stepwell.backends.protocol import ErrorText

StoreKind = Literal["gcs", "s3", "azure", "memory"]

MAX_NAME_BYTES = 1_024


def folder_key(root: str, path: str) -> str:
    """The prefix of everything below a folder; `root` and `path` are normalised."""
    return root[1:] if path == paths.ROOT else f"{root[1:]}{path[1:]}/"


def object_key(kind: StoreKind, root: str, path: str) -> str | ErrorText:
    """The object name of a file, or why no object can have this name."""
    key = root[1:] + path[1:]
    if len(key.encode()) > MAX_NAME_BYTES:
        room = MAX_NAME_BYTES - len(root.encode())
        return PathError("Error: ", Place(path), f" is too long for this storage, which takes {room} bytes here. Shorten it.")
    if kind == "azure" and any(part.endswith(".") for part in path.split("/")):
        return PathError(
            "Error: ", Place(path), " has a part that ends with a full stop, which this storage drops. Choose another name."
        )
    return key


def path_of(root: str, key: str) -> str | None:
    """The path of an object below a root; None if its name is not a valid path (another program wrote it)."""
    path = paths.ROOT + key.removeprefix(root[1:])
    return path if paths.resolve(path) == path else None
