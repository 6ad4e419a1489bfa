"""What a report says it did not find. The writer lists it below `## Not found`; code words it, from nothing but words of the question and
of the approved sections, so that no fact can hide there:

```
## Not found
- The sources do not give the cost of the bridge.        written by the model
- Nothing was found on: cost of the bridge               in the report, if the question asks about the cost of a bridge
```

Such lines are no claims: they cite nothing, and there is nothing to check but their words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from stepwell.words import Word, stem, words

HEADING = "## Not found"
LINE = "- Nothing was found on: "
MOST_TOPICS = 6
_MAX_TOPIC = 160
_NAMES = frozenset(["not found", "nicht gefunden"])
_CITED = re.compile(r"\[[^\[\]\n]{0,80}\]")
_JOINING_WORDS = (
    "a an the of in on at by to from for with and or between der die das den dem des ein eine einer eines von im am an auf bei zu zum zur "
    "aus für mit und oder zwischen"
)
_JOINING = frozenset(_JOINING_WORDS.split())


def split_not_found(text: str) -> tuple[str, list[str]]:
    """A model's text without its section about what was not found, and the lines of that section."""
    kept: list[str] = []
    lines: list[str] = []
    inside = False
    for line in text.split("\n"):
        if line.lstrip().startswith("#"):
            inside = line.strip(" \t#:*_`").casefold() in _NAMES
            if inside:
                continue
        (lines if inside else kept).append(line)
    return "\n".join(kept), [line for line in lines if line.strip()]


def choose_topics(lines: Iterable[str], asked: Iterable[str]) -> tuple[str, ...]:
    """What was not found, in words of `asked`: of each line, its longest run of such words; nothing if it has none."""
    known = {stem(word.text) for text in asked for word in words(text)}
    found = (_longest_run(_CITED.sub(" ", line), known) for line in lines)
    return tuple(dict.fromkeys(topic for topic in found if topic))[:MOST_TOPICS]


def word_topics(topics: Sequence[str]) -> list[str]:
    """The lines of the report, without their heading."""
    return [f"{LINE}{topic}" for topic in topics]


def _longest_run(line: str, known: set[str]) -> str:
    runs: list[list[Word]] = [[]]
    for word in words(line):
        joins = word.text.casefold() in _JOINING
        if not joins and stem(word.text) not in known:
            runs.append([])
        elif runs[-1] and not line[runs[-1][-1].end : word.start].isspace():
            runs.append([word])  # only spaces may stand between two words
        else:
            runs[-1].append(word)
    best = max((_without_joining(run) for run in runs), key=len)
    return line[best[0].start : best[-1].end][:_MAX_TOPIC] if best else ""


def _without_joining(run: list[Word]) -> list[Word]:
    """The run without articles and prepositions at its ends."""
    while run and run[-1].text.casefold() in _JOINING:
        run = run[:-1]
    while run and run[0].text.casefold() in _JOINING:
        run = run[1:]
    return run
