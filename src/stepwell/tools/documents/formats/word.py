"""DOCX: paragraphs, headings, lists, tables, footnotes, text boxes and charts, in the order in which they are read.

Left out: comments, deleted text of tracked changes, hidden text, page headers and footers, pictures, macros.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stepwell.errors import FetchFailedError
from stepwell.tools.documents.archive import Archive, attribute, relation_id, tag_of
from stepwell.tools.documents.formats.charts import chart_paragraphs
from stepwell.tools.documents.formats.tables import Row, flatten, table_paragraphs
from stepwell.tools.documents.pieces import Document, Piece

_OFF = ("0", "false", "off", "none")
_SKIPPED = frozenset(
    {"del", "moveFrom", "pPr", "rPr", "instrText", "delText", "delInstrText", "commentReference", "object", "rt"}
)
_LONGEST_NAME = 80
_MOST_COLUMNS = 500


def read_word(archive: Archive) -> Document:
    """The document's paragraphs. Each heading begins a part."""
    document = Document(())
    if archive.has_macros:
        document.notes.append("It has macros, which were not read.")
    main = archive.main_part("word/document.xml")
    document.title = read_title(archive)
    document.pieces = _Word(archive, main).pieces()
    return document


def read_title(archive: Archive) -> str:
    """The title in an Office file's properties."""
    if "docProps/core.xml" not in archive:
        return ""
    return next((flatten(each.text or "") for each in archive.xml("docProps/core.xml").iter("{*}title")), "")


