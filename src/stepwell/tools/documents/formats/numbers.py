"""What a cell of a sheet shows: a number in its number format, such as `12.5%`, `$1,200.00` or `3 May 2025`.

It covers what people use: fixed decimals, thousands, percentages, currencies, scales, scientific notation, dates, times. Fractions and
conditions are shown as plain numbers. The built-in short date, which each country's Excel shows differently, is shown as `2025-05-03`.
"""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from functools import lru_cache

from stepwell.clock import MONTHS

BUILT_IN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00", 14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm",
    17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd h:mm", 37: "#,##0", 38: "#,##0",
    39: "#,##0.00", 40: "#,##0.00", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "0.0E+0",
}  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_LITERAL = re.compile(r'"[^"]{0,100}"|\\.|_.|\*.|\[\$([^\]-]{0,20})(?:-[^\]]{0,20})?\]|\[(?!h+\]|m+\]|s+\])[^\]]{0,40}\]', re.I)
_DATE_TOKEN = re.compile(r"\[h+\]|\[m+\]|\[s+\]|y+|m+|d+|h+|s+(?:\.0+)?|am/pm|a/p|.", re.I | re.S)
_DIGITS = re.compile(r"[0#?][0#?,. ]*[0#?,.]|[0#?]")
_LONGEST_FORMAT = 200
_MARK = 0xE000
"""Literals of a format are replaced by private characters from here on while the format is read."""
_LAST_DAY = 2_958_466


def show_number(value: float, code: str, *, from_1904: bool = False) -> str:
    """The number as a person sees it in its cell."""
    if code in ("", "General", "@") or len(code) > _LONGEST_FORMAT:
        return plain_number(value)
    section, has_sign = _section(code, value)
    text, literals, is_date = _read_format(section)
    if is_date:
        return _show_date(value, text, literals, from_1904) or plain_number(value)
    return _show_digits(abs(value) if has_sign else value, text, literals)


def plain_number(value: float) -> str:
    """A number without a format, at most fifteen digits as Excel keeps them."""
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.15g}"


def _section(code: str, value: float) -> tuple[str, bool]:
    """The section of the format for this value, and whether that section shows the sign itself."""
    sections = _sections(code)
    if value < 0 and len(sections) > 1:
        return sections[1], True
    if value == 0 and len(sections) > 2:
        return sections[2], False
    return sections[0], False


@lru_cache(maxsize=512)
def _sections(code: str) -> tuple[str, ...]:
    """The parts of a format between semicolons, those inside quotes left alone."""
    marked = '"'.join(piece.replace(";", "\x00") if number % 2 == 0 else piece for number, piece in enumerate(code.split('"')))
    return tuple(marked.split("\x00"))


@lru_cache(maxsize=512)
def _read_format(section: str) -> tuple[str, tuple[str, ...], bool]:
    """The format with its literals replaced by marks, the literals, and whether it shows a date or a time."""
    literals: list[str] = []

    def keep(found: re.Match[str]) -> str:
        said = found[0]
        if said.startswith('"'):
            shown = said[1:-1]
        elif said.startswith("\\"):
            shown = said[1:]
        elif said.startswith("[$"):
            shown = found[1] or ""
        else:
            shown = " " if said.startswith("_") else ""
        literals.append(shown)
        return chr(_MARK + len(literals) - 1)

    text = _LITERAL.sub(keep, section)
    bare = re.sub(r"[\ue000-\ue0ff]|general", "", text, flags=re.I)
    has_digits = bool(re.search(r"[0#?]", re.sub(r"s\.0{1,9}", "s", bare, flags=re.I)))
    is_date = not has_digits and bool(re.search(r"[ymdhs]", bare, re.I))
    return text, tuple(literals), is_date


def _fill(text: str, literals: tuple[str, ...]) -> str:
    filled = "".join(literals[place] if 0 <= (place := ord(letter) - _MARK) < len(literals) else letter for letter in text)
    return re.sub(r"\s+", " ", filled)


