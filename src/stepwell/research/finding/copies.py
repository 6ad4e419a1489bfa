"""Finds documents that are older copies of others: mostly the same words, and another date or version.

A report would otherwise quote last year's figure beside this year's, from two files that look alike. The older copy is left out, and the
report says so. Documents with other names are no copies, however alike: a series of pages may be written after one pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from stepwell.words import fold, words

_SHINGLE = 4
_SAME = 0.6
"""The share of runs of four words that two copies have in common, of those of the shorter one."""
_READ = 20_000
"""How many characters of each text are compared."""
_HEAD = 600
"""A document's own date stands at its beginning; dates further below are about other things."""
_MOST_SOURCES = 200
_MONTHS = {
    name: number
    for number, names in enumerate(
        ("jan january januar", "feb february februar", "mar march märz", "apr april", "may mai", "jun june juni", "jul july juli",
         "aug august", "sep september", "oct october okt oktober", "nov november", "dec december dez dezember"), 1)
    for name in names.split()
}  # fmt: skip
_ISO = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")
_SPOKEN = re.compile(r"\b(?:(\d{1,2})\.? +)?([A-Za-zä]{3,9})\.?(?: +(\d{1,2})(?:st|nd|rd|th)?,?)? +((?:19|20)\d\d)\b")
_YEAR = re.compile(r"(?<!\d)((?:19|20)\d\d)(?!\d)")
_VERSION = re.compile(r"(?<![a-z0-9])(?:v|ver|version|rev)[ ._-]?(\d{1,3})(?!\d)", re.IGNORECASE)
_EDITIONS = frozenset(("final", "new", "updated", "revised", "copy", "edition", "q", "of", "as"))
_DRAFT = re.compile(r"\b(?:draft|entwurf|old|alt|obsolete|superseded|archive)\b", re.IGNORECASE)


class Edition(NamedTuple):
    """How new a document is, as far as its name and its beginning tell; editions compare from old to new."""

    is_final: bool
    dated: date
    version: int


class Copy(NamedTuple):
    """A document and the newer copy of it."""

    older: str
    newer: str


def older_copies(titles: Mapping[str, str], texts: Mapping[str, str]) -> list[Copy]:
    """The sources of which a newer copy is there, by id. Without a date or version that tells, none is older."""
    names = sorted(texts)[:_MOST_SOURCES]
    shingles = {name: _shingles(texts[name][:_READ]) for name in names}
    editions = {name: edition_of(titles.get(name, ""), texts[name]) for name in names}
    found: dict[str, str] = {}
    for at, one in enumerate(names):
        for other in names[at + 1 :]:
            if editions[one] == editions[other] or not _same_name(titles.get(one, ""), titles.get(other, "")):
                continue
            if not _are_copies(shingles[one], shingles[other]):
                continue
            older, newer = sorted((one, other), key=editions.__getitem__)
            if older not in found or editions[newer] > editions[found[older]]:
                found[older] = newer
    return [Copy(older, newer) for older, newer in sorted(found.items())]


def edition_of(title: str, text: str) -> Edition:
    """The edition of a document, by its name first, then by the beginning of its text."""
    name, head = title.replace("_", " "), text[:_HEAD]
    dated = next((max(found) for each in (name, head) if (found := list(dates_in(each)))), date.min)
    version = _VERSION.search(name) or _VERSION.search(head)
    return Edition(not _DRAFT.search(name.replace("-", " ")), dated, int(version[1]) if version else 0)


def dates_in(text: str) -> Iterator[date]:
    """Every date in a text; a month counts as its first day, a year as its first."""
    for match in _ISO.finditer(text):
        yield from _date(int(match[1]), int(match[2]), int(match[3]))
    for match in _SPOKEN.finditer(text):
        if month := _MONTHS.get(match[2].lower()):
            yield from _date(int(match[4]), month, int(match[1] or match[3] or 1))
    for match in _YEAR.finditer(text):
        yield from _date(int(match[1]), 1, 1)


def _same_name(one: str, other: str) -> bool:
    """Whether two titles differ at most in what tells editions apart: figures, months, versions, `draft` and `final`."""
    return _name(one) == _name(other)


def _name(title: str) -> tuple[str, ...]:
    plain = _DRAFT.sub(" ", _VERSION.sub(" ", title.replace("_", " ").replace("-", " ").replace(".", " ")))
    said = (fold(word.text) for word in words(plain))
    return tuple(word for word in said if word not in _MONTHS and word not in _EDITIONS and not any(map(str.isdigit, word)))


def _date(year: int, month: int, day: int) -> Sequence[date]:
    try:
        return [date(year, month, day)]
    except ValueError:
        return []


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Runs of words, without figures: those are what changes from copy to copy."""
    said = [fold(word.text) for word in words(text) if not any(map(str.isdigit, word.text))]
    return frozenset(tuple(said[at : at + _SHINGLE]) for at in range(len(said) - _SHINGLE + 1))


def _are_copies(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> bool:
    shorter = min(len(one), len(other))
    return shorter > _SHINGLE and len(one & other) >= _SAME * shorter
