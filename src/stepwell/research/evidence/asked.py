"""Takes a question apart without a model: the parts that ask something, each complete on its own.

```
"Who designed the Vardal bridge, and how long is it?"
  parts     "Who designed the Vardal bridge" | "how long is it"
  subject   "Vardal bridge"                                        a name with the nouns behind it
  asked     "Who designed the Vardal bridge" | "how long is Vardal bridge"
```

Talk around the question ("Is it true that ...", "What do sources say?") is dropped; that it was there is remembered (`is_claim`), because
a claim needs counter-evidence. The words are in `asking_words.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stepwell.research.audit.sentences import passages
from stepwell.research.evidence.asking_words import (
    ABBREVIATED,
    ARTICLES,
    CHATTER,
    CLAIM,
    EMPTY,
    JOINT,
    LEADS,
    LINKS,
    MEANT,
    PAIR,
    PERSON,
    PRONOUN,
    PUNCTUATION,
    QUOTED,
    SPOKEN,
    TAILS,
    VERBS,
    WHAT,
    WHAT_DOES,
    WHAT_IS,
    WHO,
    YEAR,
)
from stepwell.words import is_function, stem

_ENDS = (",", "?", "!", ";", ":", ")")


@dataclass(frozen=True)
class Asked:
    """A question, taken apart."""

    parts: tuple[str, ...]
    """What is asked, each part complete on its own, without talk around it."""
    language: str
    is_claim: bool
    """Whether the user repeats a claim and wants to know whether it is true."""


def take_apart(question: str) -> Asked:
    """The parts of a question, whose spaces must be single. A part that means nothing alone gets the subject."""
    language = find_language(question)
    sentences = _sentences(question)
    # What comes before the first question is context; what comes after it may be a request of its own.
    first = next((place for place, text in enumerate(sentences) if text.rstrip("\"'”’»)").endswith("?")), 0)
    context = [strip_talk(text) for text in sentences[:first]]
    pieces = [strip_talk(piece) for text in sentences[first:] for piece in _split(text) if not _is_chatter(piece)]
    parts = [piece for piece in pieces if content_words(piece)]
    if not parts and context:  # "Honey never spoils. Is that true?"
        parts, context = context[-1:], []
    return Asked(tuple(_complete(parts, context, language)), language, bool(CLAIM.search(question)))


def find_language(text: str) -> str:
    """The language of a question: `en`, `de`, `fr` or `es`; English if its small words do not decide."""
    spoken = {word.strip(PUNCTUATION).casefold() for word in text.split()}
    counts = {language: len(spoken & common) for language, common in SPOKEN.items()}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] >= 2 and counts[best] > counts["en"] else "en"


def strip_talk(text: str) -> str:
    """The text without the talk before and after what is asked, and without its closing mark."""
    bare = text.strip(" \t,;:!?¿¡…")
    bare = bare if ABBREVIATED.search(bare) else bare.rstrip(".")
    while (lead := LEADS.match(bare)) and lead.end() and bare[lead.end() :].strip(PUNCTUATION):
        bare = bare[lead.end() :].lstrip(" \t,:;¿¡")
    while tail := TAILS.search(bare):
        bare = bare[: tail.start()].rstrip(" ,;:")
    return bare


def content_words(text: str) -> list[str]:
    """The words of a text that carry meaning, in order."""
    bare = (word.strip(PUNCTUATION) for word in text.split())
    return [word for word in bare if word and not _is_small(word)]


def find_names(text: str, language: str) -> list[str]:
    """The names in a text, each whole: `Bank of England`, `"The Old Man and the Sea"`. In German these are all nouns."""
    return [" ".join(named) for named, _ in _name_runs(text, language)]


def find_things(text: str, language: str) -> list[str]:
    """The names in a text, each with the nouns behind it: `Vardal bridge`."""
    return [" ".join([*named, *after]) for named, after in _name_runs(text, language)]


def find_subject(text: str, language: str) -> str:
    """What a text is about: its longest name with the nouns behind it, else its first noun as far as rules can tell."""
    runs = list(_name_runs(text, language))
    if not runs:
        return " ".join(_first_noun(text))
    named, after = runs[0] if language == "de" else max(runs, key=lambda run: len(run[0]) + len(run[1]))
    return " ".join([*named, *after])


def _sentences(text: str) -> list[str]:
    """The sentences, not cut after `U.S.` or `v.`, which questions contain more often than pages do."""
    found: list[str] = []
    for passage in passages(text):
        if found and ABBREVIATED.search(found[-1]):
            found[-1] += f" {passage.text}"
        else:
            found.append(passage.text)
    return found


def _split(sentence: str) -> list[str]:
    """The questions in one sentence."""
    quoted = [match.span() for match in QUOTED.finditer(sentence)]
    pieces, start = [], 0
    for joint in JOINT.finditer(sentence):
        inside = any(begin < joint.start() < end for begin, end in quoted)
        if not inside and content_words(sentence[start : joint.start()]):
            pieces.append(sentence[start : joint.start()])
            start = joint.end()
    return [part for piece in [*pieces, sentence[start:]] for part in _split_pair(piece)]


def _split_pair(text: str) -> list[str]:
    """`causes of the French Revolution and effects of the Continental System`: two parts, if each has a name and a word of its own."""
    sides = PAIR.split(text)
    if len(sides) != 2 or QUOTED.search(text) or not all(sides):
        return [text]
    for side in sides:
        first, *rest = side.split()
        has_word = any(word[:1].islower() for word in content_words(side))
        if not has_word or first.casefold() in ARTICLES or not any(word[:1].isupper() for word in rest):
            return [text]
    follows = sides[1].split()[0]
    return sides if follows[:1].islower() and stem(follows) not in VERBS else [text]


def _is_chatter(piece: str) -> bool:
    bare = piece.strip(PUNCTUATION)
    return not bare or bool(CHATTER.fullmatch(bare) or CHATTER.fullmatch(strip_talk(bare)))


def _complete(parts: Sequence[str], context: Sequence[str], language: str) -> Iterator[str]:
    """The parts with pronouns replaced by what they stand for, and with the subject where a part has none."""
    named = [text for text in context if _has_name(text, language)]
    subject = find_subject(named[-1], language) if named else ""
    year = next((found for text in context for found in YEAR.findall(text)), "")
    for place, part in enumerate(parts):
        if subject:
            is_person = place and PERSON.search(part)
            yield _carry(part, _person(parts[place - 1], language) if is_person else subject, year, language)
        else:
            yield part
        own = find_subject(part, language)
        if own and (not subject or _has_name(part, language)):
            subject, year = own, next(iter(YEAR.findall(part)), year)


def _person(part: str, language: str) -> str:
    """Whom `he` means after a part that asks for a person: `chief engineer of the Brooklyn Bridge`."""
    asked = WHO.match(part)
    return part[asked.end() :] if asked else find_subject(part, language)


def _carry(part: str, subject: str, year: str, language: str) -> str:
    """A part with what it is about: in place of a pronoun, or in front if the part names nothing itself."""
    is_named = _has_name(part, language)
    dated = f" {year}" if year and not is_named and not YEAR.search(f"{subject} {part}") else ""
    pronoun = PRONOUN.search(part)
    if pronoun and (language == "en" or not is_named):
        return f"{part[: pronoun.start()]}{subject}{part[pronoun.end() :]}{dated}"
    known, own = {stem(word) for word in content_words(subject)}, {stem(word) for word in content_words(part)}
    nouns = {word for word in own - known - VERBS if word.isalpha()}
    stands_alone = len(nouns) > 1 and not any(word[:1].isupper() for word in subject.split())
    if is_named or stands_alone or known <= own:
        return part
    asked = WHAT_DOES.match(part) or WHAT_IS.match(part) or WHAT.match(part)
    rest = part[asked.end() :].removeprefix("the ") if asked else part
    # "market size" after "German heat pump market" is "size"
    return f"{subject} {' '.join(word for word in rest.split() if stem(word.strip(PUNCTUATION)) not in known)}{dated}"


def _has_name(text: str, language: str) -> bool:
    """Whether a text has a name of its own. Rules cannot tell in German, where every noun has a capital."""
    return language != "de" and bool(find_names(text, language))


def _name_runs(text: str, language: str) -> Iterator[tuple[list[str], list[str]]]:
    """Names, each with the nouns behind it: (`Vardal`, `bridge`)."""
    for match in QUOTED.finditer(text):
        yield [f'"{next(filter(None, match.groups())).strip()}"'], []
    words = QUOTED.sub(" ; ", text).split()
    place = 0
    while place < len(words):
        end = _end_of_name(words, place, language)
        if end > place:
            named = [word.strip(PUNCTUATION) if word.endswith(_ENDS) else word.strip("\"'“”(") for word in words[place:end]]
            before = _noun_before(words, place) if language in ("fr", "es") else []
            after = [] if language == "de" or words[end - 1].endswith(_ENDS) else _nouns_after(words, end)
            yield [*before, *named], after
        place = max(end, place + 1)


def _end_of_name(words: Sequence[str], place: int, language: str) -> int:
    """Where the name ends that begins at `place`; `place` itself if none does."""
    if not _begins_name(words, place, language):
        return place
    end = place + 1
    while end < len(words) and not words[end - 1].endswith(_ENDS):
        word, linked = words[end], end
        if _is_capital(word) or (word[:1].isdigit() and not YEAR.match(word)):
            end += 1
            continue
        while linked < len(words) and linked - end < 3 and words[linked].casefold() in LINKS[language]:
            linked += 1
        if not (end < linked < len(words) and _is_capital(words[linked])):
            break
        end = linked + 1
    return end


def _begins_name(words: Sequence[str], place: int, language: str) -> bool:
    bare = words[place].strip(PUNCTUATION)
    if not _is_capital(bare) or _is_small(bare) or bare.casefold() in ("i", "i'm", "i've"):
        return False
    if place or language == "de" or len(words) == 1:
        return True
    # The first word has a capital anyway: it is a name if its spelling says so, or if the name goes on.
    is_written_so = any(letter.isupper() or letter.isdigit() for letter in bare[1:])
    return is_written_so or (_is_capital(words[1]) and not words[0].endswith(_ENDS))


def _nouns_after(words: Sequence[str], place: int) -> list[str]:
    """Up to three lower-case nouns behind a name."""
    found: list[str] = []
    for word in words[place : place + 3]:
        bare = word.strip(PUNCTUATION)
        if not (bare.isalpha() and bare.islower()) or _is_small(bare) or stem(bare) in VERBS or bare.endswith(("ed", "ly")):
            break
        found.append(bare)
        if word.endswith(_ENDS):
            break
    return found


def _noun_before(words: Sequence[str], place: int) -> list[str]:
    """The noun before a name in French and Spanish, `tour` in "la tour Eiffel", if an article stands before it."""
    start = place - 2 if place and words[place - 1].casefold() in ("de", "du", "del", "des") else place - 1
    if start < 1 or words[start - 1].casefold() not in ARTICLES or not words[start].isalpha() or _is_small(words[start]):
        return []
    return list(words[start:place])


def _first_noun(text: str) -> list[str]:
    """The first noun with its adjectives: `heat pumps` in "Are heat pumps efficient"."""
    found: list[str] = []
    words = text.split()
    is_state = bool(words) and words[0].casefold() in (
        "is",
        "are",
        "was",
        "were",
    )  # then "work" may be a noun: "Is remote work ..."
    for place, word in enumerate(words):
        bare = word.strip(PUNCTUATION)
        if found and bare in ("of", "the") and "of" in words[place - 1 : place + 1]:
            found.append(bare)  # "price of lithium carbonate"
            continue
        is_other = not bare or _is_small(bare) or (not is_state and stem(bare) in VERBS)
        if is_other and found:
            break
        if not is_other:
            found.append(bare)
        if found and (word.endswith(_ENDS) or (_is_plural(bare) and place + 1 < len(words))):
            break
    while found and found[-1] in ("of", "the"):
        found.pop()
    return found[:-1] if is_state and len(found) > 1 and not _is_plural(found[-1]) else found


def _is_plural(word: str) -> bool:
    return word.endswith("s") and not word.endswith("ss")


def _is_capital(word: str) -> bool:
    bare = word.strip(PUNCTUATION)
    return bare[:1].isalpha() and any(letter.isupper() for letter in bare)


def _is_small(word: str) -> bool:
    """Whether a word means nothing alone. The list of function words holds four languages; some of them mean something in English."""
    folded = word.casefold()
    return folded in EMPTY or (is_function(word) and folded not in MEANT)
