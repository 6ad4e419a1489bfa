"""Words of a text: tokens with offsets, a light stem for comparing them, and function words."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

_TOKEN = re.compile(r"[^\W_]+(?:[.'’\-][^\W_]+)*")
_ENDINGS = ("ing", "ies", "ied", "ed", "es", "en", "s", "e", "y")

_FUNCTION_WORDS = (
    "a an the and or but if of in on at by to from for with as is are was were be been being has have had do does did it its this that "
    "these those there their they he she his her him them we our you your i which who whom whose what when where while than then so "
    "such also into onto over under about per via between among during through up down out off can could will would shall should "
    "may might must very just still yet both either each other another some any more most less much many few own same too "
    "not no nor never none neither without however according "
    "der die das den dem des ein eine einen einem einer eines und oder aber wenn von im am an auf bei zu zum zur aus für mit als ist "
    "sind war waren wird werden wurde wurden hat haben hatte hatten es er sie sich auch nicht kein keine "
    "le la les l un une des du de d et ou mais si en dans sur à au aux par pour avec est sont était étaient a ont il elle ils elles "
    "se ce cette ces qui que ne pas "
    "el los las lo una unos unas y o pero del al con por para es son era eran ha han su sus no"
)
_LANGUAGES = {
    "en": "the of and is was were that with from by has have for are an it its his her which to in",
    "de": "der die das und ist war nicht mit von ein eine wird wurde im auf den dem des sich hat",
    "fr": "le les des est dans une et du sur par pour qui que avec la était ont",
    "es": "el los las del una por para con es fue que en se y su",
}
_SPOKEN_IN = {language: frozenset(spoken.split()) for language, spoken in _LANGUAGES.items()}
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
_COMMA_WORDS = "der die das und ist war nicht les des est dans une los las del una por para che della il sono het een"
_POINT_WORDS = "the of and is was in for with that"


@dataclass(frozen=True, slots=True)
class Word:
    """A word and its place."""

    text: str
    start: int
    end: int


def words(text: str) -> list[Word]:
    """Every word of a text, numbers included."""
    return list(_tokens(text))


@lru_cache(maxsize=256)
def _tokens(text: str) -> tuple[Word, ...]:
    """The words of a text. Cached, because each rule asks for the words of the same few sentences. The function is pure, so the cache is
    safe."""
    return tuple(Word(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(text))


@lru_cache(maxsize=20_000)
def fold(word: str) -> str:
    """Lower case, without accents, dots and the possessive ending."""
    plain = unicodedata.normalize("NFKD", word.replace("’", "'")).casefold()
    bare = "".join(character for character in plain if not unicodedata.combining(character)).replace(".", "")
    return bare.removesuffix("'s").removesuffix("'")


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A word without its ending: `increased`, `increases` and `increase` are one. Deliberately crude, but claims and quotes are treated
    in the same way."""
    folded = fold(word)
    for ending in _ENDINGS:
        if folded.endswith(ending) and len(folded) - len(ending) >= 3 and not folded.endswith("ss"):
            return _single(folded[: -len(ending)])
    return _single(folded)


def _single(bare: str) -> str:
    """`dropp` from "dropped" becomes `drop`."""
    return bare[:-1] if len(bare) > 2 and bare[-1] == bare[-2] and bare[-1] in "bdgmnprt" else bare


def is_function(word: str) -> bool:
    return word.casefold() in FUNCTION_WORDS


def content_stems(text: str) -> list[str]:
    """The stems of the content words, in order, without bare numbers, which `figures` handles."""
    return [stem(word.text) for word in words(text) if not is_function(word.text) and not word.text[0].isdigit()]


def language(text: str) -> str:
    """The language of a text, judged by its function words; empty if they do not decide."""
    spoken = [word.text.casefold() for word in words(text)]
    counts = sorted(((sum(word in small for word in spoken), name) for name, small in _SPOKEN_IN.items()), reverse=True)
    return counts[0][1] if counts[0][0] > counts[1][0] else ""


def decimal_mark(text: str) -> str | None:
    """The decimal mark of a text, `.` or `,`: judged by a number that can be read in only one way, else by the text's language."""
    point = re.search(r"\d,\d{3}\.\d|(?<![\d.,])\d+\.(?:\d{1,2}|\d{4,})(?![\d.,])", text) is not None
    comma = re.search(r"\d\.\d{3},\d|(?<![\d.,])\d+,(?:\d{1,2}|\d{4,})(?![\d.,])", text) is not None
    if point != comma:
        return "." if point else ","
    spoken = {word.text.casefold() for word in words(text)}
    english, other = len(spoken.intersection(_POINT_WORDS.split())), len(spoken.intersection(_COMMA_WORDS.split()))
    if english == other:
        return None
    return "." if english > other else ","
