"""Figures of a text: a value, its unit or what it counts, and its bound.

"1.234" is 1.234 in English and 1234 in German. If neither another number in the text nor its language decides, a figure keeps both
values. Two figures are equal only if they can mean exactly the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from stepwell.research.audit.facts.reading.dates import DatePoint
from stepwell.research.audit.facts.words.number_words import FRACTION, fractions, read_number
from stepwell.research.audit.facts.words.units import CURRENCY_CODES, CURRENCY_SIGNS, MULTIPLIER_OF, UNIT_OF
from stepwell.words import decimal_mark, is_function, stem, words

_NUMBER = re.compile(
    r"(?<![\w])(?<![\d][.,])(?<![^\W\d]-)"
    r"(?P<body>\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)*)"
)
_CLOCK = re.compile(r"(?<![\w:])(\d{1,2}):(\d{2})(?::\d{2})?(?![\w:])")
_SIGN = re.compile(r"(?:^|[\s(])([-−])\s?$|(?:^|[\s(])([-−])(?:US)?[$€£¥₹₿]\s?$")
_CURRENCY = re.compile(rf"(?:US|A|C)?([{CURRENCY_SIGNS}])\s?$")
_CURRENCY_CODE = re.compile(rf"\b({'|'.join(CURRENCY_CODES)})[\s\u00a0]$")
_TOLERANCE = re.compile(r"\s?(?:±|\+/[-−])\s?\d+(?:[.,]\d+)*")
_COUNTED = re.compile(r"\s+(?!metres|meters|miles)[a-z]{4,}s\b")
_PER = re.compile(r"\s?(?:/\s?|(?:per|a|an|each|je|pro|par|por)\s)(?P<word>[^\W\d_]+[²³]?)")
_AFTER = re.compile(r"(?P<gap>[\s\u00a0\u202f-]{0,2})(?P<word>%|°\s?[CF]?\b|[€£¥₹₿$]|[^\W\d_]+(?:[/][^\W\d_]+)?[²³]?)")
_RANGE = re.compile(r"\s?(?:-|–|—|to|bis|à|a|and|und|et|y)\s?")
_BOUNDS = {
    ">": "more than|over|above|at least|exceeding|exceeded|exceeds|upwards of|mehr als|über|mindestens|plus de|au moins|más de|al menos",
    "<": "less than|fewer than|under|below|at most|up to|no more than|almost|nearly|weniger als|unter|höchstens|fast|bis zu|moins de",
    "~": "about|around|approximately|roughly|some|circa|ca\\.?|c\\.|etwa|rund|ungefähr|environ|alrededor de|unos",
}
_BOUND = [(sign, re.compile(rf"(?:\b(?:{forms}))\s+(?:[^\W\d]?)$", re.I)) for sign, forms in _BOUNDS.items()]
_ROLE = re.compile(r"\b(from|to|von|auf|de|à)\s+(?:US)?[$€£¥₹₿]?$", re.I)
_ROLES = {"from": "from", "von": "from", "to": "to", "auf": "to"}


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in its place. `nouns` are the stems of the two words after it, if it has no unit that we know."""

    values: frozenset[Decimal]
    literal: str
    unit: str | None
    nouns: tuple[str, ...]
    bound: str
    role: str
    start: int
    end: int
    per: str = ""
    """The unit after "per" or "a", if known: `g` in "$90 a gram"."""

    def is_same_value(self, other: Figure) -> bool:
        return self.values == other.values if self.values else self.literal == other.literal

    def named(self, text: str) -> str:
        return text[self.start : self.end]


def figures(text: str, known_dates: Sequence[DatePoint], mark: str | None = None) -> list[Figure]:
    """Every figure of a text that is not part of a date. `mark` is the decimal mark to assume if the text itself does not show it."""
    taken = bytearray(len(text))
    for point in known_dates:
        taken[point.start : point.end] = b"\1" * (point.end - point.start)
    found = []
    for match in _CLOCK.finditer(text):
        if not taken[match.start()]:
            taken[match.start() : match.end()] = b"\1" * (match.end() - match.start())
            minutes = Decimal(int(match[1]) * 60 + int(match[2]))
            found.append(Figure(frozenset([minutes]), match.group(), "clock", (), "", "", match.start(), match.end()))
    for part in fractions(text):
        taken[part.start : part.end] = b"\1" * (part.end - part.start)
        bound = _bound(text[max(0, part.start - 28) : part.start])
        found.append(
            Figure(frozenset([part.value]), text[part.start : part.end], FRACTION, (), bound, "", part.start, part.end)
        )
    for match in _TOLERANCE.finditer(text):
        taken[match.start() : match.end()] = b"\1" * (match.end() - match.start())
    convention = decimal_mark(text) or mark
    for match in _NUMBER.finditer(text):
        if not any(taken[match.start() : match.end()]):
            found.append(_figure(text, match.start("body"), match.end("body"), _values(match["body"], convention)))
    found += [figure for figure in _read_written(text) if not taken[figure.start]]
    return _with_shared_units(text, sorted(found, key=lambda figure: figure.start))


def _read_written(text: str) -> list[Figure]:
    tokens, found, position = words(text), [], 0
    while position < len(tokens):
        number = read_number(tokens, position)
        if number is None:
            position += 1
            continue
        value, after = number
        found.append(_figure(text, tokens[position].start, tokens[after - 1].end, frozenset([value])))
        position = after
    return found


