"""ARCHITECTURE.md tells a reader where things are. Every row is held against the code, so the map cannot drift."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## Where to find it")[2].partition("\n## ")[0]
ROW = re.compile(r"^\| (?P<thing>[^|]+?) \| `(?P<module>stepwell[\w.]*)` \| (?P<names>(?:`\w+`(?:, )?)+) \|$", re.M)
ROWS = [
    (found["thing"], found["module"], name)
    for found in ROW.finditer(SECTION)
    for name in re.findall(r"`(\w+)`", found["names"])
]
PATH = re.compile(r"`([a-z_]+/[a-z_/]+\.py)`|(?<![\w/.`])([a-z_]+/[a-z_/]+\.py)")


def source_of(module: str) -> Path:
    place = ROOT.joinpath("src", *module.split("."))
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def defined_in(module: str) -> set[str]:
    """Names that a module makes or passes on at its top level."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source_of(module).read_text(encoding="utf-8"))):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.ImportFrom(names=passed):
                names.update(alias.asname or alias.name for alias in passed)
    return names


def test_the_map_has_rows():
    table = [line for line in SECTION.splitlines() if line.startswith("| ")]
    assert len(table) - 1 >= 25, "the table is too short to be of use"
    assert len({row[0] for row in ROWS}) == len(table) - 1, "a row does not have the form | thing | `module` | `name` |"


@pytest.mark.parametrize(("thing", "module", "name"), ROWS, ids=[f"{module}:{name}" for _, module, name in ROWS])
def test_a_thing_is_where_the_map_says(thing: str, module: str, name: str):
    assert source_of(module).exists(), f"{thing}: there is no module {module}"
    assert name in defined_in(module), f"{thing}: {module} has no {name}"


def test_every_module_that_the_page_names_exists():
    named = {one or other for one, other in PATH.findall(PAGE)}
    package = ROOT / "src" / "stepwell"
    missing = sorted(
        path for path in named if not ((package / path).exists() or (ROOT / path).exists() or list(package.rglob(path)))
    )
    assert missing == []
