"""Makes search queries from a question alone, for when no model can plan. Follows rules, so the same question gives the same queries.

```
each part of the question        -> what a person would type: "who designed the Vardal bridge"
"A vs B", "A or B", "A and B"    -> both together, then each alone
"the wife of the director of X"  -> also "director of X", which must be known first
"studies", "trials", "papers"    -> one search at an engine for papers: "papers: ..."
a claim or a judgement           -> one search for counter-evidence, last
```

`asked.py` takes the question apart. Nothing that looks like personal data or a secret goes into a query or an address, whatever the
question contains.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import urlsplit

from stepwell.research.evidence.asked import Asked, content_words, find_names, find_subject, find_things, strip_talk, take_apart
from stepwell.research.evidence.asking_words import (
    AGAINST,
    ARTICLE,
    BETWEEN,
    CONTEXT,
    CRITICISM,
    EFFECTS,
    FIRST_WORDS,
    FRAME,
    HOW_TO,
    IN_WHAT,
    IS_AT_END,
    JUDGED,
    LOST,
    MYTH,
    NESTED,
    PAIR,
    PUNCTUATION,
    RELATIVE,
    SAME,
    SHOULD,
    STUDIES,
    VERSUS,
    WHAT_DOES,
    WHAT_IS,
    YES_NO,
)  # fmt: skip
from stepwell.secrets.text import without_keys
from stepwell.tools.web.search.chain import PAPERS
from stepwell.words import stem

LONGEST_INPUT = 500
"""The most characters of a query or an address."""
MOST_QUERIES = 4
_MAX_WORDS = 12
_LONGEST_PAIR = 300
"""Names that are compared stand within so many characters of a part."""
_SPOKEN_WORDS = 9
"""A part of at most this many words is searched for as it was asked; a longer one is cut down to its content words."""

_PRIVATE = re.compile(
    r"(?<![\w.%+-])[\w.%+-]+@[\w-]+\.[\w.-]+"  # e-mail
    r"|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b"  # IBAN
    r"|\b\d{3}-\d{2}-\d{4}\b"  # social security number
)
_NUMBER_IN_GROUPS = re.compile(r"(?<![\w.,])\+?\(?\d[\d ()/-]{5,28}\d(?![\w])")
_ADDRESS = re.compile(r"https?://\S+")
_CALLED_FROM, _CALLED_ABROAD_FROM = 9, 7
"""From how many digits on a number counts as a telephone or card number; after a `+`, fewer suffice. Years and dates have at most eight."""


def make_queries(question: str) -> Iterator[tuple[str, str]]:
    """Queries with reasons, without duplicates: the parts of the question, then one for papers if it asks for studies, then one for
    counter-evidence if it repeats a claim or asks for a judgement."""
    asked = _ask(question)
    if asked is None:
        return
    rows = _rows(asked)
    added = [*_find_papers(question, rows[0][0]), *([] if _find_compared(asked) else _counter(asked))]
    yield from _once([*rows[: MOST_QUERIES - len(added)], *added])


def make_queries_beside(question: str) -> Iterator[tuple[str, str]]:
    """The queries of a question that came with pages to read: without their addresses, and only those that name a subject. "Compare these
    two sources" names none, so that nothing but the pages is read."""
    for text, why in make_queries(_ADDRESS.sub(" ", question)):
        if any(stem(word) not in FRAME for word in content_words(text)):
            yield text, why


def sub_questions(question: str) -> list[str]:
    """The parts of a question for a search of the user's own documents, where neither counter-evidence nor engines for papers help."""
    asked = _ask(question)
    return [text for text, _ in _once(_rows(asked)[:MOST_QUERIES])] if asked else []


def _ask(question: str) -> Asked | None:
    """The question, taken apart; `None` if there is nothing to look for."""
    question = remove_private(question)
    if not any(character.isalnum() for character in question):
        return None
    asked = take_apart(question)
    return asked if asked.parts else replace(asked, parts=(_cut(question.strip(PUNCTUATION)),))


