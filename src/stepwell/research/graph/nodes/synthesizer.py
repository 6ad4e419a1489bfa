"""Writes the report from stored evidence, checks every sentence, and keeps only those that hold.

```
sources (admitted) ─> quotes ─> draft (model, or extractive) ─> claims ─> verdicts ─> report
                                           ^                                 │
                                           └── once: sentences that differ ──┘ (`graph.composing`, only if a model writes)
```
No evidence, no report.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from langchain_core.messages import AIMessage

from stepwell.research.audit.evidence import HELD, KEPT, Quote, Source
from stepwell.research.audit.excerpts import documents_of
from stepwell.research.audit.judge import Judge, LexicalJudge
from stepwell.research.audit.ledger import record_claims, record_quote
from stepwell.research.audit.story import excerpts_before, reports_before
from stepwell.research.audit.trail import Entry
from stepwell.research.audit.verdicts import UNJUDGED
from stepwell.research.audit.writing.composed import LEAST_SECTIONS
from stepwell.research.audit.writing.numbers import order_earlier
from stepwell.research.audit.writing.report import Report, write_report
from stepwell.research.evidence.extractive import BRIEF, add_note, extractive_draft
from stepwell.research.evidence.extractive import MOST_PER_SOURCE as MOST_EXTRACTS_PER_SOURCE
from stepwell.research.evidence.extractive import MOST_QUOTES as MOST_EXTRACTS
from stepwell.research.evidence.inquiry import Inquiry
from stepwell.research.evidence.judged_by import describe_judge
from stepwell.research.evidence.judging import ModelJudge, judge_all
from stepwell.research.evidence.queries import sub_questions
from stepwell.research.evidence.selecting import MOST_PER_SOURCE, MOST_QUOTES, QuoteBook, select_quotes
from stepwell.research.evidence.sources import SourceBook
from stepwell.research.finding.copies import Copy, older_copies
from stepwell.research.graph.composing import Composer, Written
from stepwell.research.graph.nodes.tool_executor import require_approved
from stepwell.research.graph.sections import write_sections
from stepwell.research.graph.snippets import read_snippets
from stepwell.research.graph.state import Done, ResearchState, read_sources

_WORDS_PER_QUOTE = 25
_MOST_IN_A_SECTION = 24


async def synthesizer(inquiry: Inquiry, state: ResearchState) -> Done:
    sources = await _list_admitted(inquiry, state)
    texts = {name: (await inquiry.vault.get(source.text_sha256)).decode() for name, source in sources.items()}
    copies = await _find_copies(inquiry, texts, sources)
    material = _Material(texts, sources, copies)
    quotes = await _quote(inquiry, state, material)
    sections = await _quote_sections(inquiry, state, material) if quotes else []
    quotes |= {name: quote for own in sections for name, quote in own.items()}
    written = await _write(inquiry, state, quotes, sources, sections)
    skipped = [*state.get("skipped", ()), *(_describe_copy(each, sources) for each in copies), *written.skipped]
    skipped += await _say_unanswered(inquiry, written)
    earlier = order_earlier(reports_before(await inquiry.vault.entries(), inquiry.newest), await inquiry.evidence())
    report = write_report(
        written.draft, written.claims, quotes, sources, skipped=skipped, not_found=written.not_found, earlier=earlier
    )
    if not written.answers and quotes and report.is_sufficient:
        report = replace(report, text=add_note(report.text))
    told = await _keep(inquiry, written, report, quotes, sources)
    return {
        "read_sources": list(dict.fromkeys([*read_sources(state, await inquiry.evidence()), *sources])),
        "final_report": report.text,
        "trail_head": told.hash,
        "status": "complete",
        "skipped": skipped,
        "messages": [AIMessage(report.text, id=f"report-{inquiry.scope}-{_scope_id(inquiry)}")],
    }, _summary(written, report) + _say_length(state, written)


@dataclass(frozen=True)
class _Material:
    """What there is to quote: texts and sources by id, and which are older copies of others."""

    texts: Mapping[str, str]
    sources: Mapping[str, Source]
    copies: Sequence[Copy]


async def _write(
    inquiry: Inquiry,
    state: ResearchState,
    quotes: Mapping[str, Quote],
    sources: Mapping[str, Source],
    sections: Sequence[Mapping[str, Quote]],
) -> Written:
    """Judged sentences with evidence ids. If a ceiling leaves no room to write, they are quotes. `sections` has the quotes of each approved
    section, if each has its own writer."""
    judge: Judge = LexicalJudge()
    skipped: list[str] = []
    if inquiry.equipment.writes:
        judge = ModelJudge(inquiry.model("audit"), inquiry.calls, inquiry.reached_ceiling)
        ceiling = await inquiry.reached_ceiling() if quotes else None
        if quotes and not ceiling:
            plan = require_approved(state)
            composer = Composer(inquiry, state["user_query"], quotes, sources, judge, plan.words, plan.outline)
            return await (write_sections(composer, sections) if sections else composer.write())
        if ceiling:
            skipped = [f"No model was asked to write: {ceiling} What follows are quotes."]
            await inquiry.note("limit", "limit:write", {"step": "write", "skipped": skipped})
    draft = extractive_draft(list(quotes.values()), sources)
    return Written(draft, await judge_all(draft.claims(), quotes, judge), [], skipped=skipped)


async def _say_unanswered(inquiry: Inquiry, written: Written) -> list[str]:
    """What a reader is told if nothing was written; noted in the trail, as everything is that a report says was skipped."""
    told = [inquiry.equipment.unanswered] if inquiry.equipment.unanswered and not written.claims else []
    if told:
        await inquiry.note("limit", "limit:unanswered", {"step": "unanswered", "skipped": told})
    return told


async def _list_admitted(inquiry: Inquiry, state: ResearchState) -> dict[str, Source]:
    """The sources that may be quoted: those this branch has read, and the user's own documents and notes, except denied ones."""
    named = read_sources(state, await inquiry.evidence())
    book = SourceBook(inquiry.vault, inquiry.equipment.clock)
    if notes := (state.get("knowledge_context") or "").strip():
        named.append(await book.keep_notes(notes, title=f"Your notes ({inquiry.scope})"))
    excerpts = [each.model_dump() for each in read_snippets(state.get("snippets"))]
    earlier = excerpts_before(await inquiry.vault.entries(), inquiry.newest)
    named += [await book.keep_document(document) for document in documents_of(excerpts, earlier)]
    evidence = await inquiry.evidence()
    denied = set(state.get("denied_sources", ()))
    return {each: evidence.sources[each] for each in dict.fromkeys(named) if each not in denied}


