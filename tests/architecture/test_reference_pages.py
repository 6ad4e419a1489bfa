"""The reference pages that come from the code are in step with it, and the page about variables names all of them."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("python-api.md", "command-line.md", "http-routes.md", "stream-events.md", "interrupts.md", "errors.md")
VARIABLE = re.compile(r"(?:[A-Z][A-Z0-9]*_)+[A-Z0-9]+|VISUAL|EDITOR")
NOT_FOR_READERS = {
    "_FMT", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
}  # fmt: skip


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        return importlib.import_module("reference.__main__")
    finally:
        sys.path.remove(str(ROOT / "scripts"))


@pytest.mark.parametrize("name", NAMES)
def test_page_is_in_step_with_the_code(reference: ModuleType, name: str):
    assert (ROOT / "docs/reference" / name).read_text(encoding="utf-8") == reference.made(name), "run: make reference"


def test_every_generated_page_is_compared(reference: ModuleType):
    assert {*reference.PAGES, *reference.PARTS} == set(NAMES)


def variables_read() -> set[str]:
    tree = ast.parse((ROOT / "src/stepwell/settings.py").read_text(encoding="utf-8"))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {text for text in texts if VARIABLE.fullmatch(text)}


def test_environment_page_names_every_variable_that_is_read():
    page = (ROOT / "docs/reference/environment.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([A-Z0-9_]+)(?:=[^`]*)?`", page))
    assert (
        sorted(name for name in variables_read() - named - NOT_FOR_READERS if name.removeprefix("STEPWELL_") not in named) == []
    )


def test_environment_page_names_no_variable_that_nothing_reads():
    page = (ROOT / "docs/reference/environment.md").read_text(encoding="utf-8").partition("## Read by others")[0]
    rows = "\n".join(line.split(" | ")[0] for line in page.splitlines() if line.startswith("| `"))
    named = {name for name in re.findall(r"`([A-Z0-9_]+)`", rows) if not name.startswith("_")}
    prefixed = {f"STEPWELL_MODEL_{kind}" for kind in ("PLAN", "AUDIT", "WRITE", "FILES", "SUMMARISE")}
    assert sorted(named - variables_read() - prefixed) == []