def _show_digits(value: float, text: str, literals: tuple[str, ...]) -> str:
    # A literal inside the digits, as in a telephone number, is more than we lay out.
    found = _DIGITS.search(text)
    if "/" in text and found:
        return plain_number(value)
    if not found:
        return _fill(text, literals).strip(' "') or plain_number(value)
    if re.search(r"general", text, re.I):
        return _fill(re.sub("general", plain_number(value), text, flags=re.I), literals)
    digits = found[0]
    percent = text.count("%")
    value *= 100.0**percent
    whole, _, decimals = digits.rstrip(", ").partition(".")
    value /= 1000.0 ** (len(digits) - len(digits.rstrip(",")))
    after = text[found.end() :]
    if not math.isfinite(value):
        return plain_number(value)
    scientific = re.match(r"E[+-](0+)", after, re.I)
    places = sum(letter in "0#?" for letter in decimals)
    if scientific:
        number, after = f"{value:.{places}E}", after[scientific.end() :]
    else:
        number = f"{value:{',' if ',' in whole.strip(',') else ''}.{places}f}"
        optional = len(decimals) - len(decimals.rstrip("#"))
        while optional and "." in number and number[-1] in "0.":
            number, optional = number[:-1], optional - 1
        number = number.rstrip(".") if "." in number else number
        number = number[1:] if re.fullmatch(r"-0(\.0+)?", number) else number
        padding = whole.count("0") - len(number.lstrip("-").partition(".")[0].replace(",", ""))
        if padding > 0:
            number = "-" * number.startswith("-") + "0" * padding + number.lstrip("-")
    before = _fill(text[: found.start()], literals).lstrip()
    sign, number = ("-", number[1:]) if number.startswith("-") else ("", number)
    behind = _fill(_DIGITS.sub("", after), literals)
    return f"{sign}{before}{number}{behind}".strip()


def _show_date(value: float, text: str, literals: tuple[str, ...], from_1904: bool) -> str:
    """The moment in its format; empty if the number is outside the calendar."""
    moment = moment_of(value, from_1904)
    if moment is None:
        return ""
    tokens = _DATE_TOKEN.findall(text)
    half = any(token.lower() in ("am/pm", "a/p") for token in tokens)
    out = []
    for place, token in enumerate(tokens):
        if 0 <= ord(token[0]) - _MARK < len(literals):
            out.append(_fill(token, literals))
        elif token[0].lower() == "m" and _is_minute(tokens, place):
            out.append(f"{moment.minute:0{min(2, len(token))}d}")
        else:
            out.append(_show_token(token.lower(), moment, half, value))
    return " ".join("".join(out).split())


def _is_minute(tokens: list[str], place: int) -> bool:
    letters = [
        (number, token.strip("[]")[0].lower()) for number, token in enumerate(tokens) if re.match(r"\[?[ymdhs]", token, re.I)
    ]
    order = [number for number, _ in letters].index(place)
    return (order > 0 and letters[order - 1][1] == "h") or (order + 1 < len(letters) and letters[order + 1][1] == "s")


def _show_token(token: str, moment: datetime, half: bool, value: float) -> str:
    match token[0]:
        case "y":
            return f"{moment.year % 100:02d}" if len(token) <= 2 else f"{moment.year:04d}"
        case "m":
            month = MONTHS[moment.month - 1]
            return {1: str(moment.month), 2: f"{moment.month:02d}", 3: month[:3], 5: month[0]}.get(len(token), month)
        case "d":
            day = _DAYS[moment.weekday()]
            return {1: str(moment.day), 2: f"{moment.day:02d}", 3: day[:3]}.get(len(token), day)
        case "h":
            hour = (moment.hour % 12 or 12) if half else moment.hour
            return f"{hour:0{min(2, len(token))}d}"
        case "s":
            return f"{moment.second:0{min(2, len(token.partition('.')[0]))}d}"
        case "a":
            return "AM" if moment.hour < 12 else "PM"
        case "[" if token[1:2] in ("h", "m", "s"):
            return str(int(value * {"h": 24, "m": 1440, "s": 86400}[token[1]] + 1e-6))
        case _:
            return token


def moment_of(value: float, from_1904: bool = False) -> datetime | None:
    """The moment that a number of days means. Excel counts from 1900 (or 1904), with a day in 1900 that never was."""
    if not 0 <= value < _LAST_DAY:
        return None
    first = datetime(1904, 1, 1) if from_1904 else datetime(1899, 12, 30 if value >= 60 else 31)
    return first + timedelta(seconds=round(value * 86400))
