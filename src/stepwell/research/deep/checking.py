"""Checks the report of deep research at the end: finishes it, judges every sentence, and writes all of it into the trail.

The auditing model judges, within what is left of the run's ceilings. If nothing is left, it is not asked, and a sentence that does not
stand word for word in its source is at most `partial`.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import count

from langchain_core.runnables import RunnableConfig

from stepwell.research.audit.canonical import sha256
from stepwell.research.audit.evidence import Claim, Quote
from stepwell.research.audit.exchanges.recording import Recorder
from stepwell.research.audit.judge import Judge, LexicalJudge
from stepwell.research.audit.ledger import Evidence, read_evidence, record_claims, record_quote
from stepwell.research.audit.trail import Entry
from stepwell.research.audit.vault import EvidenceVault
from stepwell.research.audit.writing.marked import Sentence, add_marks, remove_marks, sentences
from stepwell.research.deep.claims import Quotations
from stepwell.research.deep.report import Finished, finish_report
from stepwell.research.deep.web_tools import SCOPE, question_key, tell
from stepwell.research.evidence.equipment import Equipment
from stepwell.research.evidence.inquiry import word_ceiling
from stepwell.research.evidence.judged_by import describe_judge
from stepwell.research.evidence.judging import ModelJudge, judge_all
from stepwell.research.evidence.recorded.models import RecordedModels, TrailSpending

RestsOn = dict[str, list[str]]
"""`claims`, `quotes` and `sources`: the ids of what a report rests on."""


async def check_report(equipment: Equipment, vault: EvidenceVault, written: str, tokens_spent: int) -> tuple[Finished, RestsOn]:
    """The report as it may be shown, and what it rests on. `tokens_spent` is how many tokens the agents have used so far."""
    entries = await vault.entries()
    evidence = read_evidence(entries)
    finished = finish_report(remove_marks(written), evidence.sources)
    stated = sentences(finished.text)
    quoted = await _find_quotes(vault, evidence, stated)
    quotes = {quote.quote_id: quote for each in quoted for quote in each}
    claims = [_claim(number, *each, evidence) for number, each in enumerate(zip(stated, quoted, strict=True), 1)]
    claims = await judge_all(claims, quotes, _judge(equipment, vault, entries, tokens_spent))
    text = add_marks(finished.text, list(zip(stated, claims, strict=True)))
    for quote in quotes.values():
        await record_quote(vault, quote)
    reports = sum(entry.kind == "report" for entry in entries)
    named = await record_claims(vault, claims, (f"r{number}." for number in count(reports + 1)))
    return replace(finished, text=text), {"claims": named, "quotes": list(quotes), "sources": list(evidence.sources)}


def _claim(number: int, sentence: Sentence, quotes: list[Quote], evidence: Evidence) -> Claim:
    unknown = [each for each in sentence.cited if each not in evidence.sources]
    return Claim(f"c{number}", sentence.words, (*dict.fromkeys(quote.quote_id for quote in quotes), *unknown))


async def _find_quotes(vault: EvidenceVault, evidence: Evidence, stated: list[Sentence]) -> list[list[Quote]]:
    cited = {each for sentence in stated for each in sentence.cited if each in evidence.sources}
    texts = {each: (await vault.get(evidence.sources[each].text_sha256)).decode() for each in sorted(cited)}

    def find() -> list[list[Quote]]:
        quotations = Quotations(texts, evidence.quotes)
        return [quotations.of(sentence, evidence.sources) for sentence in stated]

    return await asyncio.to_thread(find)


def _judge(equipment: Equipment, vault: EvidenceVault, entries: list[Entry], tokens_spent: int) -> Judge:
    if equipment.models is None:
        return LexicalJudge()
    spending = TrailSpending(vault, entries[-1].seq if entries else 0)

    async def reached_ceiling() -> str | None:
        judged = (await spending.catch_up()).used.tokens.total
        limit = equipment.policy.limits.tokens
        return word_ceiling(f"{limit:,} tokens", "tokens") if tokens_spent + judged >= limit else None

    return ModelJudge(equipment.models["audit"], RecordedModels(Recorder(vault), question_key(entries)), reached_ceiling)


async def is_kept(vault: EvidenceVault, text: str) -> bool:
    """Whether this text is, byte for byte, a report of the thread that was already checked."""
    return await vault.find(f"{SCOPE}:report:{sha256(text.encode())}") is not None


async def keep_report(config: RunnableConfig, vault: EvidenceVault, finished: Finished, rests_on: RestsOn) -> None:
    stored = await vault.put(finished.text.encode())
    data = {
        "sha256": stored,
        "cited": list(finished.cited),
        "unknown": list(finished.unknown),
        "removed_links": finished.removed_links,
        "judge": await describe_judge(config, await vault.entries(), SCOPE),
        **rests_on,
    }
    await tell(vault, "report", f"{SCOPE}:report:{stored}", data)
