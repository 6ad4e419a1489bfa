"""Makes search queries from a question alone, for when no model can plan. Follows rules, so the same question gives the same queries.

```
the question              -> its content words
"A vs B", "A and B"       -> A, B, and for a comparison both together
any question              -> one search for counter-evidence, last
```

Nothing that looks like personal data or a secret goes into a query or an address, whatever the question contains.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from stepwell.research.audit.facts.words import is_function, words
from stepwell.secrets.text import without_keys

LONGEST_INPUT = 500
"""The most characters of a query or an address."""
MOST_QUERIES = 4
_MAX_WORDS = 12

_AGAINST = {"en": "criticism limitations", "de": "Kritik Grenzen", "fr": "critiques limites", "es": "críticas límites"}
_BOTH = {"en": "comparison", "de": "Vergleich", "fr": "comparaison", "es": "comparación"}
_SPOKEN = {
    "de": "der die das und ist sind wie was warum welche wer wann ein eine für mit nicht",
    "fr": "le les des du est sont quel quelle comment pourquoi qui une pour avec dans et",
    "es": "el los las es son qué cuál cómo por quién una para con del y",
}
_ASKING = (
    "please tell me explain describe know like want wonder wondering give show help find research summarise summarize overview "
    "how why how's what's who's is there any anything something thing things question answer information info "
    "bitte erkläre erklären sage sag mir was wie warum wer wann wo welche welcher welches gibt "
    "quel quelle quels quelles comment pourquoi quand où qui expliquez "
    "qué cuál cuáles cómo cuándo dónde quién explique"
)
_FILLER = frozenset(_ASKING.split())
_PUNCTUATION = " \t.,;:!?¿¡…()[]{}<>\"'“”„‘’«»"

_PRIVATE = re.compile(
    r"(?<![\w.%+-])[\w.%+-]+@[\w-]+\.[\w.-]+"  # e-mail
    r"|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b"  # IBAN
    r"|\b\d{3}-\d{2}-\d{4}\b"  # social security number
)
_NUMBER_IN_GROUPS = re.compile(r"(?<![\w.,])\+?\(?\d[\d ()/-]{5,28}\d(?![\w])")
_CALLED_FROM, _CALLED_ABROAD_FROM = 9, 7
"""From how many digits on a number counts as a telephone or card number; after a `+`, fewer suffice. Years and dates have at most eight."""
_VERSUS = re.compile(
    r"(?<!\s)\s+(?:vs\.?|versus|compare[sd]? (?:to|with|against)|better than|worse than|gegenüber|verglichen mit)\s+",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r"\b(?:differences? between|compare|comparison (?:of|between)|choose between|unterschied zwischen|vergleiche?)\s+"
    r"(\S.{0,299}?)\s+(?:and|with|to|or|und|mit)\s+(.+)",
    re.IGNORECASE,
)
_JOINT = re.compile(r"(?:(?<!\s)\s+)?[;?]\s*|(?:,|(?<!\s))\s+(?:and|as well as|und|sowie|et|y)\s+", re.IGNORECASE)


def make_queries(question: str) -> Iterator[tuple[str, str]]:
    """Queries with reasons, without duplicates; the one for counter-evidence comes last."""
    if not any(character.isalnum() for character in question):
        return
    language = _language(question)
    whole = _pick_telling_words(_find_asking_sentence(question)) or _cut(question.strip(_PUNCTUATION))
    pair = _find_compared(question)
    subject = " ".join(pair) if pair else whole
    rows = [(whole, "What the question asks, in its telling words.")]
    if pair:
        rows = [(each, f"About '{each}' alone.") for each in (_with_context(*pair), pair[1])]
        rows.insert(0, (_cut(f"{subject} {_BOTH[language]}"), "Both side by side."))
    else:
        rows += [(part, "A part of the question that stands alone.") for part in _parts(question)]
    against = (_cut(f"{_cut(subject, _MAX_WORDS - 2)} {_AGAINST[language]}"), "What speaks against it, and where it ends.")
    seen: set[frozenset[str]] = set()
    for text, why in [*rows[: MOST_QUERIES - 1], against]:
        key = frozenset(text.casefold().split())
        if key and key not in seen:
            seen.add(key)
            yield text, why


def _find_asking_sentence(question: str) -> str:
    """In a long text, the sentence that asks; a short text is returned whole."""
    if len(question.split()) <= 2 * _MAX_WORDS:
        return question
    asking = re.findall(r"(?<![^.!?])[^.!?]+\?", question)
    return str(asking[-1]) if asking else question


def _pick_telling_words(text: str) -> str:
    """The words a search engine can use, in order."""
    bare = (word.strip(_PUNCTUATION) for word in text.split())  # split at spaces, because `HTTP/2` and `C++` are words here
    return _cut(" ".join(word for word in bare if word and not is_function(word) and word.casefold() not in _FILLER))


def _find_compared(question: str) -> tuple[str, str] | None:
    bare = question.strip(" ?.!")
    match = _BETWEEN.search(bare)
    sides = match.groups() if match else _VERSUS.split(bare, maxsplit=1)
    if len(sides) != 2:
        return None
    one, other = (_pick_telling_words(side) for side in sides)
    if not one or not other or one.casefold() == other.casefold():
        return None
    return one, other


def _with_context(one: str, other: str) -> str:
    """The first name with the words after the second, which belong to both: `sodium` in "sodium vs lithium batteries grid"."""
    first, tail = one.split(), other.split()[1:]
    return _cut(" ".join([*first, *tail])) if len(first) == 1 else one


def _parts(question: str) -> list[str]:
    parts = [_pick_telling_words(part) for part in _JOINT.split(question) if part]
    standing = [part for part in parts if len(part.split()) >= 2]
    return standing if len(standing) >= 2 else []


def _cut(text: str, most: int = _MAX_WORDS) -> str:
    return " ".join(text.split()[:most])[:LONGEST_INPUT].strip()


def _language(question: str) -> str:
    spoken = {word.text.casefold() for word in words(question)}
    counts = {language: len(spoken.intersection(common.split())) for language, common in _SPOKEN.items()}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] >= 2 else "en"


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
