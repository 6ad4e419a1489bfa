"""How the documentation site is put together. `make docs` builds it, and fails on any warning or remote resource."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]


def part(name: str) -> ModuleType:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        return importlib.import_module(f"docs_site.{name}")
    finally:
        sys.path.remove(str(ROOT / "scripts"))


navigation, staging, remote, llms = (part(name) for name in ("navigation", "staging", "remote", "llms"))

INDEX = """# Index

Intro.

## Tutorial: learn by doing

- [First](tutorial/first.md): begin
  here.

## How-to: get one thing done

### Serve it

- [Serve](how-to/serve.md): one command.

## Decisions: what others might question

- [0001: A choice](adr/0001-a.md)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    pages = {
        "docs/README.md": INDEX,
        "docs/tutorial/first.md": "# First\n\n[Serve](../how-to/serve.md#start), [map](../../ARCHITECTURE.md), [code](../../src/a.py)\n",
        "docs/how-to/serve.md": "# Serve\n\n```md\n[kept](../../src/a.py)\n```\n\n`[kept](../../src/b.py)` [out](https://example.test)\n",
        "docs/adr/0001-a.md": "# 0001: A choice\n",
        "ARCHITECTURE.md": "# Architecture\n\n[first](docs/tutorial/first.md)\n",
    }
    for name, text in pages.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def staged(project: Path) -> Path:
    staging.stage(project, "# Front\n", project / "build")
    return project / "build"


def test_navigation_has_kinds_topics_and_notes():
    tutorial, how_to, decisions = navigation.read_navigation(INDEX)
    assert tutorial.promise == "learn by doing"
    assert [entry.note for entry in tutorial.entries()] == ["begin here."]
    assert [(topic.title, topic.slug) for topic in how_to.topics] == [("Serve it", "serve-it")]
    assert decisions.folder == "adr"


@pytest.mark.parametrize("line", ["## Recipes: food", "## Tutorial: x\n\n- no link"])
def test_an_index_that_the_site_cannot_show_is_refused(line: str):
    with pytest.raises(ValueError, match=r"docs/README\.md"):
        navigation.read_navigation(f"# Index\n\n{line}\n")


def test_links_between_pages_and_to_pages_outside_docs_are_kept(staged: Path):
    first = (staged / "tutorial/first.md").read_text(encoding="utf-8")
    assert "[Serve](../how-to/serve.md#start), [map](../explanation/architecture.md)" in first
    assert "[first](../tutorial/first.md)" in (staged / "explanation/architecture.md").read_text(encoding="utf-8")


def test_a_link_to_a_file_that_is_not_shown_becomes_its_path(staged: Path):
    assert "code (`src/a.py`)" in (staged / "tutorial/first.md").read_text(encoding="utf-8")


def test_code_and_addresses_are_not_changed(project: Path, staged: Path):
    assert (staged / "how-to/serve.md").read_text(encoding="utf-8") == (project / "docs/how-to/serve.md").read_text(
        encoding="utf-8"
    )


def test_each_topic_is_a_page_below_its_kind(staged: Path):
    assert "serve-it-pages" in (staged / "how-to/index.md").read_text(encoding="utf-8")
    assert "- [Serve](serve.md): one command." in (staged / "how-to/serve-it-pages.md").read_text(encoding="utf-8")


def test_a_page_that_is_gone_is_removed(project: Path, staged: Path):
    (project / "docs/how-to/serve.md").unlink()
    (project / "docs/README.md").write_text(INDEX.replace("- [Serve](how-to/serve.md): one command.\n", ""), encoding="utf-8")
    staging.stage(project, "# Front\n", staged)
    assert not (staged / "how-to/serve.md").exists()


@pytest.mark.parametrize(
    "text",
    [
        '<link rel="stylesheet" href="https://fonts.test/a.css">',
        '<script src="//cdn.test/a.js"></script>',
        '<img src="http://img.test/a.png">',
        '<p style="background: url(https://img.test/a.png)">',
        "<style>@font-face { src: url('https://fonts.test/a.woff2') }</style>",
        '<style>@import "https://fonts.test/a.css";</style>',
    ],
)
def test_a_remote_resource_is_seen(text: str):
    assert remote.resources_elsewhere(text, ".html")


def test_links_and_own_resources_are_allowed():
    text = '<a href="https://example.test">out</a><img src="../a.png"><link href="_static/a.css"><style>a { src: url(a.woff2) }</style>'
    assert remote.resources_elsewhere(text, ".html") == []


def test_llms_index_has_a_title_a_summary_and_the_pages_by_kind():
    text = llms.index_text(navigation.read_navigation(INDEX))
    assert text.startswith("# Stepwell\n\n> ")
    assert "## How-to\n\n- [Serve](how-to/serve.md): one command.\n" in text
    assert "## Optional\n\n- [0001: A choice](adr/0001-a.md)\n" in text


def test_llms_full_text_has_every_page_but_the_optional_ones(staged: Path):
    text = llms.full_text(navigation.read_navigation(INDEX), staged)
    assert "<!-- tutorial/first.md -->\n\n# First" in text
    assert "0001" not in text


def test_the_index_of_this_project_can_be_shown():
    kinds = navigation.read_navigation((ROOT / "docs/README.md").read_text(encoding="utf-8"))
    assert [kind.title for kind in kinds] == list(navigation.FOLDERS)
    shown = set(staging.Site.of(ROOT).pages.values())
    assert [llms.page_of(entry) for kind in kinds for entry in kind.entries() if llms.page_of(entry) not in shown] == []
