"""Copies what the site shows into one folder for Sphinx, with links that lead to pages of the site.

```
docs/**/*.md            the same path
ARCHITECTURE.md ...     project/, examples/, deploy/         see OUTSIDE
docs/README.md          a page for each kind and each topic  navigation.py
front.md                index.md
```
A link to a file that the site does not show becomes its path in the repository, because the project has no public address to link to.
Files are written only if their text has changed, so that Sphinx reads only these again.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from docs_site.navigation import Entry, Kind, Topic, read_navigation

OUTSIDE = {
    "README.md": "project/readme.md",
    "ARCHITECTURE.md": "explanation/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "deploy/README.md": "project/deploy.md",
    "examples/README.md": "tutorial/examples.md",
    "examples/product/README.md": "tutorial/example-product.md",
    "skills/stepwell/SKILL.md": "project/skill.md",
}
"""Pages outside docs/ -> where the site shows them."""
ABOUT = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "deploy/README.md", "skills/stepwell/SKILL.md")
IMAGES = ("png", "svg", "gif", "jpg", "webp")
FENCE = re.compile(r"^ *(`{3,}|~{3,})")
LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]`]|`[^`\n]*`|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


@dataclass(frozen=True)
class Site:
    """Every page of the site: its path in the repository, its path on the site."""

    root: Path
    pages: Mapping[str, str]

    @classmethod
    def of(cls, root: Path) -> Site:
        docs = {page.relative_to(root).as_posix(): page.relative_to(root / "docs").as_posix() for page in _pages(root / "docs")}
        outside = {source: target for source, target in OUTSIDE.items() if (root / source).is_file()}
        return cls(root, {**docs, **outside, "docs/README.md": "index.md"})

    def move_links(self, text: str, source: str, target: str) -> str:
        """A page's text, with its links as they are on the site. `source` is its path in the repository, `target` that on the site."""
        return "".join(
            line if fenced else self._move_links_of_line(line, source, target) for fenced, line in _lines_and_fences(text)
        )

    def _move_links_of_line(self, line: str, source: str, target: str) -> str:
        hidden = [match.span() for match in CODE.finditer(line)]

        def move(link: re.Match[str]) -> str:
            if any(start < link.start() and link.end() < end for start, end in hidden):
                return link[0]
            return self._move(link, source, target)

        return LINK.sub(move, line)

    def _move(self, link: re.Match[str], source: str, target: str) -> str:
        address, _, anchor = link["target"].partition("#")
        if not address or "://" in address or address.startswith("mailto:"):
            return link[0]
        place = _normal(PurePosixPath(source).parent / address)
        shown = self.pages.get(place) or (place.removeprefix("docs/") if link["image"] else None)
        if shown is None:
            text = link["text"]
            return text if place in text.strip("`") else f"{text} (`{place}`)"
        moved = os.path.relpath(shown, PurePosixPath(target).parent)
        return f"{link['image']}[{link['text']}]({moved}{'#' + anchor if anchor else ''})"


def stage(root: Path, front: str, folder: Path) -> list[Kind]:
    """Write the pages into `folder`, remove what no longer belongs there, and return the navigation."""
    site = Site.of(root)
    kinds = read_navigation((root / "docs/README.md").read_text(encoding="utf-8"))
    texts = {target: site.move_links(_text_of(root / source), source, target) for source, target in site.pages.items()}
    texts |= dict(_kind_pages(site, kinds))
    texts["project/index.md"] = _about(site)
    texts["index.md"] = front + _toctree([*(f"{kind.folder}/index" for kind in kinds), "project/changelog", "project/index"])
    for name, text in texts.items():
        _write(folder / name, text)
    for image in (path for path in (root / "docs").rglob("*.*") if path.suffix[1:] in IMAGES):
        _copy(image, folder / image.relative_to(root / "docs"))
    for page in _pages(folder):
        if page.relative_to(folder).as_posix() not in texts:
            page.unlink()
    return kinds


def _kind_pages(site: Site, kinds: list[Kind]) -> Iterator[tuple[str, str]]:
    for kind in kinds:
        here = f"{kind.folder}/index.md"
        parts = [f"# {kind.title}\n\n{kind.promise.capitalize()}.\n"]
        below: list[str] = []
        for topic in kind.topics:
            if not topic.title:
                parts += [*topic.prose, _list(site, topic.entries, here)]
                below += _documents(site, topic.entries, here)
                continue
            page = f"{kind.folder}/{topic.slug}-pages.md"
            parts += [f"## [{topic.title}]({topic.slug}-pages.md)\n", *topic.prose, _list(site, topic.entries, here)]
            below.append(page.removesuffix(".md").removeprefix(f"{kind.folder}/"))
            yield page, _topic_page(site, topic, page)
        yield here, "\n\n".join(parts) + _toctree(below)


def _topic_page(site: Site, topic: Topic, page: str) -> str:
    return f"# {topic.title}\n\n{_list(site, topic.entries, page)}\n" + _toctree(_documents(site, topic.entries, page))


def _list(site: Site, entries: list[Entry], page: str) -> str:
    lines = (f"- [{entry.title}]({entry.target}){': ' + entry.note if entry.note else ''}\n" for entry in entries)
    return site.move_links("".join(lines), "docs/README.md", page)


def _documents(site: Site, entries: list[Entry], page: str) -> list[str]:
    shown = (site.pages[_normal(PurePosixPath("docs") / entry.target)] for entry in entries)
    return [os.path.relpath(each, PurePosixPath(page).parent).removesuffix(".md") for each in shown]


def _about(site: Site) -> str:
    shown = [site.pages[source].removeprefix("project/") for source in ABOUT if source in site.pages]
    links = "".join(f"- [](./{name})\n" for name in shown)
    return f"# The project\n\nPages of the repository that belong to no other section.\n\n{links}" + _toctree(
        [name.removesuffix(".md") for name in shown]
    )


def _toctree(documents: list[str]) -> str:
    lines = "\n".join(f"/{each}" if "/" in each and not each.startswith("..") else each for each in documents)
    return f"\n\n```{{toctree}}\n:hidden:\n:maxdepth: 3\n\n{lines}\n```\n"


def _text_of(path: Path) -> str:
    return FRONT_MATTER.sub("", path.read_text(encoding="utf-8"))


def _pages(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.md"))


def _lines_and_fences(text: str) -> Iterator[tuple[bool, str]]:
    """Each line, and whether it is in a fenced block or begins or ends one."""
    opened: str | None = None
    for line in text.splitlines(keepends=True):
        fence = FENCE.match(line)
        if fence and opened is None:
            opened = fence[1]
            yield True, line
        elif fence and opened and fence[1].startswith(opened) and not line.strip(" `~\n"):
            opened = None
            yield True, line
        else:
            yield opened is not None, line


def _normal(path: PurePosixPath) -> str:
    return os.path.normpath(path).replace(os.sep, "/")


def _write(path: Path, text: str) -> None:
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
