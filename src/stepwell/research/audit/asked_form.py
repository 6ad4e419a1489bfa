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
    r"(?:(?:in|on|within|about|around|roughly|at most|up to|under|max\.?|maximum|maximal|no more than|auf|mit|etwa|ungefähr|rund|ca\.|"
    r"höchstens|unter|knapp)\s+)+"
)
_WORDS = re.compile(
    rf"\b{_ABOUT}(\d{{2,4}})\s+(?:words|wörtern?|worten?)\b|\b(\d{{2,4}})[- ](?:word|wörter)[- ]", re.IGNORECASE
)
_COUNTS = {
    "half a": 0.5, "one": 1, "1": 1, "two": 2, "2": 2, "three": 3, "3": 3,
    "einer halben": 0.5, "eine halbe": 0.5, "einer": 1, "eine": 1, "zwei": 2, "drei": 3,
}  # fmt: skip
_PAGES = re.compile(rf"\b{_ABOUT}({'|'.join(_COUNTS)})\s+(?:pages?|seiten?)\b|\b(one|two|three)-page\b", re.IGNORECASE)
_TELL = r"(?:answer|explain|describe|summari[sz]e|say|tell|list|compare|outline|write)"
_BRIEFLY = re.compile(
    rf"^(?:briefly|in brief|in short|kurz|in kürze)\b|\b(?:briefly|in brief|in short|kurz|in kürze|kurz und knapp)\W*$"
    rf"|\bbriefly {_TELL}\b|\b{_TELL} (?:it |this |me )?briefly\b|\bkurz (?:zusammen|gefasst|und knapp)|\bin aller kürze\b",
    re.IGNORECASE,
)
_SECTIONS = re.compile(
    r"\b(?:sections|headings|outline|abschnitte[n]?|überschriften|gliederung)\s*:\s*(.+?)\s*(?:\n\s*\n|$)",
    re.IGNORECASE | re.DOTALL,
)
_BETWEEN = re.compile(r"\s*(?:\n|;)\s*")
_BETWEEN_ON_A_LINE = re.compile(r"\s*,\s*(?:and\s+|und\s+)?|\s+(?:and|und)\s+")


def read_words(question: str) -> int | None:
    """The number of words that a question asks for, if it does: "in 200 words", "on one page", "briefly"."""
    if found := _WORDS.search(question):
        return min(max(int(found[1] or found[2]), LEAST_WORDS), MOST_WORDS)
    if found := _PAGES.search(question):
        return round(_COUNTS[(found[1] or found[2]).lower()] * WORDS_PER_PAGE)
    return BRIEF if _BRIEFLY.search(question.strip()) else None


def read_sections(question: str) -> tuple[str, ...]:
    """The titles that a question names as sections, as in "Sections: Length, Cost"; empty if it names none."""
    found = _SECTIONS.search(question)
    if not found:
        return ()
    listed = found[1].rstrip(" .?!")
    parts = _BETWEEN.split(listed)
    return fit_titles(parts if len(parts) > 1 else _BETWEEN_ON_A_LINE.split(listed))


def fit_titles(titles: Iterable[object]) -> tuple[str, ...]:
    """The titles that can be headings of a report, each once, at most `MOST_SECTIONS`."""
    bare = (re.sub(r"^(?:[-*•#]+|\d{1,2}[.)])\s*", "", each).strip(" .:*_`") for each in titles if isinstance(each, str))
    found: dict[str, str] = {}
    for each in bare:
        if each and is_heading(each):
            found.setdefault(each.casefold(), each)
    return tuple(found.values())[:MOST_SECTIONS]