class _Word:
    def __init__(self, archive: Archive, main: str) -> None:
        self._archive = archive
        self._main = main
        self._relations = archive.relations(main)
        self._styles = _Styles(archive, self._relations)
        self._notes = {
            **_notes(archive, self._relations, "footnotes", "Footnote"),
            **_notes(archive, self._relations, "endnotes", "Endnote"),
        }
        self._counts: dict[str, dict[str, int]] = {}
        self._behind: list[str] = []
        """What follows the paragraph that is being read: its text boxes, charts and footnotes."""

    def pieces(self) -> Iterator[Piece]:
        body = next(self._archive.xml(self._main).iter("{*}body"), None)
        if body is None:
            raise FetchFailedError("The page is damaged: it has no body.", "unreadable")
        is_named = False
        items: list[str] = []
        for text, level in self._blocks(body):
            if items and not text.startswith("\x00"):
                yield Piece("\n".join(items), "" if is_named else "beginning")
                is_named, items = True, []
            if text.startswith("\x00"):
                items.append(text[1:])
            elif level:
                yield Piece(f"{'#' * level} {text}", f"section {text[:_LONGEST_NAME]}")
                is_named = True
            elif text:
                yield Piece(text, "" if is_named else "beginning")
                is_named = True
        if items:
            yield Piece("\n".join(items), "" if is_named else "beginning")

    def _blocks(self, parent: Any) -> Iterator[tuple[str, int]]:
        """Paragraphs with their heading level (0 for text). A list item begins with a zero character."""
        for child in parent:
            match tag_of(child):
                case "p":
                    yield from self._paragraph(child)
                case "tbl":
                    yield from ((text, 0) for text in self._table(child))
                case "sdt" | "sdtContent" | "customXml" | "ins" | "moveTo" | "smartTag":
                    yield from self._blocks(child)
                case "AlternateContent":
                    yield from self._blocks(_choice(child))

    def _paragraph(self, paragraph: Any) -> Iterator[tuple[str, int]]:
        text = self._inline(paragraph)
        lines = "\n".join(flatten(line) for line in text.split("\n")).strip()
        behind, self._behind = self._behind, []
        level = self._styles.level(paragraph)
        if lines and level:
            yield flatten(lines), level
        elif lines:
            mark = self._list_mark(paragraph)
            yield (f"\x00{mark}{flatten(lines)}" if mark else lines), 0
        for each in behind:
            yield each, 0

    def _inline(self, element: Any) -> str:
        """The text of a paragraph or a part of it. What stands beside the text is collected in `_behind`."""
        pieces: list[str] = []
        for child in element:
            tag = tag_of(child)
            if tag in _SKIPPED:
                continue
            if tag == "t":
                pieces.append(child.text or "")
            elif tag in ("tab", "ptab"):
                pieces.append("\t")
            elif tag in ("br", "cr"):
                pieces.append("\n")
            elif tag == "noBreakHyphen":
                pieces.append("-")
            elif tag in ("footnoteReference", "endnoteReference"):
                self._behind += self._notes.get((tag[: -len("Reference")], attribute(child, "id")), [])
            elif tag == "r" and self._styles.is_hidden(child):
                continue
            elif tag == "AlternateContent":
                pieces.append(self._inline(_choice(child)))
            elif tag == "txbxContent":
                self._behind += self._apart(child)
            elif tag == "chart":
                place = self._relations.get(relation_id(child), ("", ""))[1]
                self._behind += chart_paragraphs(self._archive, place) if place in self._archive else []
            elif tag == "p":  # a text box of a drawing
                self._behind += self._apart([child])
            else:
                pieces.append(self._inline(child))
        return "".join(pieces)

    def _apart(self, element: Any) -> list[str]:
        """Paragraphs inside something else, such as a cell or a text box."""
        behind, self._behind = self._behind, []
        texts = [text.lstrip("\x00") for text, _ in self._blocks(element)]
        self._behind = behind
        return texts

    def _table(self, table: Any) -> list[str]:
        rows: list[Row] = []
        above: dict[int, str] = {}
        has_header = False
        for row in _children(table, "tr"):
            properties = next((each for each in row if tag_of(each) == "trPr"), ())
            if any(tag_of(each) == "del" for each in properties):
                continue
            if not rows:
                has_header = any(tag_of(each) == "tblHeader" and attribute(each, "val") not in _OFF for each in properties)
            cells = dict(self._cells(row, above))
            above = cells
            rows.append({column: text for column, text in cells.items() if text})
        return table_paragraphs(rows, has_header=has_header)

    def _cells(self, row: Any, above: dict[int, str]) -> Iterator[tuple[int, str]]:
        """Column -> text. A cell merged over columns counts once; one merged over rows is repeated in each of them."""
        column = 0
        for cell in _children(row, "tc"):
            properties = next((each for each in cell if tag_of(each) == "tcPr"), ())
            values = {tag_of(each): attribute(each, "val") for each in properties}
            if column >= _MOST_COLUMNS:
                return
            is_below = "vMerge" in values and values["vMerge"] != "restart"
            yield column, above.get(column, "") if is_below else flatten(" ".join(self._apart(cell)))
            span = values.get("gridSpan", "1")
            column += max(1, min(int(span) if span.isdecimal() and len(span) < 5 else 1, _MOST_COLUMNS))

    def _list_mark(self, paragraph: Any) -> str:
        number, level = self._styles.numbering(paragraph)
        if not number:
            return ""
        kind = self._styles.list_kind(number, level)
        if kind in ("bullet", "none"):
            return "- "
        counts = {each: count for each, count in self._counts.get(number, {}).items() if each <= level}
        counts[level] = counts.get(level, 0) + 1
        self._counts[number] = counts
        return f"{counts[level]}. "


