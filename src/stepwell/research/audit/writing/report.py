"""Turns claims and their verdicts into a report.

The model has named evidence by id only; code makes the numbers, links and the list of sources from what is stored. A sentence that is
not in its source, or differs from it, is removed; one that is not settled is marked. If none is left, there is no report, only a
statement that the evidence is insufficient. Pure: the same input gives the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stepwell.errors import EvidenceError
from stepwell.research.audit.evidence import HELD, KEPT, Claim, Quote, Source
from stepwell.research.audit.levels import LEVELS, spell_reason
from stepwell.research.audit.verdicts import UNJUDGED
from stepwell.research.audit.writing.draft import Draft, DraftBlock
from stepwell.research.audit.writing.links import strip_links
from stepwell.research.audit.writing.not_found import HEADING as NOT_FOUND_HEADING
from stepwell.research.audit.writing.not_found import word_topics
from stepwell.research.audit.writing.numbers import cited_sources, number_sources
from stepwell.research.audit.writing.references import cited_places, reference_section

_ANY_WORDS = "|".join(words for verdict, words in LEVELS.items() if verdict not in HELD)
ANY_MARK = re.compile(rf" \*\((?:{_ANY_WORDS})(?:: [^()*\n]{{1,120}})?\)\*")
"""What `mark_of` writes, with or without a reason."""
_LONGEST_REASON = 100
_FOUND_BY_CHECKS = ("the source ", "the claim ", "no sentence of the source ", "it shares no word ", UNJUDGED)
_UNSAFE = re.compile(r"[()\[\]*_<>|`#\\]")
INSUFFICIENT = "# Insufficient evidence"
NO_REPORT = "Nothing that was found supports an answer to this question, so there is no report."
SKIPPED_HEADING = "## What was skipped"
QUOTES_NOTE = "> No model wrote this: each sentence is a quote from the source it names; for a written answer, connect a model."
"""The note above a report that no model wrote. A check of a bundle looks for it there, word for word."""
_EARLIER_NOTE = (
    "> **These are quotes, not a written answer.** No model that can write is configured, so nothing here was worded, joined or "
    "concluded by a machine: each sentence stands word for word in the source it names, and was chosen because it is "
    "close to your question. Sources can contradict one another, and a quote can say less, or more, outside its page. "
    "Configure a model (STEPWELL_MODEL) for a written report."
)
QUOTES_NOTES = frozenset({QUOTES_NOTE, _EARLIER_NOTE})
"""The note as reports have had it: stored evidence must hold as long as somebody keeps it."""


@dataclass(frozen=True, slots=True)
class Report:
    """The text, the sources it refers to in order, and what was changed in the draft."""

    text: str
    references: tuple[str, ...] = ()
    is_sufficient: bool = True
    removed_links: int = 0


def write_report(
    draft: Draft,
    claims: Sequence[Claim],
    quotes: Mapping[str, Quote],
    sources: Mapping[str, Source],
    *,
    skipped: Sequence[str] = (),
    not_found: Sequence[str] = (),
    earlier: Sequence[str] = (),
) -> Report:
    """The report of a draft, given a verdict for each of its claims. `not_found`: topics from `not_found.choose_topics`.
    `earlier`: sources whose numbers come first (`numbers.order_earlier`)."""
    _check_judged(draft, claims)
    if not any(claim.verdict in KEPT for claim in claims):
        return Report(insufficient_evidence(skipped), (), False, draft.removed_links)
    shown = [claim for claim in claims if claim.verdict in KEPT]
    numbers = number_sources(shown, quotes, sources, earlier)
    pages, left = [], list(claims)
    for block in draft.blocks:
        count = 0 if block.kind == "heading" else len(block.sentences)
        own, left = left[:count], left[count:]
        kept = [claim for claim in own if claim.verdict in KEPT]
        pages.append((block, [write_sentence(claim, quotes, sources, numbers) for claim in kept]))
    parts = [
        *_body(pages),
        *([NOT_FOUND_HEADING, "\n".join(word_topics(not_found))] if not_found else []),
        *note_left_out(claims),
        *_list_skipped(skipped),
        reference_section(
            [sources[each] for each in numbers],
            cited_places((quotes[each] for claim in shown for each in claim.evidence if each in quotes), sources),
        ),
    ]
    return Report("\n\n".join(parts) + "\n", tuple(numbers), True, draft.removed_links)


def insufficient_evidence(skipped: Sequence[str] = ()) -> str:
    """The text that replaces a report when no evidence was found for one."""
    return "\n\n".join([INSUFFICIENT, NO_REPORT, *_list_skipped(skipped)]) + "\n"


def _check_judged(draft: Draft, claims: Sequence[Claim]) -> None:
    stated = [(claim.text, claim.evidence) for claim in draft.claims()]
    if stated != [(claim.text, claim.evidence) for claim in claims]:
        raise EvidenceError(
            "The claims are not those of the draft. Judge draft.claims(), in their order, and change only verdicts."
        )


def write_sentence(claim: Claim, quotes: Mapping[str, Quote], sources: Mapping[str, Source], numbers: Mapping[str, int]) -> str:
    """The sentence with its numbered references; `numbers` has every source that it cites."""
    here = sorted({numbers[source] for source in cited_sources(claim, quotes, sources)})
    references = f" [{', '.join(map(str, here))}]" if here else ""
    words = claim.text.rstrip(".!?…")
    mark = claim.text[len(words) :] or ("" if words.endswith((":", ";", ",")) else ".")
    return f"{words}{references}{mark}{mark_of(claim)}"


def stands_in(claim: Claim, report: str) -> bool:
    """Whether the claim is in the report, which puts references before a sentence's final punctuation."""
    return claim.text.rstrip(".!?…") in report


