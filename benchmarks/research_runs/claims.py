"""A writer that lies in known shares: of its claims 60 % are true, 30 % unsupported, 10 % contradicted; and it invents addresses.

It is given passages with facts that are known word for word, and says of each claim what it is. Contradicted claims change the
number, the name or the date of a fact. Unsupported ones are of seven kinds; the hardest for a checker without a judge are those
that add a clause to a true sentence. Beside these shares, each report has one true sentence with a word of praise added
(`praised`), which only a judge could mind; it is counted apart.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Label = Literal["true", "unsupported", "contradicted", "praised"]
SHARES: dict[Label, float] = {"true": 0.6, "unsupported": 0.3, "contradicted": 0.1}
INVENTED = "https://invented.example/paper"
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_PRAISE = ("much admired", "legendary", "beautiful", "little-known", "renowned")
_ADDED = (
    "because the owners wanted to impress their neighbours",
    "so that children could learn from it",
    "after lengthy quarrels between two families",
    ", which made the mayor famous",
    "although many experts had advised against it",
    "and inspired several poets",
    ", to the delight of local fishermen",
    "thanks to a generous widow",
    "in honour of a forgotten queen",
    "with a hidden chamber beneath",
    "for reasons nobody remembers",
    "at the request of sailors",
    "to please visiting merchants",
    "despite fierce protests",
    "once the war had ended",
    "under the supervision of monks",
    "as a gift to the nation",
    "unlike any rival",
    "by order of parliament",
    "in spite of heavy losses",
    "using stone from abandoned quarries",
    "following a public vote",
    "if official surveys can be trusted",
    "even during storms",
    "amid growing criticism",
    "since farmers demanded it",
    "rather than copper mines",
    "throughout the famine",
    "despite its age",
    "in the shape of a swan",
    "beside an old mill",
    "with money from lotteries",
    "for the first time in history",
    "to everyone's surprise",
    "on behalf of pilgrims",
    "without any public debate",
    "near a ruined abbey",
    "thereby ending a long feud",
    "against medical advice",
    "in less time than planned",
    "for purely decorative purposes",
    "and nobody objected",
    "so dogs avoid it",
    "given recent droughts",
    "like its Roman predecessor",
    "until robots replaced workers",
    "hence its nickname",
    "as pilots confirm",
)
_MAKERS = ("Brandt Company", "Ellison Trust", "Moreau Workshop", "Nakata Union", "Pereira Office")


@dataclass(frozen=True)
class Known:
    """A fact that a passage holds. `urls` are the pages that state it."""

    kind: Literal["name", "date", "number"]
    subject: str
    value: str
    sentence: str
    urls: tuple[str, ...]
    cite: str
    """How the passage is cited: an evidence id, or a number."""


@dataclass(frozen=True)
class Written:
    """A claim as it was written, without its full stop and its citation."""

    words: str
    label: Label
    kind: str
    cite: str
    urls: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        return asdict(self)


def write_claims(chance: random.Random, known: Sequence[Known], others: Sequence[Known], count: int) -> list[Written]:
    """`count` claims about the facts in hand; `others` are facts of pages that nobody read."""
    facts = list(known)
    chance.shuffle(facts)
    labels: list[Label] = [label for label, share in SHARES.items() for _ in range(round(share * count))]
    chance.shuffle(labels)
    written: list[Written] = []
    for place, label in enumerate(labels):
        claim = _claim(chance, label, facts[place % len(facts)], place, chance.choice(list(others)))
        if not any(claim.words in other.words or other.words in claim.words for other in written):
            written.append(claim)
    praised = facts[-1]
    word = chance.choice(_PRAISE)
    written.append(Written(_full(praised).replace("The ", f"The {word} ", 1), "praised", "praise", praised.cite, praised.urls))
    return written


def report_of(chance: random.Random, claims: Sequence[Written], sources: Sequence[str] = ()) -> str:
    """The claims as a report in Markdown, with addresses strewn in; `sources` for a writer who lists them himself."""
    lines = ["# Report", ""]
    for claim in claims:
        cited = f" [{claim.cite}]" if claim.cite else ""
        invented = f" See [this study]({INVENTED}/{chance.randrange(99)}).{cited}" if chance.random() < 0.2 else ""
        lines += [f"{claim.words}{cited}.{invented}", ""]
    lines += ["## Sources", "", *(f"{number}. {url}" for number, url in enumerate(sources, 1))]
    lines += [f"{len(sources) + 1}. {INVENTED}/{chance.randrange(99)}"]
    return "\n".join(lines)


def _claim(chance: random.Random, label: Label, fact: Known, place: int, other: Known) -> Written:
    if label == "true":
        return Written(_told(chance, fact), label, fact.kind, fact.cite, fact.urls)
    if label == "contradicted":
        return Written(_changed(chance, fact), label, fact.kind, fact.cite)
    kinds = ("invented", "tourists", "elsewhere", "uncited", "no such evidence", "added words", "added detail")
    kind = kinds[place % len(kinds)]
    year, number = chance.randrange(1850, 2020), chance.randrange(100, 9000)
    words = {
        "invented": f"The {fact.subject} was repainted in green by volunteers in {year}",
        "tourists": f"Around {number:,} tourists come to the {fact.subject} each summer",
        "elsewhere": _full(other),
        "uncited": f"{_full(fact)}, as everybody in the region knows",
        "no such evidence": f"{_full(fact)} after all",
        "added words": f"{_full(fact)} {chance.choice(_ADDED)}".replace(" ,", ","),
        "added detail": f"{_full(fact)} and won a medal for it in {year}",
    }[kind]
    cite = {"uncited": "", "no such evidence": "e9999" if fact.cite.startswith("e") else "99"}.get(kind, fact.cite)
    return Written(words, label, kind, cite)


def _full(fact: Known) -> str:
    """The sentence with its subject, without its full stop."""
    return re.sub(r"^It\b", f"The {fact.subject}", fact.sentence).rstrip(".")


def _told(chance: random.Random, fact: Known) -> str:
    """The fact, in its own words or in others."""
    full = _full(fact)
    lower = full[0].lower() + full[1:]
    before = (
        "According to its page,",
        "It is recorded that",
        "As reported,",
        "Records show that",
        "One of the pages says that",
    )
    ways = [
        fact.sentence.rstrip("."),
        full,
        *(f"{words} {lower}" for words in (*before, "To be precise,", "It turns out that")),
    ]
    if fact.kind == "number":
        ways.append(f"{fact.value} is the figure given for the {fact.subject}")
        ways.append(re.sub(r"(\d),(\d)", r"\1\2", full))
    if fact.kind == "date":
        day, month, year = fact.value.split()
        ways.append(full.replace(fact.value, f"{month} {day}, {year}"))
    return chance.choice(ways)


def _changed(chance: random.Random, fact: Known) -> str:
    full = _full(fact)
    if fact.kind == "name":
        return full.replace(fact.value, chance.choice(_MAKERS))
    if fact.kind == "date":
        day, month, year = fact.value.split()
        wrong = [
            f"{int(day) % 28 + 1} {month} {year}",
            f"{day} {chance.choice([other for other in _MONTHS if other != month])} {year}",
            f"{day} {month} {int(year) + chance.choice([-10, -1, 1, 7])}",
        ]
        return full.replace(fact.value, chance.choice(wrong))
    number = int(re.findall(r"[\d,]+", fact.value)[0].replace(",", ""))
    wrong_number = chance.choice([number + 1, number * 10, number + max(2, number // 9), max(1, number // 2)])
    return re.sub(r"\d[\d,]*", f"{wrong_number:,}", full, count=1) if wrong_number != number else f"{full} thousand"
