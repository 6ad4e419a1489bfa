"""EPUB: the chapters in their reading order."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from stepwell.errors import FetchFailedError
from stepwell.tools.documents.archive import Archive, DamagedError, attribute
from stepwell.tools.documents.content import decode_text
from stepwell.tools.documents.formats.markup import html_paragraphs, parse_html
from stepwell.tools.documents.formats.tables import flatten
from stepwell.tools.documents.pieces import Document, Piece

_MOST_CHAPTERS = 2_000
_LONGEST_NAME = 80


def read_epub(archive: Archive) -> Document:
    if "META-INF/rights.xml" in archive or "META-INF/sinf.xml" in archive:
        raise FetchFailedError("The page is an e-book with copy protection.", "unreadable")
    container = archive.xml("META-INF/container.xml")
    main = next((place for each in container.iter("{*}rootfile") if (place := attribute(each, "full-path")) in archive), "")
    if not main:
        raise DamagedError("it has no list of chapters")
    package = archive.xml(main)
    title = next((flatten(each.text or "") for each in package.iter("{*}title")), "")
    return Document(_chapters(archive, package, posixpath.dirname(main)), title)


def _chapters(archive: Archive, package: Any, folder: str) -> Iterator[Piece]:
    items = {attribute(item, "id"): item for item in package.iter("{*}item")}
    count = 0
    for reference in list(package.iter("{*}itemref"))[:_MOST_CHAPTERS]:
        item = items.get(attribute(reference, "idref"))
        if item is None or "nav" in attribute(item, "properties").split():
            continue
        place = posixpath.normpath(posixpath.join("/", folder, unquote(attribute(item, "href")))).lstrip("/")
        if "html" not in attribute(item, "media-type") or place not in archive:
            continue
        tree = parse_html(_without_declaration(decode_text(archive.read(place), None, html=True)))
        paragraphs = list(html_paragraphs(tree)) if tree is not None else []
        if paragraphs:
            count += 1
            heading = next((each.lstrip("# ") for each in paragraphs[:5] if each.startswith("#")), "")
            yield Piece(paragraphs[0], f"chapter {heading[:_LONGEST_NAME] or count}")
            yield from map(Piece, paragraphs[1:])


def _without_declaration(text: str) -> str:
    """XHTML without its first line, which says how it was encoded."""
    return text.partition("?>")[2] if text.lstrip().startswith("<?xml") else text
