"""Which passages of a text can be quoted in a report as they are: whole sentences, not menus and banners of a page.

The criteria are language-neutral where possible: length, letters, separators, and whether words begin in lower case, as they do in
sentences but not in menus. Passages that look like instructions to a model, or like our own ids, are left out too. That is for tidiness,
not for defence: all that can happen to a page's text here is that it is quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stepwell.research.audit.facts.words import words
from stepwell.research.audit.sentences import Passage, passages
from stepwell.tools.web.fencing import harmless

SHORTEST_WORDS = 5
SHORTEST_CHARACTERS = 25
LONGEST_JOINED = 600
_LONGEST_HEADER = 80
_SENTENCE_WITHOUT_MARK = 12
"""This many words count as a sentence even without a closing mark."""

_SEPARATOR = re.compile(r"[|›»•·→▸►]|\s[/>]\s")
_CLOSED = re.compile(r"[.!…。！:;][\"'”’»)\]]*$")
_ASKED = re.compile(r"[?？][\"'”’»)\]]*$")
_OUR_IDS = re.compile(r"\[\s*[secSEC]\d{1,6}\b")
_FURNITURE = re.compile(
    r"\b(?:we|this (?:web)?site|our (?:web)?site|our partners|wir|diese (?:web)?seite|nous|ce site|este sitio)\b"
    r"[^.]{0,60}\b(?:use|uses|set|verwende\w*|nutz\w*|utilis\w*|utiliz\w*)\b[^.]{0,40}\bcookies?\b"
    r"|\b(?:accept|allow|reject|akzeptier\w*|accepter|aceptar)\s+(?:all|alle|tous les|todas las)\b[^.]{0,20}\bcookies?\b"
    r"|^\W*(?:please )?(?:accept|allow|reject|manage)\b[^.]{0,20}\bcookies?\b"
    r"|\bcookie (?:settings|preferences|consent|banner)\b"
    r"|\ball rights reserved\b|\balle rechte vorbehalten\b|\btous droits réservés\b|^\s*(?:©|copyright\b)"
    r"|\bskip to (?:main )?content\b|\bback to top\b|\b(?:enable|disable\w*|turn on) javascript\b|\bjavascript is (?:disabled|required)\b"
    r"|\b(?:subscribe|sign up)\b[^.]{0,40}\bnewsletter\b|\b(?:log|sign) ?in to (?:your|continue|read|comment)\b"
    r"|\bshare (?:this|on) (?:page|article|facebook|twitter|x|linkedin)\b|\bclick here\b"
    r"|\b(?:read|agree to) our (?:privacy|terms)\b",
    re.IGNORECASE,
)
_HEAD_OF_MESSAGE = re.compile(r"(?:From|To|Date|Subject|Channel): [^;\n]{1,300}; (?:From|To|Cc|Date|Subject|Channel): ")
_INSTRUCTION = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.]{0,40}\b(?:instructions?|prompts?|rules|polic(?:y|ies)|plan)\b"
    r"|\b(?:fetch_page|web_search|write_file|read_file|execute)\s*\("
    r"|\bnew instructions\b|\byou are (?:now )?(?:an ai|a language model|outside of the fence)\b"
    r"|\bcite this page as\b|\"role\"\s*:\s*\"(?:system|assistant|user)\"",
    re.IGNORECASE,
)
_LEANING_WORDS = (
    "it its it's they their them he she his her this these those that such both however but also moreover then there here "
    "er sie es diese dieser dieses dies damit dabei jedoch il elle ils elles ce cette ces leur esto este esta estos estas"
)
_LEANS_BACK = frozenset(_LEANING_WORDS.split())
"""A sentence that begins with one of these words is meaningless without the sentence before it."""


def quotable(text: str) -> list[Passage]:
    """The quotable passages of a text, in order and without overlap. A sentence that needs the one before it (`It was opened ...`) is in
    the same passage as that one."""
    found = (_without_mark(passage) for passage in _join_leaning(text))
    return [passage for passage in found if is_quotable(passage.text)]


def _without_mark(passage: Passage) -> Passage:
    """An item of a list without the mark before it."""
    bare = passage.text.removeprefix("- ").removeprefix("• ").removeprefix("* ").lstrip()
    return Passage(passage.end - len(bare), passage.end, bare) if bare != passage.text else passage


def is_quotable(passage: str) -> bool:
    """Whether a passage tells a reader something."""
    if _HEAD_OF_MESSAGE.match(passage) or _FURNITURE.search(passage) or addresses_a_model(passage):
        return False
    return _is_sentence(passage) or is_row(passage)


def is_row(passage: str) -> bool:
    """Whether a passage is a row of a table as our readers write it: `Town: Quellmouth; Beams: 41`."""
    cells = passage.split("; ")
    if "@" in passage:
        return False  # an account, a list of addresses: nothing to show around
    return len(cells) > 1 and "\n" not in passage and all(0 < cell.find(": ") <= _LONGEST_HEADER for cell in cells)


def addresses_a_model(passage: str) -> bool:
    """Whether a passage looks like it is meant for a model: control words of chat templates, orders, our own ids."""
    return harmless(passage) != passage or bool(_INSTRUCTION.search(passage) or _OUR_IDS.search(passage))


def leans_back(passage: str) -> bool:
    """Whether a passage begins with a word that means something only after another sentence."""
    return passage.split(maxsplit=1)[0].strip("“\"'(,").casefold() in _LEANS_BACK


def _join_leaning(text: str) -> Iterator[Passage]:
    waiting: Passage | None = None
    for passage in passages(text):
        if waiting is not None and _belongs(text, waiting, passage):
            waiting = Passage(waiting.start, passage.end, text[waiting.start : passage.end])
            continue
        if waiting is not None:
            yield waiting
        waiting = passage
    if waiting is not None:
        yield waiting


def _belongs(text: str, before: Passage, passage: Passage) -> bool:
    if not leans_back(passage.text) or passage.end - before.start > LONGEST_JOINED:
        return False
    # Each sentence is first judged alone: a menu or an order next to a sentence must not get in with it, or keep it out.
    gap = text[before.end : passage.start]
    return gap.count("\n") < 2 and is_quotable(before.text) and is_quotable(passage.text)


def _is_sentence(passage: str) -> bool:
    if _ASKED.search(passage) or len(_SEPARATOR.findall(passage)) >= 2:
        return False
    letters = sum(character.isalpha() for character in passage)
    if letters < 0.55 * sum(not character.isspace() for character in passage):
        return False  # a table, a formula, a row of figures
    if not any(character.lower() != character.upper() for character in passage):
        return len(passage) >= SHORTEST_CHARACTERS // 2  # a script without capitals, and perhaps without spaces
    said = [word.text for word in words(passage)]
    if len(said) < SHORTEST_WORDS or len(passage) < SHORTEST_CHARACTERS:
        return False
    if not _CLOSED.search(passage) and len(said) < _SENTENCE_WITHOUT_MARK:
        return False
    lower = sum(word[0].islower() for word in said)
    return lower >= max(2, 0.25 * sum(word[0].isalpha() for word in said))
