"""Names in a text: consecutive words that begin with a capital, and terms in quotation marks.

The first word of a sentence has a capital anyway; it counts as a name unless sentences usually begin with it, or it occurs in lower case
somewhere in the texts at hand. In languages that capitalise every noun, more words count as names, so the quotes must contain more of
them: the verdict is lower, not higher.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from stepwell.research.audit.facts.words.number_words import read_number
from stepwell.research.audit.facts.words.peoples import is_same_place
from stepwell.research.audit.facts.words.roots import root
from stepwell.research.audit.facts.words.units import MULTIPLIER_OF, UNIT_OF
from stepwell.words import Word, fold, is_function, language, words

_TITLES = frozenset(["mr", "mrs", "ms", "dr", "prof", "sir", "herr", "frau", "mme"])
_OPENING_WORDS = (
    "researchers scientists experts officials people studies study data results findings analysts critics authors reports report today "
    "overall additionally furthermore moreover therefore thus hence meanwhile later earlier recently currently historically finally first "
    "second third last next several various numerous all every nearly almost approximately roughly only since because although though "
    "despite after before until unlike like here there now once often usually typically generally total average annual global "
    "sources evidence together instead indeed similarly likewise consequently originally eventually initially subsequently "
    "around about with within without under over between among during through across near along some many most much none nobody both "
    "neither either each another other others such half twice even also still yet again always never soon perhaps possibly probably "
    "certainly instead together apart besides beyond above below behind beside next then when while where whether because why how "
    "one two three four five six seven eight nine ten records record pages page documents document accounts articles article "
    "surveys survey figures authorities observers witnesses historians engineers according given based compared contrary due thanks "
    "heute laut seit nach vor zudem außerdem dabei dort hier insgesamt alle selon depuis après avant aujourd según desde hoy"
)
_OPENING = frozenset(_OPENING_WORDS.split())
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)\b|\d{2,4}'?s$", re.IGNORECASE)
_QUOTED = re.compile(r"“([^“”\n]{2,200})”|„([^„“”\n]{2,200})[“”]|«\s?([^«»\n]{2,200}?)\s?»|\"([^\"\n]{2,200})\"")
_JOINS = re.compile(
    r"[ \u00a0]|[ \u00a0]?(?:&|/)[ \u00a0]?|[ \u00a0](?:of|the|de|la|du|von|der|van|del|di)[ \u00a0](?:the[ \u00a0])?"
)


@dataclass(frozen=True, slots=True)
class Name:
    """A name: its folded words, and its place."""

    parts: tuple[str, ...]
    start: int
    end: int


def quoted_terms(text: str) -> list[str]:
    """Terms in quotation marks."""
    return [next(group for group in match.groups() if group) for match in _QUOTED.finditer(text)]


def plain_words(*texts: str) -> frozenset[str]:
    """The roots of words that occur in lower case somewhere. Such words are not names, even at the beginning of a sentence."""
    return frozenset(root(word.text) for text in texts for word in words(text) if word.text[0].islower())


def names(text: str, taken: Sequence[tuple[int, int]] = (), plain: Container[str] = frozenset()) -> list[Name]:
    """Every name of a text outside dates and figures. `plain` are words known not to be names."""
    tokens = words(text)
    found: list[list[Word]] = []
    for position, word in enumerate(tokens):
        if not _is_name(text, tokens, position, taken) or (_opens(text, word) and root(word.text) in plain):
            continue
        if found and _JOINS.fullmatch(text[found[-1][-1].end : word.start]):
            found[-1].append(word)
        else:
            found.append([word])
    return [name for name in map(_name, found) if name.parts]


def stands_in(name: Name, text: str) -> bool:
    """Whether a text contains the name: all its parts close together and in order, or its initials, or the words that it abbreviates."""
    tokens = words(text)
    if _in_order(name.parts, [piece for word in tokens for piece in _pieces(word.text)]):
        return True
    capitals = [fold(word.text) for word in tokens if word.text[0].isupper()]
    places = [*capitals, *("-".join(pair) for pair in pairwise(capitals))]
    if any(is_same_place("-".join(name.parts), place) for place in places):
        return True
    if len(name.parts) == 1 and root(name.parts[0]) in {root(word.text) for word in tokens}:
        return True
    if len(name.parts) == 1 and len(name.parts[0]) in range(2, 8) and name.parts[0].isalpha():
        return _initials_of(name.parts[0], text)
    return len(name.parts) > 1 and "".join(part[0] for part in name.parts) in acronyms_of(text)


def _is_name(text: str, tokens: list[Word], position: int, taken: Sequence[tuple[int, int]]) -> bool:
    word = tokens[position]
    if any(start < word.end and word.start < end for start, end in taken):
        return False
    if not word.text[0].isupper():
        is_code = word.text.upper() != word.text and any(character.isdigit() for character in word.text)  # b12, but not km²
        return is_code and word.text.casefold() not in UNIT_OF and _ORDINAL.match(word.text) is None
    folded = word.text.casefold()
    if folded in UNIT_OF or folded in MULTIPLIER_OF or read_number(tokens, position) is not None:
        return len(word.text) > 1 and word.text.isupper() and folded not in UNIT_OF
    if not _opens(text, word):
        return len(word.text) > 1 or text[word.end : word.end + 1] == "."
    if is_function(word.text) or folded in _OPENING or len(word.text) == 1:
        return False
    return not word.text.endswith(("ly", "ing", "ed"))


def _opens(text: str, word: Word) -> bool:
    before = text[: word.start].rstrip(" \u00a0\t\"'“”„«‘’([*_")
    return not before or before[-1] in ".!?…:\n-•"


def _name(found: list[Word]) -> Name:
    parts = [piece for word in found for piece in _pieces(word.text)]
    return Name(tuple(part for part in parts if part and part not in _TITLES), found[0].start, found[-1].end)


def _pieces(word: str) -> list[str]:
    return [fold(piece) for piece in re.split(r"[-'’](?=[^\W\d_]{2})", word)]


def _in_order(parts: Sequence[str], tokens: list[str]) -> bool:
    return any(_begins(parts, tokens, begin) for begin in range(len(tokens)))


def _begins(parts: Sequence[str], tokens: list[str], begin: int) -> bool:
    """Whether the parts follow one another from here, with at most two other words between them ("of the")."""
    here = begin
    for position, part in enumerate(parts):
        window = tokens[here : here + (3 if position else 1)]
        at = next(
            (offset for offset, token in enumerate(window) if is_same_place(part, token) or _is_initial(part, token)), None
        )
        if at is None:
            return False
        here += at + 1
    return True


def is_in_compound(name: Name, text: str) -> bool:
    """Whether a German text has the word as a part of another: "Dach" in "Bahnhofsdach". Nouns have capitals there, as names do."""
    if language(text) != "de":
        return False
    spoken = {fold(word.text) for word in words(text)}
    return all(part in spoken or _is_in_one_of(part.removesuffix("s"), spoken) for part in name.parts)


def _is_in_one_of(part: str, spoken: Iterable[str]) -> bool:
    return len(part) >= _SHORTEST_PART and any(word.startswith(part) or word.endswith(part) for word in spoken)


_SHORTEST_PART = 4


def is_spelt_in(name: Name, text: str) -> bool:
    """Whether a text has a code like `B-12` in another spelling: `B(12)`, `b12`."""
    chunks = {squeeze(chunk) for chunk in text.split()}
    is_code = any(character.isdigit() for part in name.parts for character in part)
    return is_code and ("".join(map(squeeze, name.parts)) in chunks or all(squeeze(part) in chunks for part in name.parts))


def squeeze(chunk: str) -> str:
    return "".join(character for character in chunk.casefold() if character.isalnum())


def stands_for(words_of: Sequence[str], acronyms: Container[str]) -> bool:
    """Whether one of the acronyms may be short for these words: `ABC` for "annual bird census"."""
    return len(words_of) > 1 and "".join(word[0].casefold() for word in words_of) in acronyms


def is_short_for(name: Name, quoted: Sequence[Name]) -> bool:
    """Whether the quotes use the last part of the name alone ("Lawton" for "Ann Lawton"), and nobody else there has that last part; or
    the name with a fuller or shorter first name ("Zachary Mark Lawton" for "Zac Lawton"); or without the word for what it is
    ("Selvik" for "Selvik University")."""
    if len(name.parts) < 2:
        # A longer single name is as likely a place: Niger is no short form of Nigeria.
        first = [other.parts[0] for other in quoted if len(other.parts) > 1] if len(name.parts[0]) < _SHORTEST_PART else []
        return any(_is_same_first_name(name.parts[0], other) for other in first)
    last = name.parts[-1]
    same = [other.parts for other in quoted if other.parts[-1] == last]
    if same and all(set(parts) <= set(name.parts) for parts in same):
        return True
    if any(_is_same_first_name(name.parts[0], part) for parts in same for part in parts[:-1]):
        return True
    bare = tuple(part for part in name.parts if part not in _KINDS)
    return bool(bare) and len(bare) < len(name.parts) and any(other.parts == bare for other in quoted)


def _is_same_first_name(one: str, other: str) -> bool:
    """Whether two first names may be the same person's: `Zac` and `Zachary`, `Bill` and `William`."""
    short, long = sorted((one, other), key=len)
    if one == other or frozenset((one, other)) in _NICKNAMES:
        return True
    return len(short) > 1 and long.startswith(short) and len(long) - len(short) > 1