def mark_of(claim: Claim) -> str:
    """The mark after a sentence that is not supported: its level, and in a few words what is missing or differs. It names only what the
    checks have found, because a model that judges words its reasons freely, and those stay out of the report.
    """
    if claim.verdict in HELD:
        return ""
    found = next((reason for reason in claim.reasons if reason.startswith(_FOUND_BY_CHECKS)), "")
    told = " ".join(_UNSAFE.sub("", strip_links(spell_reason(found)).text).split())
    if len(told) > _LONGEST_REASON:
        told = told[: _LONGEST_REASON - 1].rsplit(" ", 1)[0] + "…"
    return f" *({LEVELS[claim.verdict]}{f': {told}' if told else ''})*"


def _body(pages: Sequence[tuple[DraftBlock, list[str]]]) -> list[str]:
    """The blocks that still have sentences. Drops a heading with nothing under it; list items stay together."""
    parts: list[str] = []
    waiting: list[DraftBlock] = []
    previous = ""
    for block, sentences in pages:
        if block.kind == "heading":
            waiting = [other for other in waiting if other.level < block.level] + [block]
        elif sentences:
            parts += [f"{'#' * heading.level} {heading.sentences[0].text}" for heading in waiting]
            text = " ".join(sentences)
            if block.kind == "item" and previous == "item" and not waiting:
                parts[-1] += f"\n- {text}"
            else:
                parts.append(f"- {text}" if block.kind == "item" else text)
            waiting, previous = [], block.kind
    return parts


def note_left_out(claims: Sequence[Claim]) -> list[str]:
    gone = sum(claim.verdict not in KEPT for claim in claims)
    if not gone:
        return []
    many = f"{gone} sentences were" if gone > 1 else "One sentence was"
    return [f"*{many} left out because the evidence does not support what was said.*"]


def _list_skipped(skipped: Sequence[str]) -> list[str]:
    if not skipped:
        return []
    lines = dict.fromkeys(map(word_skipped, skipped))  # each once
    return [SKIPPED_HEADING, "\n".join(f"- {line}" for line in lines)]


def word_skipped(sentence: str) -> str:
    """What was skipped, as a line of the report."""
    return " ".join(strip_links(sentence).text.split())
