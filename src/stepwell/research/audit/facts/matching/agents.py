"""Who did it: "painted by Ann Lawton", "Ann Lawton painted it".

A passive names the agent after "by". A claim that attributes the same act to another agent, actively or passively, is contradicted; a
claim that only turns an active sentence into a passive is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stepwell.research.audit.facts.reading.names import Name
from stepwell.research.audit.facts.reading.statement import Finding, Statement
from stepwell.research.audit.facts.words.roots import root
from stepwell.words import Word, is_function, words

_STOPS = frozenset(
    [
        "who",
        "which",
        "that",
        "in",
        "on",
        "at",
        "from",
        "for",
        "with",
        "as",
        "to",
        "after",
        "before",
        "during",
        "through",
        "until",
    ]
)
_BEING = frozenset(["is", "was", "were", "are", "been", "being", "be"])
_AUXILIARIES = _BEING | {"has", "have", "had", "also", "then", "later", "once", "itself", "himself", "herself"}
_LONGEST_LIST = 8


@dataclass(frozen=True, slots=True)
class Act:
    """An act, by its root, and the names of its agents."""

    verb: str
    names: frozenset[str]
    shown: str


def find_other_agents(claim: Statement, quotes: Sequence[Statement]) -> Iterator[Finding]:
    """A finding per act that the claim and the quotes attribute to different agents."""
    found = [(act, quote) for quote in quotes for act in passive_acts(quote)]
    told = [act for act, _ in found]
    doers = {act.verb: frozenset[str]() for act in told}
    for act in told:
        doers[act.verb] |= act.names
    for act in (*passive_acts(claim), *_active_acts(claim)):
        others = doers.get(act.verb)
        if others and not others & act.names:
            shown, where = next((each.shown, quote) for each, quote in found if each.verb == act.verb)
            told_of = f"the claim says '{act.shown}', the source '{shown}'"
            yield Finding("contradicted", told_of, at=where)


def passive_acts(statement: Statement) -> Iterator[Act]:
    """Acts of named agents, in the passive."""
    tokens = words(statement.text)
    for place, token in enumerate(tokens):
        if token.text.casefold() != "by":
            continue
        verbs = _verbs_before(tokens, place)
        doers = _names_after(statement, tokens, place)
        if verbs and doers:
            named = frozenset(part for name in doers for part in name.parts)
            yield from (
                Act(root(verb.text), named, f"{verb.text} by {statement.text[doers[0].start : doers[0].end]}") for verb in verbs
            )


def _active_acts(statement: Statement) -> Iterator[Act]:
    """Acts of named agents, in the active. The act is the word that follows the name."""
    tokens = words(statement.text)
    for name in statement.names:
        before = [token.text.casefold() for token in tokens if token.end <= name.start][-1:]
        after = [token for token in tokens if token.start >= name.end][:3]
        verb = next((token for token in after if token.text.casefold() not in _AUXILIARIES), None)
        if verb is None or before in (["a"], ["an"], ["by"]) or not is_participle(verb.text):
            continue  # the American in "an American painted it" may be anyone
        if not any(token.text.casefold() in _BEING for token in after if token.start < verb.start):
            shown = f"{verb.text} by {statement.text[name.start : name.end]}"
            yield Act(root(verb.text), frozenset(name.parts), shown)


def _verbs_before(tokens: Sequence[Word], place: int) -> list[Word]:
    """The verbs that are listed before "by": `written`, `directed` and `produced` in "written, directed and produced by"."""
    found: list[Word] = []
    for token in reversed(tokens[max(0, place - _LONGEST_LIST) : place]):
        if is_participle(token.text):
            found.append(token)
        elif token.text.casefold() != "and" and not token.text.endswith("ly"):
            break
    return found


def _names_after(statement: Statement, tokens: Sequence[Word], place: int) -> list[Name]:
    end = next(
        (
            token.start
            for token in tokens[place + 1 :]
            if token.text.casefold() in _STOPS or token.text.casefold() == "by" or is_participle(token.text)
        ),
        len(statement.text),
    )
    stop = min((at for mark in ".;" if (at := statement.text.find(mark, tokens[place].end)) >= 0), default=end)
    return [name for name in statement.names if tokens[place].end <= name.start < max(end, stop if stop < end else end)]


_IRREGULAR_WORDS = (
    "written built bought sold made given taken held led won drawn sung shot told known seen found founded begun run put "
    "set brought taught caught thrown worn spoken chosen driven struck hidden beaten eaten fought laid sent"
)
_IRREGULAR = frozenset(_IRREGULAR_WORDS.split())


def is_participle(word: str) -> bool:
    folded = word.casefold()
    return folded in _IRREGULAR or (len(folded) > 4 and folded.endswith("ed") and word[0].islower() and not is_function(word))
