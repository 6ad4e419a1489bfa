"""The project seen as files: what the architecture tests read."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_OURS = {".git", ".venv", "dist", "build", "node_modules", "__pycache__"}


def _listed_by_git() -> list[Path] | None:
    """Tracked files and new ones that are not ignored; None where this is no clone (an unpacked source archive)."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listing = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        return None
    return [ROOT / name for name in listing.split("\0") if name]


def _found_by_walking() -> Iterator[Path]:
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        if not NOT_OURS.intersection(parts) and not any(part.endswith("_cache") for part in parts):
            yield path


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the project."""
    return ROOT


@pytest.fixture(scope="session")
def project_texts() -> dict[str, str]:
    """Every text file of the project by its path from the root."""
    texts = {}
    for path in _listed_by_git() or _found_by_walking():
        if path.is_file():
            try:
                texts[path.relative_to(ROOT).as_posix()] = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue  # an image or another binary: nothing to read in it
    return texts


@pytest.fixture(scope="session")
def package_trees() -> dict[str, ast.Module]:
    """Every module of the package as a syntax tree, by its path inside the package."""
    package = ROOT / "src" / "stepwell"
    return {path.relative_to(package).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in package.rglob("*.py")}
