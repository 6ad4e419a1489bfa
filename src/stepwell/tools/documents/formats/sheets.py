"""XLSX: what the cells show, row by row.

```
workbook ─> sheets ─> rows as they are unpacked ─> blocks between blank rows ─> titles, header, `Header: value; Header: value`
```
Only cells that exist are looked at, so it does not matter how large a sheet says it is. Formulas are not calculated: the value that was
stored with them is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any

from stepwell.tools.documents.archive import Archive, attribute, iterate_xml, relation_id, tag_of
from stepwell.tools.documents.formats.numbers import BUILT_IN, show_number
from stepwell.tools.documents.formats.tables import LOOKED_AT, Row, flatten, look_at, row_text
from stepwell.tools.documents.pieces import Document, Piece

MOST_ROWS = 200_000
MOST_STRINGS = 400_000
MOST_STRING_CHARACTERS = 16_000_000
MOST_COLUMNS = 1_000
LONGEST_CELL = 32_767
"""Excel's own limit."""
_MOST_MERGED = 20_000
_MOST_MERGED_BYTES = 2 << 20
_CELL = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]{0,100}?ref="([A-Z]{1,3})([0-9]{1,7}):([A-Z]{1,3})([0-9]{1,7})"')


def read_workbook(archive: Archive) -> Document:
    """The sheets in their order."""
    main = archive.main_part("xl/workbook.xml")
    document = Document(())
    if archive.has_macros:
        document.notes.append("It has macros, which were not read.")
    document.pieces = _Workbook(archive, main, document.notes).pieces()
    return document


