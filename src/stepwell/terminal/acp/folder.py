"""The folder that an editor has open, and where the paths that a tool works on are in it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

_MAX_SHOWN_BYTES = 1_000_000


@dataclass(frozen=True)
class EditorFolder:
    """`mount` is the path under which the agent's file tools see the folder; None if they work elsewhere."""

    path: Path
    mount: str | None = None

    def locate(self, path: object) -> str | None:
        """The absolute path of a file that a tool names; None if it is not in this folder."""
        if not isinstance(path, str) or not path.strip() or "\0" in path:
            return None
        if self.mount and path.startswith(self.mount):
            relative = path[len(self.mount) :]
        elif self.mount != "/" and path.startswith(f"{self.path}/"):
            relative = path[len(str(self.path)) :]
        else:
            return None
        found = os.path.normpath(self.path / relative.lstrip("/"))
        return found if found == str(self.path) or found.startswith(f"{self.path}/") else None

    def read(self, located: str) -> str | None:
        """The text of a file, to show what a change would do; None if it cannot be shown."""
        file = Path(located)
        try:
            if not file.resolve().is_relative_to(self.path.resolve()) or file.stat().st_size > _MAX_SHOWN_BYTES:
                return None
            return file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    def name_for_agent(self, uri: str) -> str:
        """How the agent should call a file that the editor names by its address."""
        named = urlsplit(uri)
        if named.scheme != "file":
            return uri
        path = PurePosixPath(unquote(named.path))
        if self.mount is None or not path.is_relative_to(self.path):
            return str(path)
        return f"{self.mount.rstrip('/')}/{path.relative_to(self.path)}"
