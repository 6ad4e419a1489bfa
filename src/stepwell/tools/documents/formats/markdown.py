"""Markdown: already what we want, but for headings with a line below them and for tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stepwell.tools.documents.formats.tables import flatten, row_of, table_paragraphs
from stepwell.tools.documents.pieces import Document, Piece

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RULE = re.compile(r"\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?\|?")
_UNDERLINE = re.compile(r" {0,3}(=+|-+) *")
_CELL = re.compile(r"(?<!\\)\|")


def read_markdown(text: str) -> Document:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    title = next((line.lstrip("# ").strip() for line in lines[:50] if line.startswith("# ")), "")
    return Document(_pieces(lines), title)


def _pieces(lines: list[str]) -> Iterator[Piece]:
    """Paragraphs as they are; headings and rows of tables each as their own."""
    paragraph: list[str] = []
    place, fence = 0, ""
    while place < len(lines):
        line = lines[place]
        following = lines[place + 1] if place + 1 < len(lines) else ""
        found = _FENCE.match(line)
        if fence or found:
            paragraph.append(line)
            if found and (not fence or line.strip().startswith(fence)):
                fence = "" if fence else found[1][:3]
        elif "|" in line and "-" in following and len(following) < 2_000 and _RULE.fullmatch(following.strip()):
            yield Piece("\n".join(paragraph))
            paragraph = []
            end = place + 2
            while end < len(lines) and "|" in lines[end] and lines[end].strip():
                end += 1
            rows = [_cells(each) for each in (line, *lines[place + 2 : end])]
            yield from map(Piece, table_paragraphs(map(row_of, rows), has_header=True))
            place = end
            continue
        elif (
            len(paragraph) == 1
            and len(line) < 500
            and _UNDERLINE.fullmatch(line)
            and not paragraph[0].startswith(("#", "-", ">", "|"))
        ):
            yield Piece(f"{'#' if line.strip().startswith('=') else '##'} {paragraph[0].strip()}")
            paragraph = []
        elif not line.strip() or line.startswith("#"):
            yield Piece("\n".join(paragraph))
            paragraph = []
            yield Piece(line)
        else:
            paragraph.append(line)
        place += 1
    yield Piece("\n".join(paragraph))


def _cells(line: str) -> list[str]:
    return [flatten(cell.replace("\\|", "|")) for cell in _CELL.split(line.strip().strip("|"))]
