"""Verbs of two words, and the one word that means the same: "threw out the suit" and "dismissed the suit"."""

from __future__ import annotations

from collections.abc import Iterator

from stepwell.research.audit.facts.words.roots import root
from stepwell.words import Word, words

_PHRASES = (
    "throw out:dismiss|set up:establish|take place:happen|carry out:perform|take part:participate|pass away:die|break out:begin|"
    "put off:postpone|call off:cancel|give up:abandon|drop out:abandon|turn down:reject|bring up:raise|take over:acquire|come out:release|"
    "burn down:destroy|pull down:demolish|tear down:demolish|knock down:demolish|blow up:explode|find out:discover|point out:note|"
    "shut down:close|close down:close|step down:resign|stand down:resign|grow up:raise|lay off:dismiss|call for:demand|ask for:request|"
    "look into:investigate|look for:seek|search for:seek|deal with:handle|get rid:remove|make up:form|wipe out:destroy|phase out:abolish|"
    "do away:abolish|bring about:cause|lead to:cause|result in:cause|give rise:cause|rule out:exclude|leave out:omit|hand over:deliver|"
    "hand in:submit|fill in:complete|sign up:join|take off:depart|set off:depart|set out:depart|go on:continue|carry on:continue|"
    "keep on:continue|run out:exhaust|sell off:sell|buy up:buy|pay back:repay|speed up:accelerate|slow down:slow|back up:support|"
    "stand for:represent|account for:explain|consist of:comprise|refer to:call|depend on:rely|give birth:bear|run away:flee|"
    "get married:marry|turn into:become|live in:inhabit|work for:serve|play for:represent|move to:relocate|come back:return|go back:return"
)
_MEANS = {
    (root(verb), particle): meaning
    for entry in _PHRASES.split("|")
    for verb, particle, meaning in [(*entry.partition(":")[0].split(), entry.partition(":")[2])]
}
_VERBS = frozenset(verb for verb, _ in _MEANS)
_REACH = 4
"""How many words may stand between the two: "threw the whole suit out"."""


def phrase_at(text: str, word: Word) -> str:
    """What the verb at this place means together with a word that follows it; empty if they are no such phrase."""
    verb = root(word.text)
    if verb not in _VERBS:
        return ""
    following = [each for each in words(text) if each.start > word.start][:_REACH]
    return next((_MEANS[key] for each in following if (key := (verb, each.text.casefold())) in _MEANS), "")


def phrases(text: str) -> Iterator[str]:
    """The single words that mean the same as the phrases of a text."""
    yield from (meaning for word in words(text) if (meaning := phrase_at(text, word)))
