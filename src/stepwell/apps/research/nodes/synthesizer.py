"""Writes the report from stored evidence, checks every sentence, and lets only what holds through.

```
sources (admitted) ─> quotes ─> draft (model, or extractive) ─> claims ─> verdicts ─> report
```
No evidence, no report.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from stepwell.apps.research.desk import Desk, open_desk
from stepwell.apps.research.extractive import extractive_draft, with_note
from stepwell.apps.research.judging import ModelJudge
from stepwell.apps.research.kit import Kit
from stepwell.apps.research.prompting import fenced, prompt
from stepwell.apps.research.selecting import select_quotes
from stepwell.apps.research.state import ResearchState
from stepwell.audit.draft import Draft, read_draft
from stepwell.audit.evidence import Claim, Quote, Source
from stepwell.audit.judge import Judge, LexicalJudge
from stepwell.audit.ledger import record_claim, record_quote, record_source
from stepwell.audit.report import Report, write_report
from stepwell.audit.verdicts import verdict

JUDGED_AT_ONCE = 4


async def synthesizer(kit: Kit, state: ResearchState, config: RunnableConfig) -> dict[str, Any]:
    desk = await open_desk(kit, state, config)
    sources = await _admitted(desk, state)
    quotes = await _quote(desk, state, sources)
    draft, skipped = await _draft(desk, state, quotes, sources)
    read = read_draft(draft.text)
    claims = await _judge(desk, read, quotes)
    report = write_report(read, claims, quotes, sources, skipped=skipped)
    if draft.extractive and report.is_sufficient:
        report = replace(report, text=with_note(report.text))
    await _keep(desk, claims, report)
    return {
        "final_report": report.text,
        "status": "complete",
        "skipped": skipped,
        "messages": [AIMessage(report.text, id=f"report-{desk.scope}-{_scope_id(config, desk)}")],
        "reasoning": desk.reasoning("synthesizer", _summary(claims, report)),
    }


@dataclass(frozen=True)
class _Drafted:
    text: str
    extractive: bool


async def _draft(
    desk: Desk, state: ResearchState, quotes: Mapping[str, Quote], sources: Mapping[str, Source]
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


async def _admitted(desk: Desk, state: ResearchState) -> dict[str, Source]:
    """The sources that count, with the user's own notes as one of them."""
    sources = (await desk.evidence()).sources
    notes = (state.get("knowledge_context") or "").strip()
    if notes and not any(source.kind == "device" and source.title == _notes_title(desk) for source in sources.values()):
        stored = await desk.vault.put(notes.encode())
        number = f"s{len(sources) + 1}"
        device = Source(
            number,
            "device",
            None,
            None,
            _notes_title(desk),
            "text/plain",
            None,
            desk.kit.clock.now().isoformat(),
            stored,
            stored,
        )
        await record_source(desk.vault, device)
        sources = (await desk.evidence()).sources
    denied = set(state.get("denied_sources", ()))
    return {name: source for name, source in sources.items() if name not in denied}


def _notes_title(desk: Desk) -> str:
    return f"Your notes ({desk.scope})"


async def _quote(desk: Desk, state: ResearchState, sources: Mapping[str, Source]) -> dict[str, Quote]:
    """The passages that speak to the question, each with its place. Ids go on from earlier questions of the thread."""
    texts = {name: (await desk.vault.get(source.text_sha256)).decode() for name, source in sources.items()}
    found = await select_quotes(state["user_query"], texts, desk.kit.embedder)
    known = (await desk.evidence()).quotes
    places = {(quote.source_id, quote.start, quote.end): quote for quote in known.values()}
    chosen: dict[str, Quote] = {}
    for quote in found:
        kept = places.get((quote.source_id, quote.start, quote.end)) or replace(quote, quote_id=f"e{len(places) + 1}")
        places[kept.source_id, kept.start, kept.end] = kept
        await record_quote(desk.vault, kept)
        chosen[kept.quote_id] = kept
    return chosen


async def _write(desk: Desk, state: ResearchState, quotes: Mapping[str, Quote], sources: Mapping[str, Source]) -> str:
    shown = "\n".join(f"{quote.quote_id} ({sources[quote.source_id].title}): {quote.text}" for quote in quotes.values())
    asked = f"The question:\n{fenced(state['user_query'])}\n\nThe evidence:\n{fenced(shown)}"
    return await desk.calls.call(
        "write", "synthesizer", [SystemMessage(prompt("synthesizer")), HumanMessage(asked)], desk.model("write")
    )


async def _extract(desk: Desk, state: ResearchState, quotes: Mapping[str, Quote], sources: Mapping[str, Source]) -> str:
    return await extractive_draft(state["user_query"], list(quotes.values()), sources, desk.kit.embedder)


async def _judge(desk: Desk, draft: Draft, quotes: Mapping[str, Quote]) -> list[Claim]:
    judge: Judge = ModelJudge(desk.model("audit"), desk.calls, desk.exhausted) if desk.kit.writes else LexicalJudge()
    room = asyncio.Semaphore(JUDGED_AT_ONCE)

    async def one(claim: Claim) -> Claim:
        async with room:
            return await verdict(claim, quotes, judge)

    return list(await asyncio.gather(*(one(claim) for claim in draft.claims())))


async def _keep(desk: Desk, claims: Sequence[Claim], report: Report) -> None:
    """Claims and report into the trail. Claim ids are the thread's, so that a second question's do not hide the first's."""
    for claim in claims:
        await record_claim(
            desk.vault, replace(claim, claim_id=f"{desk.scope}.{claim.claim_id}" if desk.scope != "q1" else claim.claim_id)
        )
    stored = await desk.vault.put(report.text.encode())
    await desk.note(
        "report", "report", {"sha256": stored, "sufficient": report.is_sufficient, "removed_links": report.removed_links}
    )


def _summary(claims: Sequence[Claim], report: Report) -> str:
    if not report.is_sufficient:
        return "Insufficient evidence: there is no report."
    kept = sum(claim.verdict in ("supported", "partial") for claim in claims)
    return f"{kept} of {len(claims)} sentences hold; {report.removed_sentences} were left out, {report.removed_links} links removed."


def _scope_id(config: RunnableConfig, desk: Desk) -> str:
    thread = str((config.get("configurable") or {}).get("thread_id", ""))
    return uuid.uuid5(uuid.NAMESPACE_OID, f"{thread}:{desk.scope}").hex[:12]