async def _find_copies(inquiry: Inquiry, texts: Mapping[str, str], sources: Mapping[str, Source]) -> list[Copy]:
    """The sources that are older copies of others. Notes what that means for the report."""
    copies = await asyncio.to_thread(older_copies, {name: source.title for name, source in sources.items()}, texts)
    if copies:
        told = [_describe_copy(each, sources) for each in copies]
        await inquiry.note("limit", "limit:copies", {"step": "copies", "skipped": told})
    return copies


def _describe_copy(copy: Copy, sources: Mapping[str, Source]) -> str:
    older, newer = sources[copy.older].title, sources[copy.newer].title
    return f"'{older}' looks like an older copy of '{newer}': what both say is quoted from the newer one."


async def _quote(inquiry: Inquiry, state: ResearchState, material: _Material) -> dict[str, Quote]:
    """The passages relevant to the question or to a follow-up, each with its place. Ids continue from earlier questions of the thread."""
    most = MOST_QUOTES if inquiry.equipment.writes else _most_extracts(state)
    return await _select(inquiry, state, material, state["user_query"], most)


async def _quote_sections(inquiry: Inquiry, state: ResearchState, material: _Material) -> list[dict[str, Quote]]:
    """The passages relevant to each approved section, if each has its own writer. The title goes before the question, because a long
    question in front of it would choose the same passages for every section."""
    outline = require_approved(state).outline if inquiry.equipment.writes else ()
    if len(outline) < LEAST_SECTIONS:
        return []
    return [await _select(inquiry, state, material, title, _MOST_IN_A_SECTION) for title in outline]


