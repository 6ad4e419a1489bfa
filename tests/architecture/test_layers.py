"""The layers of the package, as `pyproject.toml` draws them, hold; and modules are named after what they are."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

VAGUE = {"util", "utils", "helper", "helpers", "manager", "managers", "common", "misc", "core", "services"}


def test_imports_point_down(root: Path):
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=100)
    assert result.returncode == 0, result.stdout + result.stderr


def test_no_module_has_a_vague_name(package_trees: dict[str, ast.Module]):
    vague = [name for name in package_trees if VAGUE.intersection(Path(name).with_suffix("").parts)]
    assert vague == []


def test_every_module_says_what_it_is_for(package_trees: dict[str, ast.Module]):
    silent = [name for name, tree in package_trees.items() if tree.body and not ast.get_docstring(tree)]
    assert silent == []
