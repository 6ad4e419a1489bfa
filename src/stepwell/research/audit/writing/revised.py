"""The one revision of a draft: which sentences go back to the writer, how they are shown to it, and what its answer makes of the draft.

```
c2: The bridge is 30 metres long [e3].      a sentence in the request, with its number in the draft
c2: The bridge is 28 metres long [e3].      in the answer: stands in its place
c2: drop                                    in the answer: the sentence is left out
+c2: It is made of oak [e4].                in the answer: stands after the second sentence, if a critic misses something (`lacks.py`)
```

A sentence that the answer does not name stays as it was, and so does every other sentence of the draft. Pure, so that a check of a bundle
can do it again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stepwell.research.audit.evidence import Claim
from stepwell.research.audit.verdicts import RANK
from stepwell.research.audit.writing.draft import Draft, DraftBlock, DraftSentence, read_draft

MOST_REVISED = 20
"""How many sentences go back at most; the first ones of the draft."""
_MOST_FOR_ONE = 3
"""How many sentences may stand in the place of one."""
_DROPPED = frozenset(["drop", "dropped", "remove", "delete", "omit"])
_MOST_ADDED = 5
_NAMED = re.compile(r"[>*_` -]{0,10}(\+?) ?c(\d{1,4})[*_`]{0,4} ?:(.*)", re.IGNORECASE)
_SHOWN = re.compile(r"c(\d{1,4}): (.+)")


@dataclass(frozen=True, slots=True)
class Revision:
    """What the writer answered: sentences by the number of the one they replace. None at all: it is left out."""

    replaced: Mapping[int, tuple[DraftSentence, ...]] = field(default_factory=dict)
    added: Mapping[int, tuple[DraftSentence, ...]] = field(default_factory=dict)
    """New sentences by the number of the one they follow."""
    removed_links: int = 0


@dataclass(frozen=True, slots=True)
class Revised:
    """A draft after its revision. `origins` has the number in the first draft of each sentence; 0 for a new one."""

    draft: Draft
    origins: tuple[int, ...]


def differs(claim: Claim) -> bool:
    """Whether a sentence names evidence, and the evidence does not say it or says something else."""
    return bool(claim.evidence) and RANK[claim.verdict] < RANK["partial"]


def list_differing(claims: Sequence[Claim]) -> list[int]:
    """The numbers, from 1, of the sentences that go back to the writer because they differ."""
    return [number for number, claim in enumerate(claims, 1) if differs(claim)][:MOST_REVISED]


def show_sentence(number: int, claim: Claim) -> str:
    """The line of a sentence in the request."""
    return f"c{number}: {claim.text} [{', '.join(claim.evidence)}]"


def read_shown(asked: str) -> dict[int, str]:
    """The sentences in a request, by number, as `show_sentence` writes them."""
    found = (_SHOWN.fullmatch(line) for line in asked.split("\n"))
    return {int(match[1]): match[0] for match in found if match}


def read_revision(answer: str, allowed: Collection[int], *, adding: bool = False) -> Revision:
    """What an answer makes of the sentences whose numbers are `allowed`, and what it adds if it may; everything else in it is ignored."""
    told: dict[tuple[str, int], str] = {}
    newest: tuple[str, int] | None = None
    for line in answer.split("\n"):
        if match := _NAMED.fullmatch(line.strip()):
            newest, text = (match[1], int(match[2])), match[3].strip(" *_`")
            told[newest] = f"{told[newest]} {text}" if newest in told and match[1] else told.get(newest, text)
        elif newest and line.strip():
            told[newest] += f" {line.strip()}"
    replaced: dict[int, tuple[DraftSentence, ...]] = {}
    added: dict[int, tuple[DraftSentence, ...]] = {}
    links = 0
    for (plus, number), text in told.items():
        is_dropped = text.strip(" .()[]*_`\"'").casefold() in _DROPPED
        if not plus and number in allowed and is_dropped:
            replaced[number] = ()
        elif not is_dropped and (adding if plus else number in allowed):
            read = read_draft(text)
            room = _MOST_ADDED - sum(map(len, added.values())) if plus else _MOST_FOR_ONE
            if said := _sentences(read)[:room]:
                (added if plus else replaced)[number] = said
                links += read.removed_links
    return Revision(replaced, added, links)


def apply_revision(draft: Draft, revision: Revision) -> Revised:
    """The draft with its replaced sentences, each in the place of the old one, and the added ones."""
    blocks: list[DraftBlock] = []
    origins: list[int] = []
    number = 0
    for block in draft.blocks:
        if block.kind == "heading":
            blocks.append(block)
            continue
        said: list[DraftSentence] = []
        for sentence in block.sentences:
            number += 1
            new = revision.replaced.get(number, (sentence,))
            more = revision.added.get(number, ())
            said += [*new, *more]
            origins += [*(number if each == sentence else 0 for each in new), *(0 for _ in more)]
        if said:
            blocks.append(replace(block, sentences=tuple(said)))
    return Revised(Draft(tuple(blocks), draft.removed_links + revision.removed_links), tuple(origins))


def _sentences(draft: Draft) -> tuple[DraftSentence, ...]:
    return tuple(sentence for block in draft.blocks if block.kind != "heading" for sentence in block.sentences)
