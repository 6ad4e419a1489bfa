"""The pages of the offline world and the facts on them. Generated from a seed: the same world each time, all of it invented.

Each page is about one thing (a bridge, a comet ...) and states a name, a date and two numbers in sentences that `facts` lists word for
word. Some pages of each topic repeat a fact of another page in other words, so that a claim can have two sources.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from stepwell.clock import MONTHS

PAGES_PER_TOPIC = 30
_MAKERS = (
    "Kessel Works",
    "Oduya Institute",
    "Vint Office",
    "Halloran Society",
    "Sorensen Yard",
    "Lund Bureau",
    "Amsel House",
    "Castellan Guild",
)
_STEMS = ("Var", "Lor", "Mesk", "Tal", "Orin", "Quell", "Drav", "Sel", "Ister", "Bel", "Kar", "Non", "Phel", "Rusk", "Umber")
_ENDS = ("dal", "mouth", "stead", "holm", "vik", "garth", "ford", "moor")


@dataclass(frozen=True)
class _Topic:
    name: str
    thing: str
    by: str
    on: str
    first: tuple[str, int, int, str]
    second: tuple[str, int, int, str]
    talk: tuple[str, str]


_TOPICS = (
    _Topic("bridges", "bridge", "was designed by", "was opened on",
           ("is", 120, 2400, "metres long"), ("cost", 800, 90000, "thousand crowns to build"),
           ("Its cables were replaced twice.", "It carries a road and a tramway over the estuary.")),
    _Topic("comets", "comet", "was discovered by", "was first seen on",
           ("returns every", 6, 140, "years"), ("has a nucleus", 2, 60, "kilometres wide"),
           ("Its tail is blue in photographs.", "Observers in both hemispheres followed it.")),
    _Topic("batteries", "battery plant", "is led by", "started production on",
           ("employs", 90, 7000, "people"), ("makes", 2, 80, "gigawatt hours of cells a year"),
           ("It uses sodium instead of lithium.", "The heat of the ovens warms the town.")),
    _Topic("orchards", "orchard", "was planted by", "was founded on",
           ("covers", 12, 900, "hectares"), ("yields", 40, 8000, "tonnes of apples a year"),
           ("Bees are brought in every spring.", "Old varieties are kept in a corner of it.")),
    _Topic("glaciers", "glacier", "was surveyed by", "was mapped on",
           ("is", 3, 80, "kilometres long"), ("retreats by", 4, 200, "metres a year"),
           ("A lake has formed at its foot.", "Its ice is used to study old air.")),
    _Topic("libraries", "library", "is headed by", "opened its doors on",
           ("holds", 9000, 900000, "volumes"), ("receives", 2000, 300000, "visitors a year"),
           ("The reading room is under a glass dome.", "Maps are kept in the cellar.")),
    _Topic("ferries", "ferry line", "is run by", "began service on",
           ("carries", 3000, 600000, "passengers a year"), ("crosses", 2, 70, "kilometres of open water"),
           ("Bicycles travel free.", "In winter the boats go only by day.")),
    _Topic("observatories", "observatory", "was built by", "saw first light on",
           ("has a mirror of", 40, 900, "centimetres"), ("stands at", 300, 4900, "metres above the sea"),
           ("Nights there are clear for most of the year.", "Students may use it on Sundays.")),
)  # fmt: skip
TOPICS = tuple(topic.name for topic in _TOPICS)


@dataclass(frozen=True)
class Fact:
    """One sentence of a page, and its checkable value."""

    kind: Literal["name", "date", "number"]
    subject: str
    value: str
    """The value as it is written in the sentence: `Kessel Works`, `12 March 1931`, `2,400 metres`."""
    sentence: str
    url: str


@dataclass(frozen=True)
class WorldPage:
    """A page of the world."""

    url: str
    topic: str
    subject: str
    """For example `Vardal bridge`; apart from digests, no two pages have the same subject."""
    title: str
    paragraphs: tuple[str, ...]
    facts: tuple[Fact, ...]
    form: Literal["html", "pdf", "text"] = "html"

    @property
    def text(self) -> str:
        return "\n\n".join(self.paragraphs)


def world_pages(seed: int = 7, pages_per_topic: int = PAGES_PER_TOPIC) -> tuple[WorldPage, ...]:
    """All pages: eight topics, each on its own host, and for every sixth page a digest that repeats a fact on another host."""
    rng = random.Random(seed)
    names = [stem + end for stem in _STEMS for end in _ENDS]
    pages: list[WorldPage] = []
    for topic in _TOPICS:
        places = rng.sample(names, pages_per_topic)
        own = [_page(rng, topic, place, number) for number, place in enumerate(places)]
        pages += own
        pages += [_digest(page) for page in own[::6]]
    return tuple(pages)


def _page(rng: random.Random, topic: _Topic, place: str, number: int) -> WorldPage:
    form: Literal["html", "pdf", "text"] = "pdf" if number % 10 == 7 else "text" if number % 10 == 8 else "html"
    ending = {"pdf": ".pdf", "text": ".txt", "html": ""}[form]
    url = f"https://{topic.name}.example/{place.lower()}{ending}"
    subject = f"{place} {topic.thing}"
    date = f"{rng.randint(1, 28)} {rng.choice(MONTHS)} {rng.randint(1880, 2020)}"
    person = rng.choice(_MAKERS)
    facts = [
        Fact("name", subject, person, f"The {subject} {topic.by} {person}.", url),
        Fact("date", subject, date, f"It {topic.on} {date}.", url),
    ]
    for verb, low, high, unit in (topic.first, topic.second):
        value = f"{rng.randint(low, high):,} {unit}"
        facts.append(Fact("number", subject, value, f"The {subject} {verb} {value}.", url))
    paragraphs = (
        f"{facts[0].sentence} {facts[1].sentence} {topic.talk[0]}",
        f"{facts[2].sentence} {topic.talk[1]}",
        f"{facts[3].sentence} People of {place} are fond of it, and tell visitors so.",
    )
    return WorldPage(url, topic.name, subject, f"The {subject}", paragraphs, tuple(facts), form)


def _digest(page: WorldPage) -> WorldPage:
    """Another publisher's page about the same thing, which repeats one number of the original page."""
    number = page.facts[2]
    url = f"https://digest.example/{page.topic}/{page.url.rsplit('/', 1)[1].split('.')[0]}"
    sentence = f"According to its keepers, the {page.subject} has one figure to remember: {number.value}."
    fact = Fact("number", page.subject, number.value, sentence, url)
    text = (
        f"{sentence} This digest collects such figures about {page.topic}.",
        "It is edited by volunteers and has no advertisements.",
    )
    return WorldPage(url, page.topic, page.subject, f"Figures: {page.subject}", text, (fact,))
