"""Which passages of a text can be quoted in a report as they are: whole sentences, not menus and banners of a page.

The criteria are language-neutral where possible: length, letters, separators, and whether words begin in lower case, as they do in
sentences but not in menus. Passages that look like instructions to a model, or like our own ids, are left out too. That is for tidiness,
not for defence: all that can happen to a page's text here is that it is quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from stepwell.research.audit.sentences import Passage, passages
from stepwell.tools.web.fencing import harmless
from stepwell.words import words

SHORTEST_WORDS = 5
SHORTEST_CHARACTERS = 25
_SHORTEST_WITH_VERB = 3
"""A closed sentence with a verb needs only so many words: `Ms Okafor is responsible.`"""
LONGEST_JOINED = 600
_LONGEST_HEADER = 80
_SENTENCE_WITHOUT_MARK = 12
"""This many words count as a sentence even without a closing mark."""

_SEPARATOR = re.compile(r"[|›»•·→▸►]|\s[/>]\s")
_CLOSED = re.compile(r"[.!…。！:;][\"'”’»)\]]*$")
_STOPPED = re.compile(r"[.!][\"'”’»)\]]*$")
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
_ANNOUNCES = re.compile(
    r"\b(?:this|the following|the present) (?:document|report|presentation|paper|memo|briefing|overview|summary|article|section)\b"
    r"[^.]{0,60}?\b(?:aim|analy[sz]e|cover|delve|describe|detail|discusse?|examine|explore|focuse?|highlight|introduce|investigate|look|outline"
    r"|present|provide|review|summari[sz]e|will)s?\b",
    re.IGNORECASE,
)
_VERB_WORDS = (
    "is are was were isn't aren't wasn't weren't has have had do does did don't doesn't didn't can cannot can't could will won't would "
    "shall should may might must rose fell grew "
    "became becomes began begins came comes cost costs gave gives goes went held holds kept keeps leads led "
    "left lies made makes means met needs paid pays ran runs said says saw sees sold spoke stands stood takes took told won wrote writes "
    "ist sind war waren wird werden wurde wurden hat haben hatte hatten kann können muss müssen soll sollen darf dürfen "
    "est sont était étaient sera seront a ont avait avaient fut furent peut peuvent doit doivent "
    "es son era eran fue fueron será serán ha han tiene tienen puede pueden debe deben está están"
)
_VERBS = frozenset(_VERB_WORDS.split())
_PAST = re.compile(r"(?!(?:speed|indeed|hundred|exceed|proceed|shared|red)$)[a-z]{2,}ed")


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


def announces(passage: str) -> bool:
    """Whether a passage says what its document is about (`This report explores ...`). It has many words of a question on that subject, and
    answers none."""
    return bool(_ANNOUNCES.search(passage))


def is_title(passage: str) -> bool:
    """Whether a line looks like a title: short, and without a word that is a verb. `Minutes of the meeting of 12 June 2024.` says
    nothing. A verb that is not known here makes a sentence look like a title, so this alone is no reason to leave a line out."""
    said = [word.text for word in words(passage)]
    return passage.isascii() and len(said) <= _SENTENCE_WITHOUT_MARK and not is_row(passage) and not _has_verb(said)


def _has_verb(said: Sequence[str]) -> bool:
    """Whether there is a verb behind the first word, as far as small words and endings tell."""
    return any(word in _VERBS or _PAST.fullmatch(word) for word in said[1:])


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
        return len(said) >= _SHORTEST_WITH_VERB and bool(_STOPPED.search(passage)) and _has_verb(said) and _has_lower(said)
    if not _CLOSED.search(passage) and len(said) < _SENTENCE_WITHOUT_MARK:
        return False
    return _has_lower(said)


def _has_lower(said: Sequence[str]) -> bool:
    """Whether enough words begin in lower case for a sentence."""
    return sum(word[0].islower() for word in said) >= max(2, 0.25 * sum(word[0].isalpha() for word in said))