class _Styles:
    """What a style says about headings, lists and hidden text."""

    def __init__(self, archive: Archive, relations: dict[str, tuple[str, str]]) -> None:
        self._styles: dict[str, Any] = {}
        self._kinds: dict[tuple[str, str], str] = {}
        place = _target(archive, relations, "styles")
        if place:
            self._styles = {attribute(style, "styleId"): style for style in archive.xml(place).iter("{*}style")}
        place = _target(archive, relations, "numbering")
        if place:
            self._read_lists(archive.xml(place))

    def _read_lists(self, root: Any) -> None:
        abstract = {}
        for each in root.iter("{*}abstractNum"):
            levels = {attribute(level, "ilvl"): level for level in each if tag_of(level) == "lvl"}
            abstract[attribute(each, "abstractNumId")] = levels
        for each in root.iter("{*}num"):
            chosen = next((attribute(child, "val") for child in each if tag_of(child) == "abstractNumId"), "")
            for level, element in abstract.get(chosen, {}).items():
                kind = next((attribute(child, "val") for child in element if tag_of(child) == "numFmt"), "decimal")
                self._kinds[attribute(each, "numId"), level] = kind

    def list_kind(self, number: str, level: str) -> str:
        return self._kinds.get((number, level), "bullet")

    def level(self, paragraph: Any) -> int:
        """1 to 6 for a heading, 0 for text."""
        for properties, name in self._chain(paragraph):
            lowered = name.lower()
            if lowered == "title":
                return 1
            if lowered.startswith("heading ") and lowered[8:].isdecimal():
                return min(6, max(1, int(lowered[8:10])))
            outline = next((attribute(each, "val") for each in properties if tag_of(each) == "outlineLvl"), "")
            if outline.isdecimal():
                return int(outline) + 1 if int(outline) < 6 else 0
        return 0

    def numbering(self, paragraph: Any) -> tuple[str, str]:
        """The number of the paragraph's list and its level in it; empty if it is in no list."""
        for properties, name in self._chain(paragraph):
            for each in properties:
                if tag_of(each) == "numPr":
                    values = {tag_of(child): attribute(child, "val") for child in each}
                    number = values.get("numId", "")
                    return ("" if number == "0" else number), values.get("ilvl", "0")
            if name.lower().startswith("list bullet"):
                return "bullet", "0"
        return "", "0"

    def is_hidden(self, run: Any) -> bool:
        properties = next((each for each in run if tag_of(each) == "rPr"), ())
        return any(tag_of(each) == "vanish" and attribute(each, "val") not in _OFF for each in properties)

    def _chain(self, paragraph: Any) -> Iterator[tuple[Any, str]]:
        """The properties of the paragraph, then those of its style and the styles it is based on, each with the style's name."""
        properties = next((each for each in paragraph if tag_of(each) == "pPr"), ())
        yield properties, ""
        style_id = next((attribute(each, "val") for each in properties if tag_of(each) == "pStyle"), "")
        for _ in range(10):
            style = self._styles.get(style_id)
            if style is None:
                return
            values = {tag_of(each): each for each in style}
            yield values.get("pPr", ()), attribute(values["name"], "val") if "name" in values else ""
            style_id = attribute(values["basedOn"], "val") if "basedOn" in values else ""


def _notes(archive: Archive, relations: dict[str, tuple[str, str]], kind: str, title: str) -> dict[tuple[str, str], list[str]]:
    """Footnotes or endnotes by their id, numbered as in the document."""
    place = _target(archive, relations, kind)
    found: dict[tuple[str, str], list[str]] = {}
    if place:
        for note in archive.xml(place):
            text = flatten("".join(each.text or "" for each in note.iter("{*}t")))
            if attribute(note, "type", "normal") == "normal" and text:
                found[kind[:-1], attribute(note, "id")] = [f"{title} {len(found) + 1}: {text}"]
    return found


def _target(archive: Archive, relations: dict[str, tuple[str, str]], kind: str) -> str:
    return next((target for each, target in relations.values() if each == kind and target in archive), "")


def _children(element: Any, tag: str) -> Iterator[Any]:
    """Rows or cells, also those inside content controls and inserted ones."""
    for child in element:
        if tag_of(child) == tag:
            yield child
        elif tag_of(child) in ("sdt", "sdtContent", "customXml", "ins", "moveTo"):
            yield from _children(child, tag)


def _choice(alternatives: Any) -> Any:
    """Of several forms of the same content, the first: reading all would read it twice."""
    return next((child for child in alternatives if tag_of(child) in ("Choice", "Fallback")), ())
