"""Every Python block in README.md, docs/ and skills/ runs as it stands, and the pages lead to one another.

The blocks of a page share a namespace, in their order, an empty working folder and an empty data folder. A block that cannot run says so
in a comment on the line above it; it must compile all the same:

    <!-- needs a key -->              it calls a paid provider
    <!-- not run: the reason -->      anything else; the reason is required
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest
import yaml

from stepwell import ConfigurationError
from stepwell.middleware.shell import ShellMiddleware

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SKILL = ROOT / "skills/stepwell/SKILL.md"
PAGES = [page for page in [ROOT / "README.md", SKILL, *sorted(DOCS.rglob("*.md"))] if page.is_file()]

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>\S*)[^\n`]*$")
MARKER = re.compile(r"<!--\s*(?P<word>needs a key|not run)\s*(?::\s*(?P<reason>.*?)\s*)?-->")
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the number of its first line, and the line above its fence."""

    language: str
    text: str
    line: int
    above: str

    def runs(self) -> bool:
        marker = MARKER.search(self.above)
        if marker is None:
            return True
        if marker["word"] == "not run" and not marker["reason"]:
            raise ValueError(f"line {self.line}: say why, as in <!-- not run: the reason -->")
        return False

    def source(self) -> str:
        """The text moved down to its own line, so that a traceback points into the page."""
        return "\n" * (self.line - 1) + dedent(self.text)


def blocks_of(page: str) -> list[Block]:
    """Every fenced block of a page; one that is never closed is an error."""
    lines = page.splitlines()
    found: list[Block] = []
    opened: tuple[re.Match[str], int] | None = None
    for number, line in enumerate(lines):
        fence = FENCE.match(line)
        if opened is None and fence:
            opened = (fence, number)
        elif opened and fence and not fence["language"] and len(fence["ticks"]) >= len(opened[0]["ticks"]):
            start = opened[1]
            above = lines[start - 1] if start else ""
            found.append(Block(opened[0]["language"], "\n".join(lines[start + 1 : number]) + "\n", start + 2, above))
            opened = None
    if opened:
        raise ValueError(f"the block that opens in line {opened[1] + 1} is never closed")
    return found


def python_blocks(page: str) -> list[Block]:
    return [block for block in blocks_of(page) if block.language in ("python", "py")]


def run_page(text: str, name: str) -> int:
    """Run a page's blocks in a module of their own; gives how many ran."""
    module = sys.modules[name] = ModuleType(name)  # classes look their module up, to resolve annotations
    ran = 0
    try:
        for block in python_blocks(text):
            code = compile(block.source(), name, "exec")
            if block.runs():
                exec(code, module.__dict__)
                ran += 1
    finally:
        del sys.modules[name]
    return ran


def skip_without_sandbox() -> None:
    try:
        ShellMiddleware()
    except ConfigurationError as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [page for page in PAGES if python_blocks(page.read_text(encoding="utf-8"))], ids=page_id)
def test_page_runs_as_it_stands(
    page: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEPWELL_DATA_DIR", str(tmp_path_factory.mktemp("data")))  # nothing may land in the user's own
    monkeypatch.syspath_prepend(str(tmp_path))  # as for a script in that folder
    text = page.read_text(encoding="utf-8")
    if "ShellMiddleware" in text:
        skip_without_sandbox()
    run_page(text, page_id(page))


def defined_on(page: Path, name: str) -> type:
    """A class of a page, with the classes before it; no other block is run."""
    module = ModuleType(page_id(page))
    for block in python_blocks(page.read_text(encoding="utf-8")):
        if re.search(r"^class ", block.text, re.MULTILINE):
            exec(compile(block.source(), page_id(page), "exec"), module.__dict__)
    return module.__dict__[name]


class TestBackendOfTheDocs(defined_on(DOCS / "how-to" / "write-a-backend.md", "TestZipBackend")):
    """The page says that its backend passes the suite: it does."""


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_to_files(page: Path):
    prose = re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8"))
    targets = [match["target"].partition("#")[0] for match in LINK.finditer(prose)]
    local = [target for target in targets if target and "://" not in target and not target.startswith("mailto:")]
    assert [target for target in local if not (page.parent / target).exists()] == []


def test_the_index_names_every_page():
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    linked = {(DOCS / match["target"].partition("#")[0]).resolve() for match in LINK.finditer(index)}
    assert [page_id(page) for page in PAGES if DOCS in page.parents and page.name != "README.md" and page not in linked] == []


def test_the_snippet_of_the_site_s_front_page_runs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not sent anywhere")
    assert run_page((ROOT / "scripts/docs_site/front.md").read_text(encoding="utf-8"), "front page") == 1


def test_the_skill_says_in_its_front_matter_what_it_is_for():
    _, front, _ = SKILL.read_text(encoding="utf-8").split("---\n", 2)
    fields = yaml.safe_load(front)
    assert fields["name"] == SKILL.parent.name
    assert 50 < len(fields["description"]) <= 1024


PAGE = """
```python
kept = 1
```
<!-- needs a key -->
```python
raise SystemExit("must not run")
```
1. in a list
   ```python
   class Later:
       value = kept + 1
   assert Later.value == 2
   ```
```text
raise SystemExit("not Python")
```
"""


def test_blocks_share_a_namespace_and_marked_ones_do_not_run():
    assert run_page(PAGE, "a page") == 2


def test_a_failing_block_is_found_by_its_line():
    with pytest.raises(ZeroDivisionError) as failure:
        run_page("text\n\n```python\nx = 1\nx / 0\n```\n", "a page")
    assert failure.traceback[-1].lineno + 1 == 5


@pytest.mark.parametrize("marker", ["<!-- needs a key -->", "<!-- not run: it waits for you -->"])
def test_a_marked_block_must_compile(marker: str):
    with pytest.raises(SyntaxError):
        run_page(f"{marker}\n```python\ndef (\n```\n", "a page")


@pytest.mark.parametrize("marker", ["<!-- not run -->", "<!-- not run: -->"])
def test_a_block_that_does_not_run_says_why(marker: str):
    with pytest.raises(ValueError, match="say why"):
        run_page(f"{marker}\n```python\nx = 1\n```\n", "a page")


def test_a_block_that_is_never_closed_is_found():
    with pytest.raises(ValueError, match="line 2 is never closed"):
        run_page("\n```python\nx = 1\n", "a page")
