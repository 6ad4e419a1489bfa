"""Writes the report from stored evidence, checks every sentence, and lets only what holds through.

```
sources (admitted) ─> quotes ─> draft (model, or extractive) ─> claims ─> verdicts ─> report
```
No evidence, no report.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from stepwell.apps.research.inquiries import open_inquiry, reasoning
from stepwell.apps.research.state import ResearchState, read_sources
from stepwell.audit.evidence import Claim, Quote, Source
from stepwell.audit.judge import Judge, LexicalJudge
from stepwell.audit.ledger import record_claims, record_quote
from stepwell.audit.writing.draft import read_draft
from stepwell.audit.writing.report import Report, write_report
from stepwell.evidence.equipment import Equipment
from stepwell.evidence.extractive import add_note, extractive_draft
from stepwell.evidence.inquiry import Inquiry
from stepwell.evidence.judging import ModelJudge, judge_all
from stepwell.evidence.prompting import fenced, prompt
from stepwell.evidence.selecting import QuoteBook, select_quotes
from stepwell.evidence.sources import SourceBook


async def synthesizer(kit: Equipment, state: ResearchState, config: RunnableConfig) -> dict[str, Any]:
    desk = await open_inquiry(kit, state, config)
    sources = await _list_admitted(desk, state)
    quotes = await _quote(desk, state, sources)
    draft, skipped = await _draft(desk, state, quotes, sources)
    read = read_draft(draft.text)
    claims = await judge_all(read.claims(), quotes, _judge(desk))
    report = write_report(read, claims, quotes, sources, skipped=skipped)
    if draft.extractive and report.is_sufficient:
        report = replace(report, text=add_note(report.text))
    await _keep(desk, claims, report, quotes, sources)
    return {
        "newest_entry": desk.newest,
        "read_sources": list(dict.fromkeys([*read_sources(state, await desk.evidence()), *sources])),
        "final_report": report.text,
        "status": "complete",
        "skipped": skipped,
        "messages": [AIMessage(report.text, id=f"report-{desk.scope}-{_scope_id(config, desk)}")],
        "reasoning": reasoning(desk, "synthesizer", _summary(claims, report)),
    }


@dataclass(frozen=True)
class _Drafted:
    text: str
    extractive: bool


async def _draft(
    desk: Inquiry, state: ResearchState, quotes: Mapping[str, Quote], sources: Mapping[str, Source]
) -> tuple[_Drafted, list[str]]:
    """A text with evidence ids, and what was skipped. Where a ceiling leaves no room to write, there are still the quotes."""
    skipped = list(state.get("skipped", ()))
    if not quotes:
        return _Drafted("", not desk.kit.writes), skipped
    if not desk.kit.writes:
        return _Drafted(await _extract(desk, state, quotes, sources), True), skipped
    if ceiling := await desk.exhausted():
        skipped.append(f"No model was asked to write: {ceiling} What follows are quotes.")
        return _Drafted(await _extract(desk, state, quotes, sources), True), skipped
    return _Drafted(await _write(desk, state, quotes, sources), False), skipped


async def _list_admitted(desk: Inquiry, state: ResearchState) -> dict[str, Source]:
    """The sources that count: what this branch has read, and the user's own notes as one of them."""
    evidence = await desk.evidence()
    named = read_sources(state, evidence)
    if notes := (state.get("knowledge_context") or "").strip():
        named.append(await SourceBook(desk.vault, desk.kit.clock).keep_notes(notes, title=f"Your notes ({desk.scope})"))
        evidence = await desk.evidence()
    denied = set(state.get("denied_sources", ()))
    return {each: evidence.sources[each] for each in dict.fromkeys(named) if each not in denied}


async def _quote(desk: Inquiry, state: ResearchState, sources: Mapping[str, Source]) -> dict[str, Quote]:
    """The passages that speak to the question, each with its place. Ids go on from earlier questions of the thread."""
    texts = {name: (await desk.vault.get(source.text_sha256)).decode() for name, source in sources.items()}
    book = QuoteBook((await desk.evidence()).quotes)
    chosen = [book.name(quote) for quote in await select_quotes(state["user_query"], texts, desk.kit.embedder)]
    for quote in chosen:
        await record_quote(desk.vault, quote)
    return {quote.quote_id: quote for quote in chosen}


async def _write(desk: Inquiry, state: ResearchState, quotes: Mapping[str, Quote], sources: Mapping[str, Source]) -> str:
    shown = "\n".join(f"{quote.quote_id} ({sources[quote.source_id].title}): {quote.text}" for quote in quotes.values())
    asked = f"The question:\n{fenced(state['user_query'])}\n\nThe evidence:\n{fenced(shown)}"
    return await desk.calls.call(
        "write",
        "synthesizer",
        [SystemMessage(prompt("stepwell.apps.research", "synthesizer")), HumanMessage(asked)],
        desk.model("write"),
    )


async def _extract(desk: Inquiry, state: ResearchState, quotes: Mapping[str, Quote], sources: Mapping[str, Source]) -> str:
    return await extractive_draft(state["user_query"], list(quotes.values()), sources, desk.kit.embedder)


def _judge(desk: Inquiry) -> Judge:
    return ModelJudge(desk.model("audit"), desk.calls, desk.exhausted) if desk.kit.writes else LexicalJudge()


async def _keep(
    desk: Inquiry, claims: Sequence[Claim], report: Report, quotes: Mapping[str, Quote], sources: Mapping[str, Source]
) -> None:
    """Claims and report into the trail. The report names what it rests on: the trail may hold more, of other questions and branches."""
    named = await record_claims(desk.vault, claims, _claim_prefixes(desk.scope))
    rests_on = {"claims": named, "quotes": list(quotes), "sources": list(sources)}
    stored = await desk.vault.put(report.text.encode())
    facts = {"sha256": stored, "sufficient": report.is_sufficient, "removed_links": report.removed_links}
    await desk.tell("report", "report", {**facts, **rests_on})


def _claim_prefixes(scope: str) -> Iterator[str]:
    """Claim ids are the thread's, so that a second question's do not hide the first's. Where the same question was answered before, in
    another branch or by a run that did not end, its claims keep their ids and these get others."""
    yield "" if scope == "q1" else f"{scope}."
    yield from (f"{scope}.{number}." for number in count(2))


def _summary(claims: Sequence[Claim], report: Report) -> str:
    if not report.is_sufficient:
        return "Insufficient evidence: there is no report."
    kept = sum(claim.verdict in ("supported", "partial") for claim in claims)
    return f"{kept} of {len(claims)} sentences hold; {report.removed_sentences} were left out, {report.removed_links} links removed."


def _scope_id(config: RunnableConfig, desk: Inquiry) -> str:
    thread = str((config.get("configurable") or {}).get("thread_id", ""))
    return uuid.uuid5(uuid.NAMESPACE_OID, f"{thread}:{desk.scope}").hex[:12]
