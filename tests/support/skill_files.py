"""Skills and memory files for tests: writes them, and counts what an agent asks its backend for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stepwell import FilesystemBackend


def skill_text(name: str, description: str = "", *lines: str, body: str = "Do it.") -> str:
    return "\n".join(["---", f"name: {name}", f"description: {description or f'Does {name}.'}", *lines, "---", "", body, ""])


def write_skill(root: Path, name: str, *args: str, source: str = "skills", **more: Any) -> Path:
    path = root / source / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(skill_text(name, *args, **more), encoding="utf-8")
    return path


class CountingBackend(FilesystemBackend):
    """Files on disk, with a list of the calls that loading skills and memory needs."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.listed: list[str] = []
        self.read_together: list[list[str]] = []

    def glob_info(self, pattern: str, path: str = "/") -> Any:
        self.listed.append(path)
        return super().glob_info(pattern, path)

    def download_files(self, paths: Sequence[str]) -> Any:
        self.read_together.append(list(paths))
        return super().download_files(paths)
