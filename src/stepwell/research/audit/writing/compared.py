"""Compares a finished report with its claims, sentence by sentence: expects exactly what `report.py` and `marked.py` write, and allows
nothing else. Headings may say anything that is not a statement.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stepwell.research.audit.evidence import KEPT, Claim, Quote, Source
from stepwell.research.audit.writing.draft import states_something
from stepwell.research.audit.writing.marked import add_marks, sentences, strip_marks
from stepwell.research.audit.writing.not_found import HEADING as NOT_FOUND_HEADING
from stepwell.research.audit.writing.not_found import word_topics
from stepwell.research.audit.writing.numbers import number_sources
from stepwell.research.audit.writing.references import SOURCES_HEADING, cited_places, reference_section
from stepwell.research.audit.writing.report import (
    INSUFFICIENT,
    NO_REPORT,
    QUOTES_NOTES,
    SKIPPED_HEADING,
    note_left_out,
    write_sentence,
)

_HEADING = re.compile(r"#{1,6} (.*)")


@dataclass(frozen=True)
class _Expected:
    """What a report must say besides its claims."""

    skipped: Collection[str]
    not_found: Sequence[str]
    outline: Sequence[str]
    earlier: Sequence[str]


def compare_numbered(
    report: str,
    claims: Sequence[Claim],
    quotes: Mapping[str, Quote],
    sources: Mapping[str, Source],
    skipped: Collection[str],
    *,
    of_quotes: bool,
    not_found: Sequence[str] = (),
    outline: Sequence[str] = (),
    earlier: Sequence[str] = (),
) -> list[str]:
    """What is wrong with a report with numbered sources, as sentences. `skipped` are the lines about skipped things that the trail allows
    in it. A report made of quotes says so at the top, and no other report does. `not_found` is what the report must say it did not find;
    `outline` are the only headings that it may have, if there are any.

    Sources may be numbered after `earlier` ones or not, as older versions did.
    """
    if sum(line in QUOTES_NOTES for line in report.split("\n")) != (
        of_quotes and any(claim.verdict in KEPT for claim in claims)
    ):
        return [
            "does not say that it is made of quotes" if of_quotes else "says that it is made of quotes, and a model wrote it"
        ]
    orders = [earlier, ()] if earlier else [()]
    expected = [_Expected(skipped, word_topics(not_found), () if of_quotes else outline, order) for order in orders]
    found = [list(_compare(report, claims, quotes, sources, each)) for each in expected]
    return [] if [] in found else found[0]


def _compare(
    report: str,
    claims: Sequence[Claim],
    quotes: Mapping[str, Quote],
    sources: Mapping[str, Source],
    expected: _Expected,
) -> Iterator[str]:
    main, left, listed = _cut(report)
    for line in left:
        if not line.startswith("- ") or line[2:] not in expected.skipped:
            yield f"says that something was skipped of which the trail knows nothing: '{line[:80]}'"
    if not any(claim.verdict in KEPT for claim in claims):
        if main.strip() != f"{INSUFFICIENT}\n\n{NO_REPORT}" or listed:
            yield "says something, and no claim of its trail holds"
        return
    lines = [line for line in main.split("\n") if line.strip() and line not in QUOTES_NOTES]
    headings = [match for line in lines if (match := _HEADING.fullmatch(line))]
    for heading in headings:
        if states_something(heading[1]):
            yield f"has a heading that states something: '{heading[1][:80]}'"
        elif expected.outline and heading[0] != NOT_FOUND_HEADING and heading[1] not in expected.outline:
            yield f"has a heading that the approved plan does not have: '{heading[1][:80]}'"
    for topic in expected.not_found:
        if lines.count(topic) != 1:
            yield f"does not say once what was not found: '{topic[:80]}'"
        lines = [line for line in lines if line != topic]
    for note in note_left_out(claims):
        if lines.count(note) != 1:
            yield "does not say once how many sentences were left out"
        lines = [line for line in lines if line != note]
    shown = [claim for claim in claims if claim.verdict in KEPT]
    numbers = number_sources(shown, quotes, sources, expected.earlier)
    written = [(claim, write_sentence(claim, quotes, sources, numbers)) for claim in shown]
    yield from _follow([line for line in lines if not _HEADING.fullmatch(line)], written)
    places = cited_places((quotes[each] for claim in shown for each in claim.evidence if each in quotes), sources)
    references = reference_section([sources[each] for each in numbers], places)
    if listed.strip() != references.removeprefix(SOURCES_HEADING).strip():
        yield "does not list the sources of its claims in their order"


def _cut(report: str) -> tuple[str, list[str], str]:
    """The body, the lines about what was skipped, and the list of sources. No model can write the headings of the last two."""
    main, heading, listed = report.rpartition(f"\n{SOURCES_HEADING}\n")
    main, listed = (main, listed) if heading else (report, "")
    main, _, left = main.partition(f"\n{SKIPPED_HEADING}\n")
    return main, [line for line in left.split("\n") if line.strip()], listed


def _follow(lines: Sequence[str], written: Sequence[tuple[Claim, str]]) -> Iterator[str]:
    """Goes through the text claim by claim; yields the first difference."""
    at = 0
    for line in lines:
        place = 2 if line.startswith("- ") else 0
        while place < len(line):
            if at == len(written):
                yield f"says '{line[place : place + 80]}', which is no claim of its trail"
                return
            claim, sentence = written[at]
            end = place + len(sentence)
            if not line.startswith(sentence, place) or line[end : end + 1] not in ("", " "):
                yield f"says '{line[place : place + 80]}' where its trail has claim {claim.claim_id}: '{sentence[:80]}'"
                return
            at, place = at + 1, end
            while line[place : place + 1] == " ":
                place += 1
    if at < len(written):
        yield f"leaves out claim {written[at][0].claim_id}: '{written[at][1][:80]}'"


def compare_marked(report: str, claims: Sequence[Claim]) -> list[str]:
    """What is wrong with a report of deep research, which marks its sentences; each problem is a sentence."""
    bare = strip_marks(report)
    stated = sentences(bare)
    for sentence, claim in zip(stated, claims, strict=False):
        if sentence.words != claim.text:
            return [f"says '{sentence.words[:80]}' where its trail has claim {claim.claim_id}: '{claim.text[:80]}'"]
    if len(stated) > len(claims):
        return [f"says '{stated[len(claims)].words[:80]}', which is no claim of its trail"]
    if len(stated) < len(claims):
        return [f"leaves out claim {claims[len(stated)].claim_id}: '{claims[len(stated)].text[:80]}'"]
    if add_marks(bare, list(zip(stated, claims, strict=True))) != report:
        return ["does not mark its sentences as their claims are judged"]
    return []
