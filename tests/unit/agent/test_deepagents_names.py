"""docs/how-to/come-from-deepagents.md lists every public name of deepagents 0.7, and what it says we have, we have.

`tests/fixtures/deepagents_names.json` has the names. On the page, a row of a table names one or more of them in its first cell. A claim
is written in one of these forms, and is checked:

    `stepwell.Name`                  can be imported
    `stepwell.Name(keyword=)`        takes this keyword
    `stepwell.SubAgent["key"]`       has this key
"""

from __future__ import annotations

import inspect
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/how-to/come-from-deepagents.md").read_text(encoding="utf-8")
NAMES: dict[str, Any] = json.loads((ROOT / "tests/fixtures/deepagents_names.json").read_text(encoding="utf-8"))
CLAIM = re.compile(r"`(stepwell(?:\.\w+)+)(?:\((\w+)=\)|\[\"(\w+)\"\])?`")
CLAIMS = sorted({found.group(0): found.groups() for found in CLAIM.finditer(PAGE)}.items())


def section(heading: str) -> str:
    """The text under a heading, up to the next one."""
    found = re.search(rf"^#+ {re.escape(heading)}$\n(.*?)(?=^#|\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert found, f"The page has no heading '{heading}'."
    return found[1]


def first_cells(text: str) -> set[str]:
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


@pytest.mark.parametrize("module", NAMES["modules"])
def test_every_name_of_a_module_is_listed(module: str):
    listed = first_cells(section("Names"))
    assert [name for name in NAMES["modules"][module] if name not in listed] == []


@pytest.mark.parametrize("owner", NAMES["keywords"])
def test_every_keyword_is_listed(owner: str):
    listed = first_cells(section("Keywords"))
    assert [name for name in NAMES["keywords"][owner] if f"{owner}({name}=)" not in listed] == []


@pytest.mark.parametrize("owner", NAMES["keys"])
def test_every_key_is_listed(owner: str):
    listed = first_cells(section("Keys of subagents"))
    assert [name for name in NAMES["keys"][owner] if f'{owner}["{name}"]' not in listed] == []


@pytest.mark.parametrize(("heading", "kind"), [("Tools", "tools"), ("Verbs of backends", "verbs"), ("State", "state")])
def test_every_tool_verb_and_state_key_is_listed(heading: str, kind: str):
    listed = first_cells(section(heading))
    assert [name for name in NAMES[kind] if name not in listed] == []


@pytest.mark.parametrize(("claim", "parts"), CLAIMS, ids=[claim for claim, _ in CLAIMS])
def test_what_the_page_says_we_have_is_there(claim: str, parts: tuple[str, str | None, str | None]):
    path, keyword, key = parts
    thing = find(path)
    if keyword:
        assert keyword in inspect.signature(thing).parameters
    if key:
        assert key in thing.__annotations__


def find(path: str) -> Any:
    """A module, or what a module or a class has under its last names."""
    names = path.split(".")
    for length in range(len(names), 0, -1):
        try:
            thing: Any = import_module(".".join(names[:length]))
        except ModuleNotFoundError:
            continue
        for name in names[length:]:
            thing = getattr(thing, name)
        return thing
    raise AssertionError(f"{path} cannot be imported")
