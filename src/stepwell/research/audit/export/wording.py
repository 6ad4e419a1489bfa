"""The wording that all formats share, so that they say the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from stepwell.clock import spell_time
from stepwell.research.audit.evidence import Quote, Source
from stepwell.research.audit.export.dossier import EXTRACTIVE, Dossier, clean
from stepwell.research.audit.levels import LEVELS, describe_method, legend
from stepwell.research.audit.trail import Entry

LEVELS_NOTE = describe_method()
LEFT_OUT = "Sentences that differ from their source, or are not in it, were left out of the report or marked in it."
HOW_TO_CHECK = (
    "Every quote stands word for word in the stored text of its source, at the place given. "
    "The command stepwell verify checks that, and everything else here, on the bundle that this document was made from."
)


WRITTEN_NOTE = (
    "A model wrote this report. A program compared every sentence with the quotes that it cites, and marked or left out what they do not "
    "bear out; whether the sources are right, it cannot tell."
)


DEMO_NOTE = (
    "This is a demo. Its pages were made for it, a script wrote the report, and nothing left the machine: the requests were answered "
    "inside the server."
)
SCRIPTED_NOTE = (
    "The script has mistakes in it. A program compared every sentence with the quotes that it cites, and marked or left out what they do "
    "not bear out, as it does with a report that a model wrote."
)
DEMO_SOURCE = "A page made for a demo; it is on no network"


def title_of(dossier: Dossier) -> str:
    return dossier.question or "Research report"


def about(dossier: Dossier) -> list[str]:
    """The lines under the title."""
    written = [] if dossier.mode == EXTRACTIVE else [WRITTEN_NOTE]  # a report of quotes has its note
    written += judge_lines(dossier)
    lines = [
        *([DEMO_NOTE, SCRIPTED_NOTE] if dossier.is_demo else written),
        f"Asked {spell_time(dossier.asked_at)}. Trail {dossier.head}.",
    ]
    lines += dossier.checked
    return [*lines, elsewhere_line(len(dossier.elsewhere))] if dossier.elsewhere else lines


def judge_lines(dossier: Dossier) -> list[str]:
    """Which model judged, and how well it judges; nothing for a demo, whose judge is a script."""
    return [dossier.judge.describe()] if dossier.judge and not dossier.is_demo else []


def elsewhere_line(count: int) -> str:
    return f"The trail also holds {_many(count, 'entry', 'entries')} of other branches of the thread; this report does not rest on them."


def count_of_verdicts(dossier: Dossier) -> str:
    count = Counter(claim.verdict for claim in dossier.claims)
    return ", ".join(f"{count[verdict]} {words}" for verdict, words in LEVELS.items() if count[verdict])


def levels_of(dossier: Dossier) -> list[tuple[str, str]]:
    """The levels that the report has, each with how many of 100 such sentences are true; `LEVELS_NOTE` says what that means."""
    return legend({claim.verdict for claim in dossier.claims})


def quote_place(quote: Quote, source: Source) -> str:
    return f"{quote.quote_id} · {source.source_id}, {place_in_text(quote, source)}"


def place_in_text(quote: Quote, source: Source) -> str:
    """`page 4, characters 120 to 180`: with the part if the document has parts."""
    place = clean(source.place_at(quote.start, quote.end))
    return f"{f'{place}, ' if place else ''}characters {quote.start} to {quote.end}"


def source_title(source: Source) -> str:
    return clean(source.title) or source.final_url or source.url or source.source_id


def source_facts(source: Source, dossier: Dossier) -> list[tuple[str, str]]:
    """What is known about a source's origin, as pairs of name and value."""
    facts = [
        ("read", spell_time(source.fetched_at)),
        ("sha256", source.bytes_sha256),
        ("text sha256", source.text_sha256),
        ("type", clean(source.media_type)),
        ("status", str(source.status) if source.status else ""),
        ("found by", "the demo's own search" if dossier.is_demo and source.engine else source.engine or ""),
        ("robots.txt", source.robots if source.robots != "n/a" else ""),
    ]
    return [(name, value) for name, value in facts if value]


def step_line(step: dict[str, Any]) -> str:
    done = f": {step['output']}" if step.get("output") else ""
    return clean(f"{step.get('tool', '')} “{step.get('input', '')}”{done}")


def approval_line(entry: Entry) -> str:
    decision = str(entry.data.get("decision", ""))
    reason = str(entry.data.get("reason") or "")
    return clean(f"{spell_time(entry.at)}: {decision}{f', {reason}' if reason else ''}")


def receipt_rows(dossier: Dossier) -> Iterator[tuple[str, str, str, str]]:
    """A row per request that was sent: when, where to, how much, why."""
    for request in dossier.receipt.get("requests", ()):
        asked = f"{request['model']} ({request.get('host') or 'where is not known'})" if request.get("model") else None
        where = clean(f"{request.get('method') or ''} {asked or request.get('url') or ''}".strip())
        why = clean(str(request.get("why") or "")) + (" (sent again)" if request.get("resend") else "")
        yield str(request.get("at") or ""), where, f"{request.get('bytes') or 0}", why


def receipt_total(dossier: Dossier) -> str:
    totals = dossier.receipt.get("totals", {})
    many = f"{_many(totals.get('requests', 0), 'request')}, {_many(totals.get('bytes', 0), 'byte')}"
    return f"Nothing: {many} were answered inside the server." if dossier.is_demo else f"{many} left the machine."


def markdown_of(dossier: Dossier) -> str:
    """The report as it is stored; that of a demo below a note."""
    return f"> {DEMO_NOTE}\n\n{dossier.report}" if dossier.is_demo else dossier.report


def refused_rows(dossier: Dossier) -> Iterator[tuple[str, str, str]]:
    """A row per refused request: when, where it would have gone, why it was refused."""
    for refusal in dossier.receipt.get("refused", ()):
        where = clean(str(refusal.get("url") or "a step of the plan"))
        rule = clean(str(refusal.get("rule") or ""))
        reason = clean(str(refusal.get("reason") or ""))
        yield str(refusal.get("at") or ""), where, reason if rule in reason else f"{rule}: {reason}"


def refused_total(dossier: Dossier) -> str:
    """How many requests were refused, as a sentence; empty if none were."""
    count = len(dossier.receipt.get("refused", ()))
    return f"{_many(count, 'request')} {'was' if count == 1 else 'were'} refused and not sent." if count else ""


def _many(count: int, thing: str, things: str = "") -> str:
    return f"{count:,} {thing if count == 1 else things or f'{thing}s'}"
