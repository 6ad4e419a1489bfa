"""Finds the sentences of a report that its agent keeps editing, and marks those that do not hold. They are judged elsewhere.

Deep research writes such reports, with `[s1](address)` after what a source says. Plain headings, code and the list of sources are not
claims. Marking a report again changes nothing. A check of a bundle finds the same sentences, and compares them with the bundle's claims.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stepwell.research.audit.evidence import Claim
from stepwell.research.audit.sentences import passages
from stepwell.research.audit.writing.references import SOURCES_HEADING
from stepwell.research.audit.writing.report import ANY_MARK, mark_of

_LINKED = re.compile(r"\[(s\d{1,6})\](?:\([^()\s]*\))?")
SOURCE_IDS = r"s\d{1,6}(?:\s*[,;]\s*s\d{1,6})*"
"""The pattern of the ids in a citation: `s1`, or `s1, s2`."""
UNKNOWN_MARK = re.compile(r"\*\((s\d{1,6}) is no source that was read\)\*")
"""What `mark_unknown` writes."""
_CITATION = rf"(?:\[\s*{SOURCE_IDS}\s*\](?:\([^()\s]*\))?|{UNKNOWN_MARK.pattern})"
_AFTER_STOP = re.compile(rf"(?P<before>^.*?)(?P<stop>[.!?…])(?P<cited>(?:[ \t]*{_CITATION})+)", re.MULTILINE)
_NUMBER = re.compile(r"\s*(?:>\s*)*\d{1,3}")
_ITEM = re.compile(r"\s*(?:>\s*)*(?:[-*+]\s+|\d{1,3}[.)]\s+)")
_QUOTED = re.compile(r"\s*(?:>\s*)*")
_HEADING = re.compile(r"\s*#{1,6}\s+(?:\d{1,2}(?:\.\d{1,2})*[.)]?\s+)?")
_RULE = re.compile(r"[-*_=|:\s`~]*")
_FENCE = re.compile(r"\s*(?:```|~~~)")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a report: its words without citations, the pages it names, and where it ends in the text."""

    words: str
    cited: tuple[str, ...]
    end: int


def mark_unknown(source_id: str) -> str:
    """What replaces a citation of a page that was never read."""
    return f"*({source_id} is no source that was read)*"


def remove_marks(report: str) -> str:
    """A report without the marks of an earlier check, and with citations inside the sentence they belong to."""
    report = strip_marks(report)
    before = None
    while report != before:
        before, report = report, _AFTER_STOP.sub(_move_before_stop, report)
    return report


def strip_marks(report: str) -> str:
    """A report without marks, otherwise unchanged."""
    return ANY_MARK.sub("", report)


def _move_before_stop(match: re.Match[str]) -> str:
    """A citation after the full stop moves before it; the dot of a numbered item is not a full stop."""
    if _NUMBER.fullmatch(match["before"]):
        return match.group()
    return f"{match['before']} {match['cited'].strip()}{match['stop']}"


def sentences(report: str) -> list[Sentence]:
    """Everything that the body of a report claims, in order. A paragraph may span several lines; a row of a table is one claim."""
    body = report.partition(f"\n{SOURCES_HEADING}\n")[0]
    found: list[Sentence] = []
    for start, end, kind in _blocks(body):
        found += _row(body, start, end) if kind == "row" else _of_text(body, start, end)
    return found


def _blocks(body: str) -> Iterator[tuple[int, int, str]]:
    """The places of paragraphs, items, rows, and headings that state a figure."""
    lines = body.split("\n")
    open_since, place, is_code = -1, 0, False
    for number, line in enumerate([*lines, ""]):
        heading, item = _HEADING.match(line), _ITEM.match(line)
        row = line.lstrip().startswith("|")
        alone = _FENCE.match(line) or is_code or _RULE.fullmatch(line) or heading or row
        if open_since >= 0 and (alone or item):
            yield open_since, place - 1, "text"
            open_since = -1
        if _FENCE.match(line):
            is_code = not is_code
        elif heading and not is_code and re.search(r"\d|[.!]\s*$", line[heading.end() :]):
            yield place + heading.end(), place + len(line), "text"
        elif row and not is_code and not _RULE.fullmatch(line) and not _is_header(lines, number):
            yield place, place + len(line.rstrip()), "row"
        elif not alone and open_since < 0:
            lead = item or _QUOTED.match(line)
            open_since = place + (lead.end() if lead else 0)
        place += len(line) + 1


def _is_header(lines: Sequence[str], number: int) -> bool:
    following = lines[number + 1].strip() if number + 1 < len(lines) else ""
    return following.startswith("|") and _RULE.fullmatch(following) is not None


def add_marks(report: str, checked: Sequence[tuple[Sentence, Claim]]) -> str:
    """The report with a mark after each sentence that is not supported."""
    pieces, place = [], 0
    for sentence, claim in checked:
        pieces += [report[place : sentence.end], mark_of(claim)]
        place = sentence.end
    return "".join([*pieces, report[place:]])


def _of_text(body: str, start: int, end: int) -> Iterator[Sentence]:
    for passage in passages(body[start:end].replace("\n", " ")):
        yield from _sentence(passage.text, start + passage.end)


def _row(body: str, start: int, end: int) -> Iterator[Sentence]:
    """The cells of a table row, as one claim, whose mark goes into the last cell."""
    row = body[start:end]
    inside = row.rstrip("|").rstrip()
    yield from _sentence(", ".join(cell.strip() for cell in inside.strip("| ").split("|")), start + len(inside))


def _sentence(text: str, end: int) -> Iterator[Sentence]:
    cited = dict.fromkeys([*_LINKED.findall(text), *UNKNOWN_MARK.findall(text)])
    bare = _LINKED.sub(" ", UNKNOWN_MARK.sub(" ", text)).replace("**", "")
    said = re.sub(r" ([.,;:!?…])", r"\1", " ".join(bare.split()))
    if any(character.isalnum() for character in said):
        yield Sentence(said, tuple(cited), end)
