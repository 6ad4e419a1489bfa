"""`settings.py` is the only reader of the environment, so that one page tells what can be set."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

READERS = {"environ", "environb", "getenv", "getenvb"}
ALLOWED = {"settings.py"}


def environment_reads(tree: ast.Module) -> Iterator[int]:
    """The lines that read the environment or a `.env` file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "os" and node.attr in READERS:
                yield node.lineno
        elif isinstance(node, ast.ImportFrom):
            if node.module == "dotenv" or (node.module == "os" and READERS.intersection(a.name for a in node.names)):
                yield node.lineno
        elif isinstance(node, ast.Import) and any(a.name == "dotenv" or (a.name == "os" and a.asname) for a in node.names):
            yield node.lineno


def test_only_settings_reads_the_environment(package_trees: dict[str, ast.Module]):
    readers = [
        f"{name}:{line}" for name, tree in package_trees.items() if name not in ALLOWED for line in environment_reads(tree)
    ]
    assert readers == []


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos.environ['A']",
        "import os\nos.getenv('A')",
        "from os import environ",
        "from os import getenv as g",
        "import os as o",
        "from dotenv import dotenv_values",
    ],
)
def test_the_scan_sees_each_way_of_reading(source: str):
    assert list(environment_reads(ast.parse(source)))