async def _select(inquiry: Inquiry, state: ResearchState, material: _Material, asked: str, most: int) -> dict[str, Quote]:
    book = QuoteBook((await inquiry.evidence()).quotes)
    question = state["user_query"]
    parts = sub_questions(question) if asked == question else []
    selected = await select_quotes(
        asked,
        material.texts,
        inquiry.equipment.embedder,
        titles={name: source.title for name, source in material.sources.items()},
        most=most,
        per_source=MOST_PER_SOURCE if inquiry.equipment.writes else MOST_EXTRACTS_PER_SOURCE,
        strict=not inquiry.equipment.writes,
        parts=parts if len(parts) > 1 else (),
        steps=[*([] if asked == question else [question]), *(each.input for each in state.get("followed", ()))],
        older={each.older: each.newer for each in material.copies},
    )
    chosen = [book.name(quote) for quote in selected]
    for quote in chosen:
        await record_quote(inquiry.vault, quote)
    return {quote.quote_id: quote for quote in chosen}


async def _keep(
    inquiry: Inquiry, written: Written, report: Report, quotes: Mapping[str, Quote], sources: Mapping[str, Source]
) -> Entry:
    """Writes claims and report into the trail. The report names what it rests on, because the trail may also hold other questions and
    branches."""
    every = await record_claims(inquiry.vault, [*written.claims, *written.before], _claim_prefixes(inquiry.scope))
    named, before = every[: len(written.claims)], every[len(written.claims) :]
    if written.answers:
        named_answers = {"draft": written.answers, "critic": written.critic, "revision": written.revision}
        await inquiry.tell("writing", "writing", {**named_answers, "before": before})
    rests_on = {"claims": named, "quotes": list(quotes), "sources": list(sources)}
    stored = await inquiry.vault.put(report.text.encode())
    mode = "written" if inquiry.equipment.writes else "extractive"
    judge = await describe_judge(inquiry.config, await inquiry.vault.entries(), inquiry.scope)
    facts = {"sha256": stored, "sufficient": report.is_sufficient, "mode": mode, "removed_links": report.removed_links}
    # The key includes the turn, so that a branch that reaches the same report again stores it again, as the trail's last report.
    return await inquiry.tell("report", "report", {**facts, "judge": judge, **rests_on, "turn": inquiry.turn})


def _most_extracts(state: ResearchState) -> int:
    """How many quotes a report without a writer has: fewer if it is to be short."""
    plan = state.get("plan")
    return min(MOST_EXTRACTS, max(BRIEF, plan.words // _WORDS_PER_QUOTE)) if plan and plan.words else MOST_EXTRACTS


def _claim_prefixes(scope: str) -> Iterator[str]:
    """The prefixes to try for claim ids, which are unique in the thread, so that a second question's claims do not hide the first's. If
    the same question was answered before, in another branch or by a run that did not end, those claims keep their ids and the new ones
    get others."""
    yield "" if scope == "q1" else f"{scope}."
    yield from (f"{scope}.{number}." for number in count(2))


def _summary(written: Written, report: Report) -> str:
    claims = written.claims
    if not report.is_sufficient:
        return "Insufficient evidence: there is no report."
    back = f"; {len(written.before)} went back to the writer" if written.before else ""
    back += f"; a critic missed {len(written.lacks)} thing{'s' * (len(written.lacks) > 1)}" if written.lacks else ""
    held = sum(claim.verdict in HELD for claim in claims)
    if held == len(claims):
        return f"Every sentence is supported by its source: {held} of {held}{back}."
    count = Counter(claim.verdict for claim in claims)
    unjudged = sum(claim.reasons == (UNJUDGED,) for claim in claims)
    others = [
        _count(count["partial"], "is not settled", "are not settled")
        + (f" ({unjudged} because {UNJUDGED})" if unjudged else ""),
        _count(count["contradicted"], "differs", "differ"),
        _count(count["unsupported"], "is not in its source", "are not in their sources"),
    ]
    supported = "is supported by its source" if held == 1 else "are supported by their sources"
    return f"{held} of {len(claims)} sentences {supported}; {', '.join(filter(None, others))}{back}."


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}" if number else ""


def _say_length(state: ResearchState, written: Written) -> str:
    """How long the report is, if that is more than a third from what was asked for."""
    plan = state.get("plan")
    wanted = plan.words if plan and written.answers else None
    said = sum(len(claim.text.split()) for claim in written.claims if claim.verdict in KEPT)
    if not wanted or not said or abs(said - wanted) <= wanted / 3:
        return ""
    return f" It has {said:,} words; about {wanted:,} were asked for."


def _scope_id(inquiry: Inquiry) -> str:
    thread = str((inquiry.config.get("configurable") or {}).get("thread_id", ""))
    return uuid.uuid5(uuid.NAMESPACE_OID, f"{thread}:{inquiry.scope}").hex[:12]