@dataclass
class _Row:
    number: int
    cells: dict[int, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        first, last = min(self.cells), max(self.cells)
        return f"{column_name(first)}{self.number}:{column_name(last)}{self.number}"


class _Workbook:
    def __init__(self, archive: Archive, main: str, notes: list[str]) -> None:
        self._archive = archive
        self._main = main
        self._notes = notes
        self._strings: list[str] = []
        self._formats: list[str] = []
        self._from_1904 = False
        self._uncalculated = 0
        self._rows = 0
        self._is_cut = False

    def pieces(self) -> Iterator[Piece]:
        relations = self._archive.relations(self._main)
        root = self._archive.xml(self._main)
        self._from_1904 = any(attribute(each, "date1904") in ("1", "true") for each in root.iter("{*}workbookPr"))
        self._strings = list(self._read_strings(relations))
        self._formats = self._read_formats(relations)
        sheets = list(root.iter("{*}sheet"))
        hidden = [attribute(sheet, "name") for sheet in sheets if attribute(sheet, "state", "visible") != "visible"]
        if hidden:
            self._notes.append(f"Hidden sheets, which were read too: {', '.join(name[:40] for name in hidden[:10])}.")
        for sheet in sheets:
            kind, target = relations.get(relation_id(sheet), ("", ""))
            if kind == "worksheet" and target in self._archive:
                yield from self._sheet_pieces(flatten(attribute(sheet, "name"))[:60] or "without a name", target)
            if self._is_cut:
                break
        if self._uncalculated:
            several = "1 formula has" if self._uncalculated == 1 else f"{self._uncalculated:,} formulas have"
            self._notes.append(f"{several} no stored value. Open the file in Excel and save it to get one.")

    def _read_strings(self, relations: dict[str, tuple[str, str]]) -> Iterator[str]:
        place = next((target for kind, target in relations.values() if kind == "sharedStrings"), "")
        if place not in self._archive:
            return
        total = 0
        with self._archive.open(place) as stream:
            for count, item in enumerate(iterate_xml(stream, place, "si")):
                text = _rich_text(item)
                total += len(text)
                if count >= MOST_STRINGS or total > MOST_STRING_CHARACTERS:
                    return  # rows that use later strings are not read; see `_value`
                yield text

    def _read_formats(self, relations: dict[str, tuple[str, str]]) -> list[str]:
        """The number format of each cell style."""
        place = next((target for kind, target in relations.values() if kind == "styles"), "")
        if place not in self._archive:
            return []
        root = self._archive.xml(place)
        own = {attribute(each, "numFmtId"): attribute(each, "formatCode") for each in root.iter("{*}numFmt")}
        styles = next(root.iter("{*}cellXfs"), ())
        numbers = [attribute(style, "numFmtId", "0") for style in styles]
        return [own.get(number) or BUILT_IN.get(int(number) if number.isdecimal() else 0, "") for number in numbers]

    def _sheet_pieces(self, name: str, place: str) -> Iterator[Piece]:
        yield Piece(f"# {name}", f"sheet {name}", "A1")
        header: Row = {}
        for block in _blocks(self._filled_rows(place)):
            header = yield from _block_pieces(f"sheet {name}", block, header)
        if self._is_cut:
            self._notes.append(f"Only the first rows of the sheet {name} were read ({self._rows:,} rows in all).")

    def _filled_rows(self, place: str) -> Iterator[_Row]:
        """The rows with values, merged cells filled downwards: each row of a merged cell shows its value."""
        merged = self._merged_cells(place)
        values: dict[tuple[int, int], str] = {}
        with self._archive.open(place) as stream:
            number = 0
            for element in iterate_xml(stream, place, "row"):
                said = attribute(element, "r")
                number = int(said) if said.isdecimal() and len(said) < 8 else number + 1
                row = self._row(element, number)
                if row is None or self._rows >= MOST_ROWS:
                    self._is_cut = True
                    return
                for top, left, bottom in merged.get(number, ()):
                    if number == top:
                        values[top, left] = row.cells.get(left, "")
                    elif number <= bottom and left not in row.cells and row.cells and values.get((top, left)):
                        row.cells[left] = values[top, left]
                if row.cells:
                    self._rows += 1
                    row.cells = dict(sorted(row.cells.items()))
                    yield row

    def _merged_cells(self, place: str) -> dict[int, list[tuple[int, int, int]]]:
        """Row -> cells merged over several rows there (top, left, bottom). They stand at the end of a sheet, behind its rows."""
        found: dict[int, list[tuple[int, int, int]]] = {}
        tail = b""
        with self._archive.open(place) as stream:
            while piece := stream.read(1 << 20):
                tail += piece
                begin = tail.find(b"mergeCells")
                tail = tail[max(0, begin - 20) :] if begin >= 0 else tail[-20:]
                if begin >= 0 and len(tail) > _MOST_MERGED_BYTES:
                    break
        rows = 0
        for left, top, _, bottom in _MERGED.findall(tail):
            first, last = int(top), int(bottom)
            rows += last - first + 1
            if last > first and rows <= _MOST_MERGED:
                for number in range(first, last + 1):
                    found.setdefault(number, []).append((first, column_number(left.decode()), last))
        return found

    def _row(self, element: Any, number: int) -> _Row | None:
        """The row's values; None if it refers to a string behind those we read."""
        row = _Row(number)
        column = -1
        for cell in element:
            if tag_of(cell) != "c":
                continue
            found = _CELL.fullmatch(attribute(cell, "r"))
            column = column_number(found[1]) if found else column + 1
            if len(row.cells) >= MOST_COLUMNS:
                break
            value = self._value(cell)
            if value is None:
                return None
            if text := flatten(value[:LONGEST_CELL]):
                row.cells[column] = text
        return row

    def _value(self, cell: Any) -> str | None:
        kind = cell.get("t") or "n"
        stored = formula = None
        for child in cell:
            match tag_of(child):
                case "v":
                    stored = child.text or ""
                case "f":
                    formula = child
                case "is":
                    return _rich_text(child)
        if not stored:
            self._uncalculated += formula is not None and kind != "str"
            return ""
        match kind:
            case "s":
                place = int(stored) if stored.strip().isdecimal() and len(stored) < 10 else -1
                if place >= len(self._strings) >= MOST_STRINGS // 2:
                    return None
                return self._strings[place] if 0 <= place < len(self._strings) else ""
            case "b":
                return "TRUE" if stored.strip() == "1" else "FALSE"
            case "d":
                return _iso_date(stored)
            case "n":
                return self._number(stored, cell.get("s") or "")
            case _:  # text of a formula, an error such as #DIV/0!
                return stored

    def _number(self, stored: str, style: str) -> str:
        try:
            number = float(stored)
        except ValueError:
            return stored
        place = int(style) if style.isdecimal() and len(style) < 7 else -1
        code = self._formats[place] if 0 <= place < len(self._formats) else ""
        return show_number(number, code, from_1904=self._from_1904) if math.isfinite(number) else stored


def _blocks(rows: Iterable[_Row]) -> Iterator[Iterator[_Row]]:
    """The rows between blank rows. Each block has to be read to its end before the next."""
    waiting = iter(rows)
    following = next(waiting, None)

    def block() -> Iterator[_Row]:
        nonlocal following
        while following is not None:
            row, following = following, next(waiting, None)
            yield row
            if following is None or following.number > row.number + 1:
                return

    while following is not None:
        yield block()


def _block_pieces(name: str, block: Iterator[_Row], above: Row) -> Generator[Piece, None, Row]:
    """A block's paragraphs. Its header is returned, because a table may go on below a blank row."""
    first = [row for _, row in zip(range(LOOKED_AT), block, strict=False)]
    layout = look_at([row.cells for row in first])
    header: Row = first[layout.header].cells if layout.header is not None else {}
    if (
        layout.header is None
        and not layout.is_pairs
        and all(len(row.cells) > 1 and row.cells.keys() <= above.keys() for row in first)
    ):
        header = above
    for place, row in enumerate(chain(first, block)):
        if place != layout.header:
            is_title = layout.header is not None and place < layout.header
            yield Piece(row_text({} if is_title else header, row.cells, is_pair=layout.is_pairs), name, row.place)
    return header


def _rich_text(item: Any) -> str:
    """The text of a shared or inline string, without the readings that stand above Japanese words."""
    pieces: list[str] = []
    for child in item:
        if tag_of(child) == "t":
            pieces.append(child.text or "")
        elif tag_of(child) == "r":
            pieces += [each.text or "" for each in child if tag_of(each) == "t"]
    return "".join(pieces)[:LONGEST_CELL]


def _iso_date(stored: str) -> str:
    try:
        moment = datetime.fromisoformat(stored.strip().replace("Z", ""))
    except ValueError:
        return stored
    return moment.strftime("%Y-%m-%d" if moment.hour == moment.minute == moment.second == 0 else "%Y-%m-%d %H:%M")


def column_number(name: str) -> int:
    """`A` is 0, `AA` is 26."""
    number = 0
    for letter in name:
        number = number * 26 + ord(letter) - 64
    return number - 1


def column_name(number: int) -> str:
    name = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(65 + rest) + name
    return name
