"""Makes quotes: words of a source with their place, which are found exactly or not at all.

A model that quotes from memory changes spaces, quotation marks and dashes. We ignore those differences and take the quote from the
source, as it is there. Nothing else is forgiven: if a word differs, the quote was not found.

A quote never begins or ends inside a word or a number: "5 %" is not a quote from "15 %".
"""

from __future__ import annotations

from collections.abc import Iterator

from stepwell.errors import EvidenceError
from stepwell.research.audit.evidence import Quote, Source
from stepwell.research.audit.sentences import Passage, cuts_a_word, passages

__all__ = ["Passage", "cuts_a_word", "locate", "make_quote", "passages", "quote_at"]

_SAME = {
    **dict.fromkeys("‘’‚‛′`´‹›", "'"),
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    "…": "...",
}
_INVISIBLE = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_QUOTE_MARKS = "'\""


def quote_at(text: str, start: int, end: int) -> str:
    """The words between two offsets; `EvidenceError` if there are none, or if a word or number is cut."""
    if not 0 <= start < end <= len(text):
        raise EvidenceError(f"A quote from {start} to {end} does not lie in a text of {len(text)} characters.")
    if cuts_a_word(text, start) or cuts_a_word(text, end):
        raise EvidenceError(f"A quote from {start} to {end} begins or ends inside a word or a number. Take the whole word.")
    return text[start:end]


def make_quote(quote_id: str, source: Source, text: str, start: int, end: int) -> Quote:
    """A quote of a source, given the source's extracted text."""
    return Quote(quote_id, source.source_id, start, end, quote_at(text, start, end))


def locate(text: str, wanted: str) -> tuple[int, int] | None:
    """Where a passage is in the text, ignoring differences in spaces, quotation marks and dashes; the first place, or None."""
    wanted = wanted.strip()
    if not wanted:
        return None
    for found in _occurrences(text, wanted):
        if _is_whole(text, *found):
            return found
    plain, places = _normalise(text)
    sought = _normalise(wanted)[0].strip()
    for form in dict.fromkeys((sought, sought.strip(_QUOTE_MARKS).strip())):
        for start, end in _occurrences(plain, form):
            found = (places[start], places[end - 1] + 1)
            if _is_whole(text, *found):
                return found
    return None


def _is_whole(text: str, start: int, end: int) -> bool:
    return not cuts_a_word(text, start) and not cuts_a_word(text, end)


def _occurrences(text: str, wanted: str) -> Iterator[tuple[int, int]]:
    if not wanted:
        return
    start = text.find(wanted)
    while start >= 0:
        yield start, start + len(wanted)
        start = text.find(wanted, start + 1)


def _normalise(text: str) -> tuple[str, list[int]]:
    """The text in one form of spaces, quotation marks and dashes, and for each of its characters the offset it came from."""
    form: list[str] = []
    places: list[int] = []
    for offset, character in enumerate(text):
        if character in _INVISIBLE:
            continue
        same = " " if character.isspace() else _SAME.get(character, character)
        if same == " " and form and form[-1] == " ":
            continue
        form.extend(same)
        places.extend([offset] * len(same))
    return "".join(form), places
