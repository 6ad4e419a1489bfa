"""Opposites formed with a prefix or suffix: `official` and `unofficial`, `connect` and `disconnect`, `useful` and `useless`.

Opposites that are two different words are in the lists of `directions`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stepwell.research.audit.facts.reading.statement import Finding, Statement
from stepwell.words import fold, is_function, stem, words

_PREFIXES = ("un", "non", "dis", "anti")
_BEFORE_ADJECTIVES = ("in", "im", "il", "ir")
_ADJECTIVE_ENDINGS = (
    "able ible ably ibly ent ant ently antly ence ance ency ancy ive ively ate ately al ally ous ously ability ibility ular ure ite ect "
    "id"
)
_ADJECTIVES = tuple(_ADJECTIVE_ENDINGS.split())
_NOT_TURNED_WORDS = (
    "display displays displayed dismiss dismissed discover discovered discovery discharge discharged discount discounts dispose disposed "
    "distress district dispatch distill dispute disputed disclose disclosed discuss disease diseases disorder disorders until under union "
    "unit units unite united unity university universe uniform unique anticipate anticipated"
)
_NOT_TURNED = frozenset(_NOT_TURNED_WORDS.split())
"""Words that begin with such a prefix without being the opposite of the rest."""
_SHORTEST = 4
_SAME_SUBJECT = 0.5


def find_opposites(claim: Statement, quotes: Sequence[Statement]) -> Iterator[Finding]:
    """A finding per word of the claim that a quote on the same subject has only in the reversed form: with an added prefix or suffix, or
    without it."""
    ours = _by_stem(claim.text)
    anywhere = {key for quote in quotes for key in quote.stems}
    denied = claim.denials.scope
    for quote in quotes:
        theirs = _by_stem(quote.text)
        for key, word in ours.items():
            if key in anywhere or key in denied:
                continue
            turned = next((each for each in _turns(word, theirs) if stem(each) not in ours), "")
            if turned and stem(turned) not in quote.denials.scope and _is_about_the_same(claim, key, quote):
                yield Finding("contradicted", f"the claim says '{word}', the source '{turned}'", at=quote)


def _is_about_the_same(claim: Statement, key: str, quote: Statement) -> bool:
    rest = claim.stems - {key}
    return bool(rest) and len(rest & quote.stems) / len(rest) >= _SAME_SUBJECT


def _by_stem(text: str) -> dict[str, str]:
    return {stem(word.text): word.text for word in words(text) if not is_function(word.text) and word.text[0].isalpha()}


def _turns(word: str, others: dict[str, str]) -> Iterator[str]:
    """The words among `others` that are this word with such a prefix or suffix added, removed or exchanged."""
    folded = fold(word).replace("-", "")
    prefixes = (*_PREFIXES, *(_BEFORE_ADJECTIVES if folded.endswith(_ADJECTIVES) else ()))
    for prefix in prefixes:
        bare = folded.removeprefix(prefix)
        if bare != folded and len(bare) >= _SHORTEST and folded not in _NOT_TURNED:
            yield from (others[key] for key in (stem(bare),) if key in others)
        for form in (prefix + folded, f"{prefix}-{folded}"):
            if form not in _NOT_TURNED:
                yield from (others[key] for key in (stem(form),) if key in others)
    for one, two in (("less", "ful"), ("ful", "less")):
        if folded.endswith(one):
            yield from (
                others[key] for key in (stem(folded.removesuffix(one) + two), stem(folded.removesuffix(one))) if key in others
            )