def _rows(asked: Asked) -> list[tuple[str, str]]:
    pair = _find_compared(asked)
    rows = [(as_typed(part, asked.language), "Sub-question") for part in asked.parts if not pair or part != pair.part]
    if pair:
        both, *each = _compare(pair)
        return [both, *rows, *each]
    if len(rows) == 1:
        return [(rows[0][0], "Main query from your question"), *_find_first_hop(asked.parts[0], asked.language)]
    return rows


def _once(rows: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    seen: set[frozenset[str]] = set()
    for text, why in rows:
        key = frozenset(text.casefold().split())
        if key and key not in seen:
            seen.add(key)
            yield text, why


def _find_papers(question: str, query: str) -> Iterator[tuple[str, str]]:
    if STUDIES.search(question):
        yield f"{PAPERS} {query}", "A search engine for papers"


def as_typed(part: str, language: str = "en") -> str:
    """What a person would type for a part of a question."""
    bare = strip_talk(part)
    if how := HOW_TO.match(bare):
        bare = f"how to {bare[how.end() :]}"
    bare = _without(IN_WHAT, bare)
    does = WHAT_DOES.match(bare)
    told = does or WHAT_IS.match(bare)
    if told and content_words(bare[told.end() :]):
        bare = IS_AT_END.sub("", bare[told.end() :])
    words = _without(ARTICLE, bare).split()
    if not words:
        return ""
    if len(words) > _SPOKEN_WORDS or does:  # without "what does", the rest is not a phrase: "the EU require of companies"
        return _keep_telling(" ".join(words), language) or _cut(bare)
    if words[0].casefold() in FIRST_WORDS:
        words[0] = words[0].casefold()
    return _cut(" ".join(words).strip(" \t,;:!?¿¡…"))


def _without(lead: re.Pattern[str], text: str) -> str:
    """The text without what it begins with, unless nothing else is left."""
    found = lead.match(text)
    rest = text[found.end() :].lstrip() if found else ""
    return rest if content_words(rest) else text


def _keep_telling(text: str, language: str) -> str:
    """The content words, with names whole; of too many, names and numbers first."""
    units: list[tuple[str, bool]] = []
    rest = text
    for name in find_names(text, language):
        before, found, after = rest.partition(name)
        if not found:  # a name whose marks were taken off
            continue
        units += [(word, False) for word in content_words(before)]
        units.append((name, True))
        rest = after
    units += [(word, False) for word in content_words(rest)]
    units = [(text, named) for text, named in units if named or text.casefold() not in LOST]
    room = _MAX_WORDS - sum(len(text.split()) for text, named in units if named or any(map(str.isdigit, text)))
    chosen = []
    for word, named in units:
        is_fixed = named or any(map(str.isdigit, word))
        if is_fixed or room > 0:
            chosen.append(word)
            room -= 0 if is_fixed else 1
    return _cut(" ".join(dict.fromkeys(chosen)))


class _Pair(NamedTuple):
    """Two things that are compared, and what they are compared for."""

    one: str
    other: str
    about: str
    joint: str
    part: str
    """The part of the question that compares them."""


def _find_compared(asked: Asked) -> _Pair | None:
    for part in asked.parts:
        if match := BETWEEN.search(part):
            return _tidy_pair(part, match[1], match[2], asked.language)
        sides = VERSUS.split(part, maxsplit=1)
        if len(sides) == 2:
            return _tidy_pair(part, sides[0], sides[1], asked.language)
    return _find_named_pair(asked.parts[0], asked.language) if len(asked.parts) == 1 else None


def _tidy_pair(part: str, one: str, other: str, language: str) -> _Pair | None:
    second, *context = CONTEXT.split(other, maxsplit=1)
    first, second = as_typed(_without(YES_NO, one), language), as_typed(second, language)
    if not first or not second or first.casefold() == second.casefold():
        return None
    is_short = len(first.split()) == 1 and len(second.split()) == 2 and f"{first}{second}".replace(" ", "").islower()
    if is_short:
        first = f"{first} {second.split()[1]}"  # "sodium vs lithium batteries"
    return _Pair(first, second, _keep_telling(context[0], language) if context else "", " vs ", part)


def _find_named_pair(text: str, language: str) -> _Pair | None:
    """`Were A and B of the same nationality`, `Which was first, A or B`: two names, and what is asked about both. Names of one word need
    such a word as `same`: "Procter and Gamble" are one."""
    for joint in PAIR.finditer(text[:_LONGEST_PAIR]):
        left, right = text[: joint.start()], _without(ARTICLE, text[joint.end() :])
        before, after = find_things(left, language), find_things(f"- {right}", language)
        if not before or not after or not left.endswith(before[-1]) or not right.startswith(after[0]):
            continue
        one, other = before[-1], after[0]
        if SAME.search(text) or (" " in one and " " in other):
            about = content_words(f"{left.removesuffix(one)} {right.removeprefix(other)}")
            return _Pair(one, other, " ".join(word for word in about[:4] if not SAME.fullmatch(word)), joint.group(), text)
    return None


def _compare(pair: _Pair) -> Iterator[tuple[str, str]]:
    yield _join(f"{pair.one}{pair.joint}{pair.other}", pair.about), "Both side by side"
    for each in (pair.one, pair.other):
        yield _join(each, pair.about), f"About '{each}' alone"


def _join(name: str, about: str) -> str:
    """A name and further words, none of which repeats a word of the name."""
    known = set(name.casefold().split())
    return _cut(" ".join([name, *(word for word in about.split() if word.casefold() not in known)]))


def _find_first_hop(part: str, language: str) -> Iterator[tuple[str, str]]:
    """What must be known first: `director of Titanic` for "the wife of the director of Titanic"."""
    why = "Has to be known first"
    if nested := NESTED.search(part):
        if find_names(nested[1], language):
            yield as_typed(nested[1], language), why
    elif relative := RELATIVE.search(part):
        named = find_names(f"x {relative[2]}", language)
        if named:
            yield _cut(f"{' '.join(named[:2])} {as_typed(relative[1], language)}"), why


def _counter(asked: Asked) -> list[tuple[str, str]]:
    """A search for what speaks against a claim or a judgement; none for a question of fact."""
    part, language = asked.parts[0], asked.language
    words = {word.casefold() for word in content_words(part)}
    core = as_typed(_without(YES_NO, part), language)
    subject = find_subject(part, language) or core
    if SHOULD.match(part):
        return [(_cut(f"{_cut(core, _MAX_WORDS - 3)} {AGAINST[language]}"), "Counter-evidence")]
    if not asked.is_claim and YES_NO.match(part) and words & JUDGED:
        return [(_cut(f"{_cut(subject, _MAX_WORDS - 2)} {CRITICISM[language]}"), "Counter-evidence")]
    if asked.is_claim or (YES_NO.match(part) and {stem(word) for word in words} & EFFECTS):
        return [(_cut(f"{_cut(core, _MAX_WORDS - 2)} {MYTH[language]}"), "Counter-evidence")]
    return []


def _cut(text: str, most: int = _MAX_WORDS) -> str:
    return " ".join(text.split()[:most])[:LONGEST_INPUT].strip()


def remove_private(text: str) -> str:
    """The text without personal data and secrets."""
    without = _PRIVATE.sub(" ", without_keys(text))
    without = _NUMBER_IN_GROUPS.sub(lambda found: " " if _is_called(found.group()) else found.group(), without)
    return " ".join(without.split())


def _is_private(text: str) -> bool:
    return (
        bool(_PRIVATE.search(text))
        or without_keys(text) != text
        or any(_is_called(found) for found in _NUMBER_IN_GROUPS.findall(text))
    )


def _is_called(number: str) -> bool:
    digits = sum(character.isdigit() for character in number)
    return digits >= (_CALLED_ABROAD_FROM if number.startswith("+") else _CALLED_FROM)


def choose_addresses(urls: Sequence[str]) -> list[str]:
    """Addresses that can be fetched, each once. Drops those that carry personal data or a password."""
    found = []
    for url in dict.fromkeys(url.strip() for url in urls):
        try:
            parts = urlsplit(url)
        except ValueError:
            continue  # not an address, so we leave it out; the plan shows what is fetched
        if parts.scheme in ("http", "https") and parts.hostname and len(url) <= LONGEST_INPUT and not _is_private(url):
            found.append(url)
    return found
