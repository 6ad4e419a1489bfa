"""Words that reverse a statement, such as more and less or before and after; and words that widen or narrow it.

Opposites are pairs of sides. A claim with a word of one side (*rose*), whose quote has only words of the other (*fell*), is contradicted.
If the pair is *strict*, the quote must also have a word of either side; the words of *loose* pairs are too common in other senses for
that. A claim that says *all* where the quote does not says more than its quote. `negations` handles what a text denies, `qualifiers` what
it calls only possible.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from stepwell.words import fold, stem, words

STRICT: tuple[tuple[str, str], ...] = (
    (
        "increase rise rose risen raise raised grow grew grown growth gain climb surge expand soar jump up higher upward steigen stieg "
        "gestiegen zugenommen wuchs gewachsen augmenter augmenté augmentation aumentar aumentó crecer creció",
        "decrease decline fall fell fallen drop ease eased shrink shrank shrunk reduce reduction plunge plummet slump down lower "
        "downward sinken sank gesunken abgenommen schrumpfte diminuer diminué baisse baisser disminuir disminuyó bajó",
    ),
    (
        "more greater larger bigger exceed above mehr größer plus más mayor",
        "less fewer smaller below weniger kleiner moins menos menor",
    ),
    ("before prior earlier vorher avant antes", "after later following afterwards nachher après después"),
    (
        "most largest biggest highest greatest maximum größte höchste",
        "least smallest lowest minimum fewest kleinste niedrigste",
    ),
    ("longest", "shortest"),
    ("oldest older", "youngest younger newest newer"),
    ("best better", "worst worse"),
    ("faster fastest quicker", "slower slowest"),
    ("first earliest erste premier primero", "last latest letzte dernier último"),
    ("allow permit legal erlaubt autorisé", "ban forbid forbidden prohibit illegal verboten interdit"),
    ("accept approve approval", "reject rejection refuse deny denied"),
    ("win won winner victory", "lose lost loser defeat"),
    ("profit surplus", "loss deficit"),
    ("north northern", "south southern"),
    ("east eastern", "west western"),
    ("open opened", "close closed shut"),
    ("hot hotter warm warmer", "cold colder cool cooler"),
    ("safe", "unsafe dangerous"),
    ("success succeed successful", "fail failure failed unsuccessful"),
    ("possible able", "impossible unable"),
    ("true correct", "false incorrect wrong"),
    ("import", "export"),
    ("majority", "minority"),
    ("cause causes caused", "prevent prevents prevented"),
)
LOOSE: tuple[tuple[str, str], ...] = (
    ("accelerate accelerated quicken speeded", "slow slowed slowing decelerate decelerated"),
    ("double doubled triple tripled", "halve halved"),
    ("raise raised lift lifted boost boosted hike", "cut cuts cutting slash slashed trim trimmed lowered"),
    ("improve improved improvement", "worsen worsened worsening deteriorate deteriorated deterioration"),
    ("grant granted award awarded", "refuse refused deny denied withhold withheld"),
    ("gain gained", "lose lost"),
    ("arrive arrived arrival enter entered", "depart departed departure leave leaves leaving"),
    ("buy bought acquire acquired purchase purchased", "sell sold selling"),
    ("hire hired recruit recruited", "dismiss dismissed sack sacked"),
    ("strengthen strengthened strong stronger", "weaken weakened weak weaker"),
    ("widen widened broaden wide wider", "narrow narrowed narrower"),
    ("lengthen lengthened long longer", "shorten shortened short shorter"),
    ("deepen deep deeper", "shallow shallower"),
    ("high", "low"),
    ("heavy heavier", "light lighter"),
    ("thick thicker", "thin thinner"),
    ("rich richer wealthy", "poor poorer"),
    ("wet wetter", "dry drier"),
    ("early", "late"),
    ("common frequent widespread", "rare uncommon scarce infrequent"),
    ("support supported supports favour favoured favor favored back backed", "oppose opposed opposes"),
    ("introduce introduced", "abolish abolished scrap scrapped repeal repealed withdraw withdrawn withdrew"),
    ("start started begin began begun launch launched found founded", "end ended stop stopped cease ceased dissolve dissolved"),
    ("build built construct constructed", "demolish demolished destroy destroyed"),
    ("present", "absent"),
    ("include included", "exclude excluded"),
    ("add added", "remove removed"),
    ("attract attracted", "repel repelled"),
    ("appear appeared", "disappear disappeared vanish vanished"),
    ("borrow borrowed", "lend lent"),
    ("major", "minor"),
    ("public", "private"),
    ("urban", "rural"),
    ("voluntary optional", "compulsory mandatory obligatory"),
    ("innocent acquitted", "guilty convicted"),
    ("alive living", "dead"),
    ("simple easy", "complex difficult"),
    ("expensive dear", "cheap"),
    ("full", "empty"),
    ("positive", "negative"),
    ("domestic", "foreign"),
    ("temporary", "permanent"),
    ("ascend ascended", "descend descended"),
    ("agree agreed", "disagree disagreed"),
    ("valid", "invalid void"),
    ("visible", "invisible"),
    ("known", "unknown"),
    ("changed", "unchanged"),
    ("equal", "unequal"),
    ("dependent", "independent"),
    ("complete completed", "incomplete unfinished"),
    ("good well favourable favorable", "bad badly poor unfavourable unfavorable"),
    ("benefit benefits benefited beneficial helpful", "harm harms harmed harmful damaging"),
    ("often frequently usually commonly", "rarely seldom"),
    ("inside within", "outside"),
    (
        "promote promotes promoted enhance enhanced stimulate stimulated",
        "inhibit inhibits inhibited suppress suppressed impair impaired",
    ),
    ("activate activated activates", "deactivate deactivated inactivate inactivated"),
    ("commercial", "nonprofit non-profit charitable"),
    ("male man men boy boys", "female woman women girl girls"),
    ("husband father son brother uncle", "wife mother daughter sister aunt"),
    ("ancient old", "modern new"),
    ("current currently", "former formerly"),
    ("friend ally allies", "enemy enemies foe foes"),
    ("attack attacked", "defend defended"),
    ("praise praised", "criticise criticised criticize criticized condemn condemned"),
    ("encourage encouraged", "discourage discouraged"),
    ("upper", "lower"),
    ("internal", "external"),
    ("natural", "artificial synthetic"),
    ("married", "unmarried single divorced"),
    ("amateur", "professional"),
    ("theory theoretical", "practice practical"),
    ("teacher", "pupil"),
    ("predecessor", "successor"),
)


_ALL = (*STRICT, *LOOSE)
_PHRASES = (
    (r"\b(?:switch|turn)\w* on\b", r"\b(?:switch|turn)\w* off\b"),
    (r"\bboth\b(?!\s+[^.,;]*\band\b)", r"\bonly one\b|\bneither\b|\bnot both\b"),
)
"""Opposites of more than one word."""


def _sides(form: Callable[[str], str]) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for number, sides in enumerate(_ALL):
        for sign, side in zip((1, -1), sides, strict=True):
            for word in side.split():
                found.setdefault(form(word), []).append((number, sign))
    return found


_STEMS, _EXACT = _sides(stem), _sides(fold)
_STRONG_WORDS = (
    "all every always never none only half twice double triple quarter entire entirely exclusively majority most first last unique "
    "whole wholly sole solely everyone everybody everything anyone completely totally "
    "alle immer nie niemals nur tous toujours jamais seulement todos siempre nunca sólo"
)
_STRONG = frozenset(_STRONG_WORDS.split())
_COUNT = (
    r"\S?\d|an? (?:third|quarter|fifth|sixth|tenth|half|dozen|hundred|thousand|million)\b|"
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|[a-z]+teen|[a-z]+ty)\b"
)
_BOUND = re.compile(rf"\b(?:more|less|fewer|greater|higher|lower|mehr|weniger) (?:than|als) (?={_COUNT})", re.IGNORECASE)
_NO_DIRECTION = re.compile(
    r"\b(?:ma[dk]es?|making|sets?|takes?|took|ends?|ended|calls?|called|built) up\b|\bup to\b|"
    r"\b(?:fail(?:s|ed)?|refus(?:es|ed)|declin(?:es|ed)|unable) to\b",
    re.IGNORECASE,
)
_LASTING = re.compile(r"\blast(?:s|ed|ing)\b", re.IGNORECASE)
_THAN = re.compile(r"\b(?:than|als|que|before|after)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Direction:
    """A word of a pair, and its side."""

    pair: int
    sign: int
    word: str
    strict: bool = True


def directions(text: str) -> list[Direction]:
    """The words of a text that have an opposite."""
    # The bound of a figure ("more than 5") belongs to the figure, and the "up" of "make up" has no direction.
    plain = _LASTING.sub(" ", _NO_DIRECTION.sub(" ", _BOUND.sub(" ", text)))
    found = [
        Direction(pair, sign, piece, pair < len(STRICT))
        for word in words(plain)
        for piece in word.text.split("-")
        for pair, sign in _EXACT.get(fold(piece)) or _STEMS.get(stem(piece)) or _STEMS.get(_without_ly(piece)) or ()
    ]
    for number, sides in enumerate(_PHRASES, len(_ALL)):
        for sign, form in zip((1, -1), sides, strict=True):
            found += [Direction(number, sign, match.group(), False) for match in re.finditer(form, plain, re.IGNORECASE)]
    return found


def _without_ly(word: str) -> str:
    """The stem of an adverb without its "ly", because `negatively` is on the same side as `negative`; empty for other words."""
    folded = fold(word)
    return stem(folded.removesuffix("ly")) if folded.endswith("ly") else ""


def pairs_of(text: str) -> frozenset[int]:
    """The pairs of which a text has a word on either side: strict ones, and others with a comparative ("deeper")."""
    return frozenset(
        direction.pair for direction in directions(text) if direction.strict or direction.word.casefold().endswith("er")
    )


def compares(text: str) -> bool:
    return _THAN.search(text) is not None


def strong_words(text: str) -> set[str]:
    """Words that claim a whole, a part, or a rank."""
    return {piece for word in words(text) for piece in word.text.casefold().split("-")} & _STRONG


def sides_of_comparison(text: str) -> tuple[str, str] | None:
    """What comes before and after `than`, `before` or `after`, if the text has exactly one of them. "After B, A" is read as "A after B"."""
    parts = _THAN.split(text)
    if len(parts) != 2:
        return None
    if not parts[0].strip() and "," in parts[1]:
        moved, _, rest = parts[1].partition(",")
        return rest, moved
    return parts[0], parts[1]
