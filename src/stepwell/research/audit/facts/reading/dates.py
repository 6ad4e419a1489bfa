"""Dates of a text in one form, however they were written.

A date contains what the text says and no more: "March 2021" has no day. A bare number of four digits is a year only if it counts
nothing. "03/04/2021" is two possible dates, and both are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from stepwell.words import is_function

_NAMES = {
    1: "january jan januar jän janvier enero ene gennaio",
    2: "february feb februar février fév febrero febbraio",
    3: "march mar märz mär mars marzo",
    4: "april apr avril avr abril aprile",
    5: "may mai mayo maggio",
    6: "june jun juni juin junio giugno",
    7: "july jul juli juillet juil julio luglio",
    8: "august aug août agosto ago",
    9: "september sept sep septembre septiembre settembre",
    10: "october oct oktober okt octobre octubre ottobre",
    11: "november nov novembre noviembre",
    12: "december dec dezember dez décembre déc diciembre dic dicembre",
}
MONTHS = {name: month for month, names in _NAMES.items() for name in names.split()}
_MONTH = "(?P<month>" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_MONTH_UPPER = "(?P<month>" + "|".join(name.capitalize() for name in sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_YEAR = r"(?P<year>1\d{3}|20\d{2}|21\d{2})(?![\d.,]*\d)"

_FORMS = [
    re.compile(
        r"(?<![\d-])(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})(?:[T ]\d{2}:\d{2}[\d:.]*(?:Z|[+-]\d{2}:?\d{2})?)?(?!\d)"
    ),
    re.compile(
        rf"(?<![\d.,])(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.|er)?(?:\s+(?:of|de))?\s+{_MONTH}(?:,?(?:\s+(?:of|de))?\s+{_YEAR})?",
        re.I,
    ),
    re.compile(rf"\b{_MONTH_UPPER}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?![\d.,]*\d)(?:,?\s+{_YEAR})?"),
    re.compile(rf"\b{_MONTH_UPPER},?(?:\s+(?:of|de))?\s+{_YEAR}"),
    re.compile(rf"\b{_MONTH},?(?:\s+(?:of|de))?\s+{_YEAR}", re.I),
    re.compile(
        rf"(?:(?<=\b[Ii]n )|(?<=\bof )|(?<=\b[Bb]y )|(?<=\b[Ii]m )|(?<=\b[Ee]n )|(?<=\b[Ss]ince )|(?<=\b[Uu]ntil )){_MONTH_UPPER}"
    ),
    re.compile(r"(?<![\d.,/-])(?P<a>\d{1,2})(?P<mark>[./-])(?P<b>\d{1,2})(?P=mark)(?P<year>\d{4})(?![\d/-])"),
    re.compile(r"(?<![\w.,/–-])(?P<year>1[5-9]\d{2}|20\d{2})\s?[–/-]\s?\d{2}(?![\w.,/–-]*\d)(?!\s?[%°])"),
    re.compile(rf"\bQ(?P<quarter>[1-4])[\s/-]*{_YEAR}"),
    re.compile(r"(?<![\d.,])(?P<century>\d{1,2})(?:st|nd|rd|th|\.)\s+(?:century|centuries|jahrhundert)\b", re.I),
    re.compile(r"(?<![\d.,])(?P<decade>1\d{2}0|20\d0)(?:s|er)\b"),
]
_BARE_YEAR = re.compile(
    r"(?<![\w.,$€£¥%])(?:(?<=[^\W\d]-)|(?<!-)|(?<=\d-))(?P<year>1\d{3}|20\d{2}|21\d{2})(?![\w%])(?![.,]\d)(?!\s?[°%‰€$£])"
)
_YEAR_LEAD = re.compile(
    r"(?:\b(?:in|since|of|from|until|till|to|by|before|after|during|around|year|circa|c\.|im|jahr|seit|bis|vor|nach|ab|en|depuis|avant|"
    r"après|desde|hasta|and|between|early|late|mid)\s+|[(–/-]\s?)$",
    re.I,
)
_BC = re.compile(r"\s*(?:BCE?|v\.\s?Chr\.|av\.\s?J\.-C\.|a\.\s?C\.)")


@dataclass(frozen=True, slots=True)
class DatePoint:
    """A date, with the parts that were given. `part` distinguishes decades, centuries, quarters and years before Christ."""

    year: int | None
    month: int | None = None
    day: int | None = None
    part: str = ""
    start: int = 0
    end: int = 0
    alternative: tuple[int, int] | None = None
    """The other (month, day) that a form like 03/04/2021 may mean."""

    def named(self) -> str:
        known = [f"{self.year:04d}" if self.year is not None else "----"]
        known += [f"{value:02d}" for value in (self.month, self.day) if value is not None]
        return self.part + "-".join(known)

    def is_within(self, other: DatePoint) -> bool:
        """Whether `other` says at least as much as this date, and nothing different."""
        if self.part == "decade " and other.part == "" and self.year is not None and other.year is not None:
            return self.year == other.year - other.year % 10
        if self.part != other.part or self.year not in (None, other.year):
            return False
        if self.alternative is not None:
            return {self.alternative, (self.month, self.day)} == {other.alternative, (other.month, other.day)}
        if other.alternative is not None:
            return self.month is None
        return self.month in (None, other.month) and self.day in (None, other.day)


def dates(text: str) -> list[DatePoint]:
    """Every date of a text, in order, without duplicates."""
    found: list[DatePoint] = []
    taken = bytearray(len(text))
    for form in _FORMS:
        for match in form.finditer(text):
            point = None if any(taken[match.start() : match.end()]) else _read(match)
            if point is not None:
                taken[match.start() : match.end()] = b"\1" * (match.end() - match.start())
                found.append(point)
    found += [point for point in _bare_years(text) if not any(taken[point.start : point.end])]
    return sorted(found, key=lambda point: point.start)


def _read(match: re.Match[str]) -> DatePoint | None:
    groups = {name: value for name, value in match.groupdict().items() if value is not None}
    point = DatePoint(int(groups["year"]) if "year" in groups else None, start=match.start(), end=match.end())
    for name, part in (("century", "century "), ("decade", "decade ")):
        if name in groups:
            return replace(point, year=int(groups[name]), part=part)
    if "quarter" in groups:
        return replace(point, part=f"Q{groups['quarter']} ")
    if "month" not in groups and "a" not in groups:
        return point  # 1983–84 counts as the year in which it begins
    if "a" in groups:
        return _numeric(int(groups["a"]), int(groups["b"]), groups["mark"], point)
    name = groups["month"].casefold()
    month = int(name) if name.isdigit() else MONTHS[name]
    day = int(groups["day"]) if "day" in groups else None
    return replace(point, month=month, day=day) if _exists(month, day) else None


def _numeric(a: int, b: int, mark: str, rest: DatePoint) -> DatePoint | None:
    day_first, month_first = _exists(b, a), _exists(a, b) and mark == "/"
    if day_first and month_first and a != b:
        return replace(rest, month=b, day=a, alternative=(a, b))
    if day_first:
        return replace(rest, month=b, day=a)
    return replace(rest, month=a, day=b) if month_first else None


def _exists(month: int, day: int | None) -> bool:
    return 1 <= month <= 12 and (day is None or 1 <= day <= 31)


def _bare_years(text: str) -> Iterator[DatePoint]:
    for match in _BARE_YEAR.finditer(text):
        before_christ = _BC.match(text, match.end())
        if (
            before_christ
            or _YEAR_LEAD.search(text[max(0, match.start() - 12) : match.start()])
            or not _counts(text, match.end())
        ):
            yield DatePoint(int(match["year"]), part="BC " if before_christ else "", start=match.start(), end=match.end())


def _counts(text: str, end: int) -> bool:
    """Whether the number may count the next word: `1500 people`, but not `1804 was` or `a 1957 Danish film`."""
    following = re.match(r"[\s\u00a0-]([^\W\d_]+)", text[end : end + 24])
    return following is not None and not is_function(following[1]) and following[1][0].islower()
