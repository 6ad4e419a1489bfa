"""Writes the report from stored evidence, checks every sentence, and keeps only those that hold.

```
sources (admitted) ─> quotes ─> draft (model, or extractive) ─> claims ─> verdicts ─> report
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

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from stepwell.research.audit.evidence import HELD, Claim, Quote, Source
from stepwell.research.audit.excerpts import documents_of
from stepwell.research.audit.judge import Judge, LexicalJudge
from stepwell.research.audit.ledger import record_claims, record_quote
from stepwell.research.audit.story import excerpts_before
from stepwell.research.audit.trail import Entry
from stepwell.research.audit.verdicts import UNJUDGED
from stepwell.research.audit.writing.draft import Draft, read_draft
from stepwell.research.audit.writing.report import Report, write_report
from stepwell.research.evidence.extractive import MOST_QUOTES as MOST_EXTRACTS
from stepwell.research.evidence.extractive import add_note, extractive_draft
from stepwell.research.evidence.inquiry import Inquiry
from stepwell.research.evidence.judged_by import describe_judge
from stepwell.research.evidence.judging import ModelJudge, judge_all
from stepwell.research.evidence.prompting import fence_material, prompt
from stepwell.research.evidence.queries import sub_questions
from stepwell.research.evidence.selecting import MOST_QUOTES, QuoteBook, select_quotes
from stepwell.research.evidence.sources import SourceBook
from stepwell.research.finding.copies import Copy, older_copies
from stepwell.research.graph.snippets import read_snippets
from stepwell.research.graph.state import Done, ResearchState, read_sources


async def synthesizer(inquiry: Inquiry, state: ResearchState) -> Done:
    sources = await _list_admitted(inquiry, state)
    texts = {name: (await inquiry.vault.get(source.text_sha256)).decode() for name, source in sources.items()}
    copies = await _find_copies(inquiry, texts, sources)
    quotes = await _quote(inquiry, state, texts, sources, copies)
    draft, skipped = await _draft(inquiry, state, quotes, sources, copies)
    skipped += await _say_unanswered(inquiry, draft)
    claims = await judge_all(draft.read.claims(), quotes, _judge(inquiry))
    report = write_report(draft.read, claims, quotes, sources, skipped=skipped)
    if draft.extractive and report.is_sufficient:
        report = replace(report, text=add_note(report.text))
    told = await _keep(inquiry, claims, report, quotes, sources)
    return {
        "read_sources": list(dict.fromkeys([*read_sources(state, await inquiry.evidence()), *sources])),
        "final_report": report.text,
        "trail_head": told.hash,
        "status": "complete",
        "skipped": skipped,
        "messages": [AIMessage(report.text, id=f"report-{inquiry.scope}-{_scope_id(inquiry)}")],
    }, _summary(claims, report)


@dataclass(frozen=True)
class _Drafted:
    read: Draft
    extractive: bool


async def _draft(
    inquiry: Inquiry,
    state: ResearchState,
    quotes: Mapping[str, Quote],
    sources: Mapping[str, Source],
    copies: Sequence[Copy],
) -> tuple[_Drafted, list[str]]:
    """Sentences with evidence ids, and what was skipped. If a ceiling leaves no room to write, the draft consists of quotes."""
    skipped = [*state.get("skipped", ()), *(_describe_copy(each, sources) for each in copies)]
    if not quotes:
        return _Drafted(Draft(()), not inquiry.equipment.writes), skipped
    if not inquiry.equipment.writes:
        return _Drafted(extractive_draft(list(quotes.values()), sources), True), skipped
    if ceiling := await inquiry.reached_ceiling():
        skipped.append(f"No model was asked to write: {ceiling} What follows are quotes.")
        await inquiry.note("limit", "limit:write", {"step": "write", "skipped": skipped[-1:]})
        return _Drafted(extractive_draft(list(quotes.values()), sources), True), skipped
    return _Drafted(read_draft(await _write(inquiry, state, quotes, sources)), False), skipped


async def _say_unanswered(inquiry: Inquiry, draft: _Drafted) -> list[str]:
    """What a reader is told if nothing was written; noted in the trail, as everything is that a report says was skipped."""
    told = [inquiry.equipment.unanswered] if inquiry.equipment.unanswered and not draft.read.claims() else []
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


async def _quote(
    inquiry: Inquiry,
    state: ResearchState,
    texts: Mapping[str, str],
    sources: Mapping[str, Source],
    copies: Sequence[Copy],
) -> dict[str, Quote]:
    """The passages relevant to the question or to a follow-up, each with its place. Ids continue from earlier questions of the thread."""
    book = QuoteBook((await inquiry.evidence()).quotes)
    parts = sub_questions(state["user_query"])
    selected = await select_quotes(
        state["user_query"],
        texts,
        inquiry.equipment.embedder,
        titles={name: source.title for name, source in sources.items()},
        most=MOST_QUOTES if inquiry.equipment.writes else MOST_EXTRACTS,
        strict=not inquiry.equipment.writes,
        parts=parts if len(parts) > 1 else (),
        steps=[each.input for each in state.get("followed", ())],
        older={each.older: each.newer for each in copies},
    )
    chosen = [book.name(quote) for quote in selected]
    for quote in chosen:
        await record_quote(inquiry.vault, quote)
    return {quote.quote_id: quote for quote in chosen}


async def _write(inquiry: Inquiry, state: ResearchState, quotes: Mapping[str, Quote], sources: Mapping[str, Source]) -> str:
    shown = "\n".join(f"{quote.quote_id} ({sources[quote.source_id].title}): {quote.text}" for quote in quotes.values())
    asked = f"The question:\n{fence_material(state['user_query'])}\n\nThe evidence:\n{fence_material(shown)}"
    return await inquiry.calls.call(
        "write",
        "synthesizer",
        [SystemMessage(prompt("stepwell.research.graph", "synthesizer")), HumanMessage(asked)],
        inquiry.model("write"),
    )


def _judge(inquiry: Inquiry) -> Judge:
    return (
        ModelJudge(inquiry.model("audit"), inquiry.calls, inquiry.reached_ceiling)
        if inquiry.equipment.writes
        else LexicalJudge()
    )


async def _keep(
    inquiry: Inquiry, claims: Sequence[Claim], report: Report, quotes: Mapping[str, Quote], sources: Mapping[str, Source]
) -> Entry:
    """Writes claims and report into the trail. The report names what it rests on, because the trail may also hold other questions and
    branches."""
    named = await record_claims(inquiry.vault, claims, _claim_prefixes(inquiry.scope))
    rests_on = {"claims": named, "quotes": list(quotes), "sources": list(sources)}
    stored = await inquiry.vault.put(report.text.encode())
    mode = "written" if inquiry.equipment.writes else "extractive"
    judge = await describe_judge(inquiry.config, await inquiry.vault.entries(), inquiry.scope)
    facts = {"sha256": stored, "sufficient": report.is_sufficient, "mode": mode, "removed_links": report.removed_links}
    # The key includes the turn, so that a branch that reaches the same report again stores it again, as the trail's last report.
    return await inquiry.tell("report", "report", {**facts, "judge": judge, **rests_on, "turn": inquiry.turn})


def _claim_prefixes(scope: str) -> Iterator[str]:
    """The prefixes to try for claim ids, which are unique in the thread, so that a second question's claims do not hide the first's. If
    the same question was answered before, in another branch or by a run that did not end, those claims keep their ids and the new ones
    get others."""
    yield "" if scope == "q1" else f"{scope}."
    yield from (f"{scope}.{number}." for number in count(2))


def _summary(claims: Sequence[Claim], report: Report) -> str:
    if not report.is_sufficient:
        return "Insufficient evidence: there is no report."
    held = sum(claim.verdict in HELD for claim in claims)
    if held == len(claims):
        return f"Every sentence is supported by its source: {held} of {held}."
    count = Counter(claim.verdict for claim in claims)
    unjudged = sum(claim.reasons == (UNJUDGED,) for claim in claims)
    others = [
        _count(count["partial"], "is not settled", "are not settled")
        + (f" ({unjudged} because {UNJUDGED})" if unjudged else ""),
        _count(count["contradicted"], "differs", "differ"),
        _count(count["unsupported"], "is not in its source", "are not in their sources"),
    ]
    supported = "is supported by its source" if held == 1 else "are supported by their sources"
    return f"{held} of {len(claims)} sentences {supported}; {', '.join(filter(None, others))}."


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}" if number else ""


def _scope_id(inquiry: Inquiry) -> str:
    thread = str((inquiry.config.get("configurable") or {}).get("thread_id", ""))
    return uuid.uuid5(uuid.NAMESPACE_OID, f"{thread}:{inquiry.scope}").hex[:12]
