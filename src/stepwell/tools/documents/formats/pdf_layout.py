"""The layout of a PDF page: which pieces of text are headings, paragraphs, list items and rows of a table.

```
words ─> segments (no wide gap inside) ─> blocks (lines below each other) ─> rows (blocks beside each other) ─> paragraphs
```
A PDF says where each character stands, and little else. Everything here goes by position and size, in the order in which the page was
written; so two columns of prose stay two columns, and the cells of a row, which are written one after the other, come together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import NamedTuple

from stepwell.tools.documents.formats.tables import Row, flatten, table_paragraphs

_GAP = 1.0
"""A gap between two words, in sizes of the font, that separates cells. Words of a sentence are at most about half of it apart."""
WORD_GAP = 0.35
"""A gap inside a word that makes two of it."""
_LINE = 1.7
"""The largest distance between the lines of a paragraph, in sizes of the font."""
_SAME = 0.35
"""How far two baselines of one line may be apart, in sizes of the font."""
_HEADING = 1.15
_LONGEST_HEADING = 200
_LONGEST_BOLD_HEADING = 90
_BOLD = 600
_MOST_CELL_LINES = 8
_PROSE = 30
"""Cells with several lines longer than this are columns of prose."""
_BULLET = re.compile(r"[•◦▪●○■‣∙·*–-]|\(?(?:\d{1,3}|[a-zA-Z])[.)]")
_LEADER = re.compile(r"(?: ?\.){5,} ?")
_HYPHENS = ("\ufffe", "\x02", "\u00ad")
"""What the library makes of a hyphen at the end of a line."""


class Word(NamedTuple):
    """Characters without a blank between them."""

    text: str
    left: float
    right: float
    base: float
    size: float
    weight: int


@dataclass
class Segment:
    """Words of one line without a wide gap."""

    text: str
    left: float
    right: float
    base: float
    size: float
    is_bold: bool = False


@dataclass
class Block:
    """Lines below each other."""

    lines: list[Segment]

    @property
    def left(self) -> float:
        return min(line.left for line in self.lines)

    @property
    def right(self) -> float:
        return max(line.right for line in self.lines)

    @property
    def top(self) -> float:
        return self.lines[0].base + self.lines[0].size

    @property
    def bottom(self) -> float:
        return self.lines[-1].base

    @property
    def size(self) -> float:
        return self.lines[0].size

    @property
    def text(self) -> str:
        joined = ""
        for line in self.lines:
            joined = joined[:-1] + line.text if joined.endswith(_HYPHENS) else f"{joined} {line.text}"
        return _LEADER.sub(" … ", flatten(joined[:-1] + "-" if joined.endswith(_HYPHENS) else joined))


@dataclass
class Line:
    """Blocks beside each other: one block is a paragraph, several are a row."""

    cells: list[Block] = field(default_factory=list)


def segments(words: Iterable[Word]) -> Iterator[Segment]:
    """The words of a page, joined as long as one follows the other."""
    run: list[Word] = []
    for word in words:
        if run and not _follows(run[-1], word):
            yield _segment(run)
            run = []
        run.append(word)
    if run:
        yield _segment(run)


def _follows(last: Word, word: Word) -> bool:
    size = max(last.size, word.size)
    return abs(word.base - last.base) <= _SAME * size and -size <= word.left - last.right <= _GAP * size


def _segment(run: Sequence[Word]) -> Segment:
    text = " ".join(word.text for word in run)
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    # The first word may be a bullet of another size.
    middle = run[len(run) // 2]
    return Segment(text, run[0].left, run[-1].right, middle.base, middle.size, all(word.weight >= _BOLD for word in run))


def blocks(found: Iterable[Segment]) -> Iterator[Block]:
    """Join segments into blocks: each segment of a block is on the line below the one before."""
    block: Block | None = None
    for segment, following in pairwise(chain((each for each in found if each.text.strip()), (None,))):
        if segment is None:
            break
        if block is not None and _is_below(block.lines[-1], segment) and not _begins_row(block, segment, following):
            block.lines.append(segment)
            continue
        if block is not None:
            yield block
        block = Block([segment])
    if block is not None:
        yield block


def _begins_row(above: Block, segment: Segment, following: Segment | None) -> bool:
    """Whether a table begins with this segment, right below a paragraph: another cell is beside it, and the paragraph is above both."""
    return (
        following is not None
        and abs(following.base - segment.base) <= _SAME * segment.size
        and segment.right < following.left < above.right
    )


def _is_below(above: Segment, below: Segment) -> bool:
    size = max(above.size, below.size)
    down = above.base - below.base
    return (
        _SAME * size < down <= _LINE * size
        and abs(above.size - below.size) <= 0.1 * size
        and above.is_bold == below.is_bold
        and min(above.right, below.right) > max(above.left, below.left)
        and not _starts_item(below.text)
    )


def lines(found: Iterable[Block]) -> Iterator[Line]:
    """Join blocks that are side by side into lines."""
    line: Line | None = None
    for block in found:
        if line is not None and _is_beside(line, block):
            line.cells.append(block)
            continue
        if line is not None:
            yield line
        line = Line([block])
    if line is not None:
        yield line


def _is_beside(line: Line, block: Block) -> bool:
    last = line.cells[-1]
    top, bottom = max(cell.top for cell in line.cells), min(cell.bottom for cell in line.cells)
    slack = _SAME * block.size
    if block.left < last.right + 0.5 * block.size or block.bottom > top or block.top < bottom + slack:
        return False
    tall = [cell for cell in (*line.cells, block) if len(cell.lines) > 2]
    is_prose = len(tall) > 1 and all(len(cell.text) > _PROSE * len(cell.lines) for cell in tall)
    return not is_prose and len(block.lines) <= _MOST_CELL_LINES and len(last.lines) <= _MOST_CELL_LINES


class Sizes:
    """Learns from each page which font size the running text has, to tell headings from it."""

    def __init__(self) -> None:
        self._counts: Counter[float] = Counter()
        self._bold = 0

    def learn(self, found: Iterable[Segment]) -> None:
        for segment in found:
            self._counts[round(segment.size, 1)] += len(segment.text)
            self._bold += len(segment.text) if segment.is_bold else 0

    def level(self, block: Block) -> int:
        """1 to 4 for a heading, 0 for text."""
        body = self._counts.most_common(1)[0][0] if self._counts else 0.0
        text = block.text
        if body <= 0 or len(block.lines) > 3 or len(text) > _LONGEST_HEADING or not re.search(r"[^\W\d_]{2}", text):
            return 0
        ratio = block.size / body
        if ratio >= _HEADING:
            return 1 if ratio >= 1.8 else 2 if ratio >= 1.35 else 3
        is_rare = self._bold < 0.3 * self._counts.total()
        ends_open = text[-1] not in ".,;:!?"
        is_bold = all(line.is_bold for line in block.lines)
        return 4 if is_bold and is_rare and ends_open and ratio > 0.9 and len(text) <= _LONGEST_BOLD_HEADING else 0


def paragraphs(found: Iterable[Line], sizes: Sizes) -> Iterator[str]:
    """The paragraphs of a page: headings with their marks, rows of tables, list items, text."""
    table: list[Line] = []
    items: list[str] = []
    for line in found:
        level = sizes.level(line.cells[0]) if len(line.cells) == 1 else 0
        item = "" if level else _item(line)
        is_row = len(line.cells) > 1 and not item
        if table and not is_row:
            yield from _table(table)
            table = []
        if items and not item:
            yield "\n".join(items)
            items = []
        if is_row:
            table.append(line)
        elif item:
            items.append(item)
        else:
            yield f"{'#' * level} {line.cells[0].text}" if level else line.cells[0].text
    yield from _table(table)
    if items:
        yield "\n".join(items)


def _item(line: Line) -> str:
    """The text of a list item, with its mark; empty if the line is something else."""
    text = " ".join(cell.text for cell in line.cells)
    if len(line.cells) > 2 or (len(line.cells) == 2 and not _BULLET.fullmatch(line.cells[0].text)) or not _starts_item(text):
        return ""
    return f"- {text[1:].strip()}" if not text[0].isalnum() and text[0] != "(" else text


def _starts_item(text: str) -> bool:
    mark, _, rest = text.partition(" ")
    return bool(rest.strip()) and len(mark) <= 5 and mark not in ("A.", "I.") and bool(_BULLET.fullmatch(mark))


def _table(rows: Sequence[Line]) -> Iterator[str]:
    """Rows as paragraphs. A single one is no table, but a line with gaps."""
    if len(rows) < 2:
        yield from (" ".join(cell.text for cell in row.cells) for row in rows)
        return
    widest = max(rows, key=lambda row: len(row.cells))
    columns = [(cell.left, cell.right) for cell in widest.cells]
    yield from table_paragraphs([_row(row, columns) for row in _split(rows)])


def _row(row: Line, columns: Sequence[tuple[float, float]]) -> Row:
    found: dict[int, str] = {}
    for cell in row.cells:
        place = max(range(len(columns)), key=lambda number: _overlap(cell, columns[number]))
        found[place] = f"{found[place]} {cell.text}" if place in found else cell.text
    return dict(sorted(found.items()))


def _overlap(cell: Block, column: tuple[float, float]) -> float:
    """How much a cell and a column overlap; less than zero is the distance between them."""
    return min(cell.right, column[1]) - max(cell.left, column[0])


def _split(rows: Sequence[Line]) -> Iterator[Line]:
    """Rows as a reader sees them. If the page was written column by column, one row has the lines of many."""
    for row in rows:
        bases = [[round(line.base) for line in cell.lines] for cell in row.cells]
        if len(bases[0]) > 1 and all(each == bases[0] for each in bases):
            for number in range(len(bases[0])):
                yield Line([Block([cell.lines[number]]) for cell in row.cells])
        else:
            yield row