_KIND_WORDS = (
    "university college school academy institute party company corporation inc ltd group band church museum festival county city "
    "river island lake series show film song album language award prize act treaty war battle club railway station bridge airport"
)
_KINDS = frozenset(_KIND_WORDS.split())
"""Words that say what a name stands for, and that texts leave out once they have said it."""
_NICKNAME_PAIRS = (
    "bill william|will william|bob robert|bobby robert|rob robert|dick richard|rick richard|mike michael|jim james|jimmy james|jack john|"
    "johnny john|tom thomas|tony anthony|ted edward|ned edward|kate katherine|kate catherine|kathy katherine|liz elizabeth|beth elizabeth|"
    "betty elizabeth|peggy margaret|meg margaret|maggie margaret|harry henry|hank henry|chuck charles|charlie charles|larry lawrence|"
    "andy andrew|drew andrew|steve stephen|steve steven|nick nicholas|sasha alexander|sandy alexander|joe joseph|jeff jeffrey|"
    "geoff geoffrey|jerry gerald|molly mary|polly mary|nancy ann|sally sarah|hans johannes|fritz friedrich|sepp josef"
)
_NICKNAMES = frozenset(frozenset(pair.split()) for pair in _NICKNAME_PAIRS.split("|"))


def _is_initial(part: str, token: str) -> bool:
    return len(part) == 1 and token.startswith(part) and len(token) > 1


def _initials_of(acronym: str, text: str) -> bool:
    """Whether the text spells out the acronym: WHO in "World Health Organization"."""
    capitals = [fold(word.text)[:1] if word.text[0].isupper() else " " for word in words(text) if not is_function(word.text)]
    return len(acronym) > 1 and acronym in "".join(capitals)


def acronyms_of(text: str) -> set[str]:
    return {
        fold(word.text.removesuffix("s"))
        for word in words(text)
        if len(word.text) > 1 and word.text.removesuffix("s").replace(".", "").isupper()
    }
