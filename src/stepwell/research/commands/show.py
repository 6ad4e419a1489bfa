"""`stepwell show`: where the sentences of a report stand in their sources. With a sentence, its quotes word for word, each in the text
around it; without one, a list of all sentences with the cell, slide, page or message of each.

The bundle is verified first: what is shown as a quote stands in the stored text of its source, at this place.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from stepwell.clock import spell_time
from stepwell.errors import InvalidRequestError
from stepwell.research.audit.bundle import BundleReader
from stepwell.research.audit.evidence import HELD, Claim, Quote, Source
from stepwell.research.audit.export import require_valid
from stepwell.research.audit.export.dossier import Dossier, read_dossier
from stepwell.research.audit.export.wording import judge_lines, source_title
from stepwell.research.audit.levels import describe_meaning, name_level, spell_reason
from stepwell.research.audit.writing.references import address
from stepwell.research.audit.writing.report import ANY_MARK, stands_in
from stepwell.research.commands.bundles import find_bundle
from stepwell.settings import Settings
from stepwell.terminal.own_command import spell_command
from stepwell.terminal.passages import PassageWriter

AROUND_CHARS, AROUND_LINES = 300, 3
"""How much of a source is shown before and after a quote, at most."""
_REFERENCE = re.compile(r" ?\[s?\d{1,6}(?:, s?\d{1,6})*\](?:\([^()\s]*\))?")


@dataclass(frozen=True)
class _Shown:
    """A verified bundle, and the command that shows it."""

    bundle: Path
    dossier: Dossier
    command: str

    @property
    def claims(self) -> list[Claim]:
        return self.dossier.claims


def run(
    what: str,
    sentence: str = "",
    *,
    url: str | None = None,
    settings: Settings | None = None,
    screen: TextIO | None = None,
) -> int:
    """`what` is a bundle or a thread (`find_bundle`); `sentence` is a number of the list, or words of the sentence."""
    settings = settings or Settings.load()
    to = PassageWriter(screen or sys.stdout, colours=not settings.no_color)
    with find_bundle(what, url, settings) as bundle:
        dossier = read_dossier(bundle, require_valid(bundle, "shown"))
        server = f"--url {shlex.quote(url)} " if url else ""
        shown = _Shown(bundle, dossier, spell_command(f"show {server}{shlex.quote(what)}"))
        chosen = choose_sentences(shown.claims, sentence) if sentence.strip() else []
        if sentence.strip() and not chosen:
            raise InvalidRequestError(_explain_no_match(shown, sentence.strip()))
        if len(chosen) == 1:
            _show_sentence(to, shown, chosen[0])
        else:
            _list_sentences(to, shown, chosen)
    return 0


def choose_sentences(claims: Sequence[Claim], asked: str) -> list[int]:
    """The numbers of the sentences that are meant, counted from 1: the one with this number, else those that contain these words
    together, else those that contain each of them. References and marks that a report adds to its sentences are ignored. A number that
    no sentence has may be a year that is mentioned."""
    if asked.isascii() and asked.isdecimal():
        if len(asked) < 10 and 1 <= int(asked) <= len(claims):
            return [int(asked)]
        return [number for number, claim in enumerate(claims, 1) if asked in re.findall(r"\d+", claim.text)]
    texts = [_fold(claim.text) for claim in claims]
    for wanted in dict.fromkeys((_fold(asked), _fold(_REFERENCE.sub("", ANY_MARK.sub("", asked)).removeprefix("- ")))):
        for words in ([wanted], wanted.split()):
            found = [number for number, text in enumerate(texts, 1) if words and all(word and word in text for word in words)]
            if found:
                return found
    return []


def text_around(text: str, start: int, end: int) -> tuple[str, str]:
    """What stands just before and just after a quote; an ellipsis shows that the source has more there."""
    before, after = text[:start].rstrip(), text[end:].lstrip()
    ahead, behind = before[-AROUND_CHARS:], after[:AROUND_CHARS]
    if len(ahead) < len(before):  # begin with a whole word
        ahead = ahead.partition(" ")[2] or ahead
    if len(behind) < len(after):
        behind = behind.rpartition(" ")[0] or behind
    ahead, behind = "\n".join(ahead.split("\n")[-AROUND_LINES:]), "\n".join(behind.split("\n")[:AROUND_LINES]).rstrip()
    return f"…{ahead}" if len(ahead) < len(before) else ahead, f"{behind}…" if len(behind) < len(after.rstrip()) else behind


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


def _explain_no_match(shown: _Shown, asked: str) -> str:
    many = len(shown.claims)
    if not many:
        return f"The report has no sentences to show. Read it with: {spell_command(f'export {shown.bundle}')}"
    has = "The report has one sentence." if many == 1 else f"The report has {many} sentences."
    said = f"There is no sentence {asked}." if asked.isdecimal() else f"No sentence contains '{asked[:200]}'."
    return f"{said} {has} See the list: {shown.command}"


def _list_sentences(to: PassageWriter, shown: _Shown, chosen: Sequence[int]) -> None:
    """All sentences, or the chosen ones."""
    to.write(shown.dossier.question, style="bold")
    to.write()
    if not shown.claims:
        to.write("The report has no sentences: nothing that was found supports an answer.")
        return
    if chosen:
        to.write(f"{len(chosen)} sentences match:")
    numbers = chosen or range(1, len(shown.claims) + 1)
    width = len(str(len(shown.claims)))
    for number in numbers:
        claim = shown.claims[number - 1]
        lead = f"{number:>{width}}. "
        to.write(claim.text, lead=lead)
        level = () if claim.verdict in HELD else _level(shown.dossier, claim, claim.reasons[:1])
        for line in [*_places(shown.dossier, claim), *level]:
            to.write(line, lead=" " * len(lead), style="dim")
    to.write()
    for line in judge_lines(shown.dossier):
        to.write(line, style="dim")
    to.write(f"Look at one: {shown.command} {numbers[0]}")


def _places(dossier: Dossier, claim: Claim) -> list[str]:
    """The places of a sentence's quotes, each once: `sales.xlsx, sheet Sales, A5:F5`."""
    return list(dict.fromkeys(_place(quote, source) for quote, source in dossier.cited(claim))) or ["no source"]


