"""A source's limits that a claim left out: nearly all, five of the six, the tallest wooden tower, patients with asthma, the former
minister, only on Mondays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from stepwell.research.audit.facts.left_out.rules import LONGEST, LeftOut, roots_of
from stepwell.research.audit.facts.reading.statement import Statement
from stepwell.research.audit.facts.words.peoples import PEOPLES
from stepwell.research.audit.facts.words.qualifiers import superlatives
from stepwell.research.audit.facts.words.roots import root
from stepwell.words import Word, is_function, words

_NEARLY = re.compile(
    r"\b(?:nearly|almost|virtually|practically|not quite|mostly|largely|partly|partially|up to|as (?:many|much|high|"
    r"long) as|at most|no more than|"
    r"just (?:under|over)|close to|beinahe|nahezu|fast|bis zu|höchstens|teilweise|presque|jusqu'à|casi|"
    r"hasta)\s+(?:(?:the|a|an|its|their|half)\s+)?(?P<what>[\w.,%-]*\w)",
    re.IGNORECASE,
)
_ROUGHLY = re.compile(
    r"\b(?:about|around|roughly|approximately|some|circa|ca|etwa|rund|ungefähr|environ|most|many|under|below|less|fewer)\b",
    re.IGNORECASE,
)


def approximation(claim: Statement, quote: Statement) -> LeftOut | None:
    """ "Nearly all" and "up to seven", told without the "nearly" and the "up to"."""
    if _NEARLY.search(claim.text) or _ROUGHLY.search(claim.text):
        return None
    said = {word.text.casefold() for word in words(claim.text)} | roots_of(claim.text)
    for match in _NEARLY.finditer(quote.text):
        what = match["what"].casefold()
        if what in said or (root(what) in said and not is_function(what)):
            return LeftOut(match.group())
    return None


_FORMER = re.compile(
    r"\b(?:former|formerly|ex|deputy|vice|acting|assistant|interim|honorary|would-be|alleged|suspected|self-proclaimed|"
    r"self-styled|aspiring|incoming|outgoing|designate|shadow|mock|fake|unofficial|prospective|pseudo|"
    r"stellvertretende[rnms]?|ehemalige[rnms]?|frühere[rnms]?|designierte[rnms]?|mutmaßliche[rnms]?|angebliche[rnms]?|"
    r"kommissarische[rnms]?|"
    r"ancien|ancienne|adjoint|exministro)[ -]+(?P<one>[\w'-]+)(?:\s+(?P<two>[\w'-]+))?",
    re.IGNORECASE,
)


_ONCE = re.compile(r"\b(?:once|previously|used to|then|damals|einst)\b", re.IGNORECASE)


def former(claim: Statement, quote: Statement) -> LeftOut | None:
    """A former minister or a deputy mayor, told as the minister or the mayor."""
    if _FORMER.search(claim.text) or _ONCE.search(claim.text):
        return None
    tokens = words(claim.text)
    for match in _FORMER.finditer(quote.text):
        heads = [
            root(each)
            for each in (match["one"], match["two"])
            if each and not is_function(each) and each.casefold() not in PEOPLES
        ]
        for place, token in enumerate(tokens):
            if root(token.text) in heads and not _is_past_office(tokens, place):
                return LeftOut(match.group())
    return None


def _is_past_office(tokens: Sequence[Word], place: int) -> bool:
    """Whether a claim says of a person that they *were* something: that is what "former" means."""
    before = [token.text.casefold() for token in tokens[max(0, place - 4) : place]]
    return bool({"was", "were", "been", "as", "war", "waren", "als"} & set(before))


def superlative(claim: Statement, quote: Statement) -> LeftOut | None:
    """ "The tallest wooden tower" told as the tallest tower, "the first German woman" as the first woman."""
    own = roots_of(claim.text)
    for at, word in _ranking(claim):
        ours = _after(claim.text, at)
        for there, other in _ranking(quote):
            if other != word:
                continue
            theirs = _after(quote.text, there)
            if not ours or ours[0] not in theirs[1:_NEAR]:
                continue
            left_out = [each for each in theirs[: theirs.index(ours[0])] if each not in own]
            if left_out:
                end = next(each.end for each in words(quote.text) if each.start >= there and root(each.text) == ours[0])
                return LeftOut(quote.text[there:end])
    return None


_NEAR = 4
_FIRST = frozenset(["first", "last", "only", "erste", "einzige", "letzte", "premier", "seul"])


def _ranking(statement: Statement) -> Iterator[tuple[int, str]]:
    """The place and the base of each superlative, and of "first", "last" and "only"."""
    for base, shown in superlatives(statement.text):
        yield statement.text.find(shown), base
    for word in words(statement.text):
        if word.text.casefold() in _FIRST:
            yield word.start, word.text.casefold()


def _after(text: str, start: int) -> list[str]:
    """The roots of the content words after the one at `start`, up to the next mark."""
    clause = re.split(r"[,.;:()]", text[start:], maxsplit=1)[0]
    return [root(word.text) for word in words(clause)[1:] if not is_function(word.text)][:5]


_PART_OF = re.compile(
    r"\b(?P<part>some|most|many|several|half|part|parts|(?:a )?few|(?:a |the )?majority|(?:a |the )?minority|(?:one|"
    r"two)[- ]thirds?|a (?:third|quarter|fifth)|"
    r"\d[\d.,]*(?: ?%| percent| per cent)?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|einige|viele|manche)"
    r" (?:out )?(?:of|von|der) (?:the |its |their |his |her |these |those |all |den |allen )?(?P<whole>\d[\d.,]*\d|\d|"
    r"one|two|three|four|five|six|seven|eight|nine|ten|"
    r"eleven|twelve|twenty|hundred|drei|vier|fünf|sechs|sieben|acht|neun|zehn)\b(?: (?P<thing>\w+))?",
    re.IGNORECASE,
)


_OF = re.compile(r"\b(?:out of|of the|of its|of their|von den)\b", re.IGNORECASE)


def part_of_whole(claim: Statement, quote: Statement) -> LeftOut | None:
    """ "Five of the six bridges" told as the six bridges."""
    if _OF.search(claim.text) and _PART_OF.search(claim.text):
        return None
    spoken = {word.text.casefold() for word in words(claim.text)}
    for match in _PART_OF.finditer(quote.text):
        part = match["part"].casefold()
        thing = match["thing"]
        has_thing = thing is None or is_function(thing) or root(thing) in roots_of(claim.text)
        if match["whole"].casefold() in spoken and part not in spoken and has_thing:
            return LeftOut(match.group(), "contradicted")
    return None


_BY_OR_TO = re.compile(
    r"\b(?P<how>by|to|um|auf) (?:(?:an?|one) (?P<part>half|third|quarter|fifth|sixth|tenth)|(?P<number>\d[\d.,]*) ?(?:%|percent|per cent)|"
    r"(?P<teil>die Hälfte|ein Drittel|ein Viertel))(?! (?:rise|increase|growth|gain|drop|fall|decline|decrease|"
    r"reduction|cut|improvement)\b)",
    re.IGNORECASE,
)


def share(claim: Statement, quote: Statement) -> LeftOut | None:
    """ "Fell by a quarter" told as "fell to a quarter", "30 percent lower than" as "30 percent of"."""
    theirs = [(_share_of(match), match["how"].casefold(), match.group()) for match in _BY_OR_TO.finditer(quote.text)]
    for match in _BY_OR_TO.finditer(claim.text):
        share, how = _share_of(match), match["how"].casefold()
        same = [each for each in theirs if each[0] == share]
        if same and all(each[1] != how for each in same):
            return LeftOut(same[0][2], "contradicted")
    return None


def _share_of(match: re.Match[str]) -> str:
    return (match["part"] or match["number"] or match["teil"]).casefold().rstrip(".,")


_WITH = re.compile(
    r"\b(?P<whom>patients|adults|men|women|people|children|boys|girls|students|pupils|mice|rats|cells|cases|animals|"
    r"infants|babies|participants|individuals|"
    r"workers|households|families|residents|countries|cities|companies|schools|households|\w{4,}s) "
    r"(?P<what>(?:with|without|aged|suffering from|infected with|over|under|older than|younger than|born|living|"
    r"who (?:had|have|are|were|took|take))"
    r" (?:\w+ ){0,3}?\w{3,})",
    re.IGNORECASE,
)


def population(claim: Statement, quote: Statement) -> LeftOut | None:
    """ "In adults with severe asthma" told as in adults."""
    own = roots_of(claim.text)
    for match in _WITH.finditer(quote.text):
        what = roots_of(match["what"])
        if (
            root(match["whom"]) in own
            and match["whom"].casefold() in claim.text.casefold()
            and what
            and not what & own
            and not _WITH.search(claim.text)
        ):
            return LeftOut(match.group())
    return None


_ONLY = re.compile(r"\b(?:only|solely|exclusively|nur|seulement|sólo)\b(?P<what>[^.;:]{0,80})", re.IGNORECASE)


def only(claim: Statement, quote: Statement) -> LeftOut | None:
    """ "May vote only at the meeting" told as "only fellows may vote"."""
    ours = _ONLY.search(claim.text)
    theirs = list(_ONLY.finditer(quote.text))
    if ours is None or not theirs:
        return None
    ends = ours.end() == len(claim.text) or not _firstroots_of(ours["what"])
    if ends or any(
        _firstroots_of(ours["what"]) & _firstroots_of(each["what"]) or not _firstroots_of(each["what"]) for each in theirs
    ):
        return None
    shown = theirs[0].group()
    return LeftOut(shown[:LONGEST])


def _firstroots_of(text: str) -> set[str]:
    return {root(word.text) for word in [each for each in words(text) if not is_function(each.text)][:2]}
