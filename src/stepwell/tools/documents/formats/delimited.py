"""CSV and TSV: one paragraph for each row, named by its line."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator

from stepwell.tools.documents.formats.tables import LOOKED_AT, Row, flatten, look_at, row_of, row_text
from stepwell.tools.documents.pieces import Document, Piece

MOST_ROWS = 200_000
_DELIMITERS = ",;\t|"
_SNIFFED = 20
_MOST_COLUMNS = 1_000
_LONGEST_CELL = 100_000


def read_delimited(text: str, delimiter: str = "") -> Document:
    """The rows of a table. Its delimiter is found out if it is not known."""
    document = Document(())
    document.pieces = _pieces(text, delimiter or _delimiter(text), document.notes)
    return document


def _delimiter(text: str) -> str:
    """The character that occurs equally often in the first lines, counted outside quotes."""
    lines = [line for line in text[:100_000].split("\n")[:_SNIFFED] if line.strip()]
    if lines and lines[0].lower().startswith("sep=") and len(lines[0].strip()) == 5:
        return lines[0].strip()[-1]
    best, share = ",", 0.0
    for delimiter in _DELIMITERS:
        counts = Counter(_outside_quotes(line).count(delimiter) for line in lines)
        number, times = counts.most_common(1)[0] if counts else (0, 0)
        if number and times / len(lines) + number / 1_000 > share:
            best, share = delimiter, times / len(lines) + number / 1_000
    return best


def _outside_quotes(line: str) -> str:
    return "".join(line.split('"')[::2])


def _pieces(text: str, delimiter: str, notes: list[str]) -> Iterator[Piece]:
    rows = _rows(text, delimiter, notes)
    first = [row for _, row in zip(range(LOOKED_AT), rows, strict=False)]
    layout = look_at([row for _, row in first])
    header: Row = first[layout.header][1] if layout.header is not None else {}
    for place, (line, row) in enumerate(first):
        if place != layout.header:
            is_title = layout.header is not None and place < layout.header
            yield Piece(row_text({} if is_title else header, row, is_pair=layout.is_pairs), f"line {line}")
    if layout.header == 0 and len(first) == 1:
        yield Piece(row_text({}, header), "line 1")
    for line, row in rows:
        yield Piece(row_text(header, row, is_pair=layout.is_pairs), f"line {line}")


def _rows(text: str, delimiter: str, notes: list[str]) -> Iterator[tuple[int, Row]]:
    """The rows that have values, with the line where each begins."""
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, strict=False)
    line, count = 1, 0
    while True:
        try:
            values = next(reader, None)
        except csv.Error:
            notes.append(f"Line {line} is not valid and was left out.") if len(notes) < 5 else None
            line = reader.line_num + 1
            continue
        if values is None:
            return
        row = row_of(flatten(value[:_LONGEST_CELL]) for value in values[:_MOST_COLUMNS])
        if row and not (line == 1 and values[0].lower().startswith("sep=")):
            count += 1
            if count > MOST_ROWS:
                notes.append(f"Only the first {MOST_ROWS:,} rows were read.")
                return
            yield line, row
        line = reader.line_num + 1