def _figure(text: str, start: int, end: int, values: frozenset[Decimal]) -> Figure:
    before = text[max(0, start - 28) : start]
    literal, sign = text[start:end], _SIGN.search(before)
    currency = _CURRENCY.search(before) or _CURRENCY_CODE.search(before)
    tolerance = _TOLERANCE.match(text, end)
    factor, unit, end, per = _measure(text, tolerance.end() if tolerance else end, has_currency=currency is not None)
    if currency is not None:
        unit = UNIT_OF[currency[1].casefold()]
        before = before[: currency.start()]
    if sign:
        before = before[: sign.start() + 1]
    scaled = frozenset((-value if sign else value) * factor for value in values)
    role = _ROLE.search(before)
    return Figure(
        scaled,
        literal,
        unit,
        () if unit else _nouns(text, end),
        _bound(before),
        _ROLES.get(role[1].lower(), "") if role else "",
        start,
        end,
        per if unit else "",
    )


def _bound(before: str) -> str:
    return next((mark for mark, form in _BOUND if form.search(before.rstrip("-−(") + " ")), "")


def _measure(text: str, end: int, *, has_currency: bool) -> tuple[Decimal, str | None, int, str]:
    """The multiplier and the unit after a number, where they end, and the unit after "per"."""
    factor = Decimal(1)
    while (match := _AFTER.match(text, end)) is not None:
        word = match["word"].casefold().replace(" ", "")
        if not match["gap"] and word in ("m", "b") and (has_currency or _COUNTED.match(text, match.end())):
            word = {"m": "million", "b": "billion"}[word]  # "€3m", "2.4m passengers"; but "3m high"
        is_short = len(word) <= 2 and match["gap"].strip("-") != ""
        if word in MULTIPLIER_OF and not (word == "k" and is_short) and word != "cent":
            factor, end = factor * MULTIPLIER_OF[word], match.end()
            end += text[end : end + 1] == "." and word in ("mio", "mrd")
            continue
        unit, end = _unit(text, end, match)
        return factor, unit, end, _per(text, end)
    return factor, None, end, _per(text, end) if has_currency else ""


def _per(text: str, end: int) -> str:
    match = _PER.match(text, end)
    return UNIT_OF.get(match["word"].casefold(), "") if match else ""


def _unit(text: str, end: int, match: re.Match[str]) -> tuple[str | None, int]:
    following = _AFTER.match(text, match.end())
    if following is not None and following["gap"]:
        pair = f"{match['word']}-{following['word']}".casefold()
        if pair in UNIT_OF:
            return UNIT_OF[pair], following.end()
    word = match["word"].casefold().replace(" ", "")
    if word in ("st", "nd", "rd", "th") and match["gap"]:
        return None, end
    if word == "an" and match["gap"]:
        return None, end  # "an" is French for a year, but something else in English and German
    if word not in UNIT_OF and "/" in word:
        word = word.partition("/")[0]  # mg/kg: `_per` reads what follows the slash
        return (UNIT_OF[word], match.start("word") + len(word)) if word in UNIT_OF else (None, end)
    return (UNIT_OF[word], match.end()) if word in UNIT_OF else (None, end)


def _nouns(text: str, end: int) -> tuple[str, ...]:
    nouns: list[str] = []
    rest = re.match(r"[\s\u00a0-]*((?:[^\W\d_]+[\s\u00a0'’-]*){0,4})", text[end : end + 80])
    for word in words(rest[1]) if rest else ():
        if is_function(word.text) or len(nouns) == 2:
            break
        nouns.append(stem(word.text))
    return tuple(nouns)


def _with_shared_units(text: str, found: list[Figure]) -> list[Figure]:
    """In "40–50 %" and "from 40 to 50 wells" the first figure has the unit of the second."""
    shared = list(found)
    for position in range(len(found) - 2, -1, -1):
        figure, following = shared[position], shared[position + 1]
        if (
            figure.unit is None
            and not figure.nouns
            and _RANGE.fullmatch(text[figure.end : following.start].rstrip(CURRENCY_SIGNS))
        ):
            shared[position] = Figure(
                figure.values,
                figure.literal,
                following.unit,
                following.nouns,
                figure.bound,
                figure.role,
                figure.start,
                figure.end,
                following.per,
            )
    return shared


def _values(body: str, convention: str | None) -> frozenset[Decimal]:
    """The possible values of a number as written; empty if it is not a number (a version, an address)."""
    plain = re.sub(r"[ \u00a0\u202f'’]", "", body)
    grouped = plain != body
    marks = [character for character in plain if character in ".,"]
    if not marks:
        return frozenset([Decimal(plain)])
    last, whole, fraction = marks[-1], plain[: plain.rindex(marks[-1])], plain[plain.rindex(marks[-1]) + 1 :]
    as_fraction = Decimal(re.sub("[.,]", "", whole) + "." + fraction)
    as_group = Decimal(re.sub("[.,]", "", plain))
    if len(set(marks)) == 2:
        return frozenset([as_fraction] if marks.count(last) == 1 else [])
    if len(marks) > 1:
        return frozenset([as_group] if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", plain) else [])
    if grouped or len(fraction) != 3 or len(whole) > 3 or whole.startswith("0"):
        return frozenset([as_fraction])
    if convention is None:
        return frozenset([as_group] if last == "," else [as_fraction, as_group])
    return frozenset([as_fraction if last == convention else as_group])
