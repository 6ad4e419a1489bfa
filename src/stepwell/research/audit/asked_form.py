"""The form in which a question wants its report: how many words, and which sections. Read by rules, in English and German."""

from __future__ import annotations

import re
from collections.abc import Iterable

from stepwell.research.audit.forms import MOST_SECTIONS
from stepwell.research.audit.writing.draft import is_heading

LEAST_WORDS, MOST_WORDS = 20, 5000
WORDS_PER_PAGE = 400
BRIEF = 120
"""The number of words of a report that is to be brief."""

_ABOUT = (
    r"\b(?:(?:in|on|within|about|around|roughly|at most|up to|under|max\.?|maximum|maximal|no more than|auf|mit|etwa|ungefähr|rund|ca\.|"
    r"höchstens|unter|knapp) ){1,3}"
)
_WORDS = re.compile(rf"{_ABOUT}(\d{{2,4}}) (?:words|wörtern?|worten?)\b|\b(\d{{2,4}})[- ](?:word|wörter)[- ]", re.IGNORECASE)
_COUNTS = {
    "half a": 0.5, "one": 1, "1": 1, "two": 2, "2": 2, "three": 3, "3": 3,
    "einer halben": 0.5, "eine halbe": 0.5, "einer": 1, "eine": 1, "zwei": 2, "drei": 3,
}  # fmt: skip
_PAGES = re.compile(rf"{_ABOUT}({'|'.join(_COUNTS)}) (?:pages?|seiten?)\b|\b(one|two|three)-page\b", re.IGNORECASE)
_TELL = r"(?:answer|explain|describe|summari[sz]e|say|tell|list|compare|outline|write)"
_BRIEFLY = re.compile(
    r"^(?:briefly|in brief|in short|kurz|in kürze)\b|\b(?:briefly|in brief|in short|kurz|in kürze|kurz und knapp)$"
    rf"|\bbriefly {_TELL}\b|\b{_TELL} (?:it |this |me )?briefly\b|\bkurz (?:zusammen|gefasst|und knapp)|\bin aller kürze\b",
    re.IGNORECASE,
)
_SECTIONS = re.compile(r"\b(?:sections|headings|outline|abschnitten?|überschriften|gliederung) ?:", re.IGNORECASE)
_BETWEEN = re.compile(r",| and | und ")
_NUMBERED = re.compile(r"\d{1,2}[.)] ")


def read_words(question: str) -> int | None:
    """The number of words that a question asks for, if it does: "in 200 words", "on one page", "briefly"."""
    text = " ".join(question.split()).rstrip(" .,;:!?")
    if found := _WORDS.search(text):
        return min(max(int(found[1] or found[2]), LEAST_WORDS), MOST_WORDS)
    if found := _PAGES.search(text):
        return round(_COUNTS[(found[1] or found[2]).lower()] * WORDS_PER_PAGE)
    return BRIEF if _BRIEFLY.search(text) else None


def read_sections(question: str) -> tuple[str, ...]:
    """The titles that a question names as sections, as in "Sections: Length, Cost"; empty if it names none."""
    found = _SECTIONS.search(question)
    if not found:
        return ()
    listed = question[found.end() :].strip().rstrip(".?!")
    lines = [line.strip() for line in listed.split("\n")]
    lines = lines[: lines.index("")] if "" in lines else lines
    parts = [part for line in lines for part in line.split(";")]
    return fit_titles(parts if len(parts) > 1 else _BETWEEN.split(parts[0]))


def fit_titles(titles: Iterable[object]) -> tuple[str, ...]:
    """The titles that can be headings of a report, each once, at most `MOST_SECTIONS`."""
    found: dict[str, str] = {}
    for each in titles:
        bare = " ".join(each.split()).lstrip("-*•# ") if isinstance(each, str) else ""
        bare = _NUMBERED.sub("", bare, count=1) if _NUMBERED.match(bare) else bare
        bare = bare.removeprefix("and ").removeprefix("und ").strip(" .:*_`")
        if bare and is_heading(bare):
            found.setdefault(bare.casefold(), bare)
    return tuple(found.values())[:MOST_SECTIONS]
