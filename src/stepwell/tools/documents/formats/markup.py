"""HTML as paragraphs: headings with their marks, list items on lines of their own, one paragraph for each row of a table.

It selects nothing: for the article in a web page, see `page`. What no reader sees is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stepwell.errors import needs_extra
from stepwell.tools.documents.formats.tables import Row, flatten, table_paragraphs
from stepwell.tools.documents.plain_html import is_hidden

HEADINGS = {f"h{level}": level for level in range(1, 7)}
_SILENT = frozenset(
    {"script", "style", "noscript", "template", "svg", "head", "iframe", "object", "select", "textarea", "button"}
)
_BLOCKS = frozenset({
    "p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "ul", "ol", "dl", "dt", "dd", "hr", "pre",
    "blockquote", "figure", "figcaption", "form", "body", "address", "details", "summary", "caption",
})  # fmt: skip
_LAYOUT = ("p", "ul", "ol", "h1", "h2", "h3", "form", "article", "section", "blockquote")
"""What the cells of a table of data do not contain."""
_MOST_COLUMNS = 500


def parse_html(text: str) -> Any:
    """The tree of a page; None if it has none."""
    with needs_extra("Reading web pages", "research"):
        from lxml import etree  # type: ignore[import-untyped]  # lxml ships without types
        from lxml.html import HTMLParser, document_fromstring  # type: ignore[import-untyped]  # the same
    if not text.strip():
        return None
    try:
        return document_fromstring(text.encode("utf-8", "replace"), parser=HTMLParser(encoding="utf-8"))
    except (etree.LxmlError, ValueError, AssertionError):
        return None


def mark_structure(tree: Any) -> set[str]:
    """Write headings with their marks, and rows of tables as paragraphs, into the tree itself, for an extractor that knows neither.
    Returns the rows."""
    found: set[str] = set()
    for element in list(tree.iter(*HEADINGS)):
        text = flatten(element.text_content())
        for child in list(element):
            element.remove(child)
        element.text = f"{'#' * HEADINGS[element.tag]} {text}" if text else ""
    for table in list(tree.iter("table")):
        rows = table_texts(table) if _holds_data(table) else []
        for row in rows:
            paragraph = table.makeelement("p")
            paragraph.text = row
            table.addprevious(paragraph)
        if rows:
            table.drop_tree()
        found.update(rows)
    return found


def _holds_data(table: Any) -> bool:
    """Whether a table has rows and columns of its own, and is not there for the layout of a page."""
    if table.getparent() is None or next(table.iter(*_LAYOUT), None) is not None or len(list(table.iter("table"))) > 1:
        return False
    widths = [sum(cell.tag in ("td", "th") for cell in row) for row in table.iter("tr")]
    return len(widths) > 1 and max(widths) > 1


def html_paragraphs(tree: Any) -> Iterator[str]:
    """The paragraphs of a tree in their order."""
    walker = _Walker()
    walker.walk(tree)
    walker.end()
    return iter(walker.paragraphs)


class _Walker:
    def __init__(self) -> None:
        self.paragraphs: list[str] = []
        self._pieces: list[str] = []
        self._items: list[str] = []

    def end(self, before: str = "", *, is_item: bool = False) -> None:
        """End the paragraph. Items of a list are kept together."""
        text = flatten("".join(self._pieces))
        self._pieces = []
        if is_item and text:
            self._items.append(f"- {text}")
            return
        if self._items and (text or not is_item):
            self.paragraphs.append("\n".join(self._items))
            self._items = []
        if text:
            self.paragraphs.append(before + text)

    def walk(self, element: Any) -> None:
        tag = element.tag if isinstance(element.tag, str) else ""
        if not tag or tag in _SILENT or is_hidden(dict(element.attrib)):
            return
        if tag in HEADINGS:
            self.end()
            self._inside(element)
            self.end(f"{'#' * HEADINGS[tag]} ")
        elif tag == "table":
            self.end()
            self.paragraphs += table_texts(element)
        elif tag == "li":
            if self._pieces and any(piece.strip() for piece in self._pieces):
                self.end(is_item=True)
            self._inside(element)
            self.end(is_item=True)
        elif tag == "br":
            self._pieces.append(" ")
        elif tag in _BLOCKS:
            is_in_item = next((each.tag == "li" for each in element.iterancestors("li", "table")), False)
            self.end(is_item=is_in_item)
            self._inside(element)
            self.end(is_item=is_in_item)
        else:
            self._inside(element)

    def _inside(self, element: Any) -> None:
        self._pieces.append(element.text or "")
        for child in element:
            self.walk(child)
            self._pieces.append(child.tail or "")


def table_texts(table: Any) -> list[str]:
    """One paragraph for each row. A cell over several columns counts once; one over several rows is repeated in each of them."""
    rows: list[Row] = []
    below: dict[int, tuple[int, str]] = {}
    has_header = False
    for row in table.iter("tr"):
        if next(row.iterancestors("table"), None) is not table:
            continue
        cells: dict[int, str] = {}
        column = 0
        waiting, below = below, {}
        own = [cell for cell in row if cell.tag in ("td", "th")]
        for cell in own:
            while column in waiting:
                column += 1
            if column >= _MOST_COLUMNS:
                break
            text = flatten(cell.text_content())
            cells[column] = text
            if (deep := _span(cell, "rowspan")) > 1:
                below[column] = (deep - 1, text)
            column += _span(cell, "colspan")
        for place, (deep, text) in waiting.items():
            cells.setdefault(place, text)
            if deep > 1:
                below[place] = (deep - 1, text)
        if not rows:
            has_header = bool(own) and all(cell.tag == "th" for cell in own)
        rows.append({place: text for place, text in sorted(cells.items()) if text})
    caption = next((flatten(each.text_content()) for each in table.iter("caption")), "")
    return [*([caption] if caption else []), *table_paragraphs(rows, has_header=has_header)]


def _span(cell: Any, name: str) -> int:
    said = cell.get(name) or "1"
    return max(1, min(int(said), _MOST_COLUMNS)) if said.isdecimal() and len(said) < 6 else 1