def _place(quote: Quote, source: Source) -> str:
    place = source.place_at(quote.start, quote.end)
    return " ".join(f"{source_title(source)}{f', {place}' if place else ''}".split())


def _level(dossier: Dossier, claim: Claim, reasons: Sequence[str]) -> Iterator[str]:
    """The level of a sentence, and why it is not higher."""
    out = "" if stands_in(claim, dossier.report) else ", so left out of the report"
    yield f"{name_level(claim.verdict)}{out}{': ' if reasons else ''}{'; '.join(map(spell_reason, reasons))}"


def _show_sentence(to: PassageWriter, shown: _Shown, number: int) -> None:
    claim = shown.claims[number - 1]
    lead = f"{number}. "
    to.write(claim.text, lead=lead, style="bold")
    for line in [*_level(shown.dossier, claim, claim.reasons), describe_meaning(claim.verdict)]:
        to.write(line, lead=" " * len(lead))
    cited = shown.dossier.cited(claim)
    if not cited:
        to.write("It cites no source.", lead=" " * len(lead))
    with BundleReader(shown.bundle) as reader:
        for quote, source in cited:
            to.write()
            _show_quote(to, quote, source, reader.body(source.text_sha256).decode())


def _show_quote(to: PassageWriter, quote: Quote, source: Source, text: str) -> None:
    before, after = text_around(text, quote.start, quote.end)
    to.write(_place(quote, source), style="bold")
    if before:
        to.write(before, lead="  | ", indent="  | ", style="dim")
    to.write(quote.text, lead="  > ", indent="  > ")
    if after:
        to.write(after, lead="  | ", indent="  | ", style="dim")
    for line in _facts(quote, source):
        to.write(line, lead="  ")


def _facts(quote: Quote, source: Source) -> Iterator[str]:
    """Where a quote comes from. Of a file on the device only the chosen passages are stored: they have a hash, not the file."""
    read, has_file = f"read {spell_time(source.fetched_at)}", source.kind == "device"
    yield address(source) or f"{source_title(source)}, from your device"
    yield read if has_file else f"{read}; characters {quote.start} to {quote.end} of its text"
    yield f"sha256 {'of the passages used ' if has_file else ''}{source.bytes_sha256}"
