"""Finds what pages would load from another address: style sheets, scripts, fonts, images, frames. Links to click on are not meant."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

LOADED = {
    "script": ("src",), "img": ("src", "srcset"), "iframe": ("src",), "source": ("src", "srcset"), "video": ("src", "poster"),
    "audio": ("src",), "embed": ("src",), "object": ("data",), "link": ("href",), "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}  # fmt: skip
ELSEWHERE = re.compile(r"^\s*(?:https?:)?//", re.IGNORECASE)
IN_STYLES = re.compile(r"(?:url\(\s*[\"']?|@import\s+[\"'])(?P<address>(?:https?:)?//[^\"')\s]+)", re.IGNORECASE)


class _Resources(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "style" and value:
                self.found += [match["address"] for match in IN_STYLES.finditer(value)]
            if name in LOADED.get(tag, ()) and value and ELSEWHERE.match(value):
                self.found.append(value)


def resources_elsewhere(text: str, suffix: str) -> list[str]:
    """Addresses that a page or a style sheet would load from elsewhere."""
    found = [match["address"] for match in IN_STYLES.finditer(text)]
    if suffix == ".html":
        parser = _Resources()
        parser.feed(text)
        found += parser.found
    return sorted(set(found))


def remote_resources(site: Path) -> list[str]:
    """`file: address` for each page and style sheet of the site."""
    files = sorted([*site.rglob("*.html"), *site.rglob("*.css")])
    return [
        f"{file.relative_to(site).as_posix()}: {address}"
        for file in files
        for address in resources_elsewhere(file.read_text(encoding="utf-8"), file.suffix)
    ]
