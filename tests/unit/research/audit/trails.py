"""Trails by hand, as small as they can be and with every field that a bundle has to have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from stepwell.research.audit.canonical import canonical, sha256
from stepwell.research.audit.evidence import KEPT, Claim, Quote, Source
from stepwell.research.audit.exchanges.recording import Outgoing, RecordedReply, Recorder
from stepwell.research.audit.judge import Judgement
from stepwell.research.audit.judged import JudgedBy, judging_model
from stepwell.research.audit.ledger import record_claim, record_quote, record_source
from stepwell.research.audit.quoting import make_quote, passages
from stepwell.research.audit.story import hash_plan
from stepwell.research.audit.trail import NewEntry
from stepwell.research.audit.vault import EvidenceVault
from stepwell.research.audit.verdicts import verdict
from stepwell.research.audit.writing.draft import Draft, read_draft
from stepwell.research.audit.writing.quoted import quote_blocks
from stepwell.research.audit.writing.report import QUOTES_NOTE, write_report

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Still:
    """A clock that stands."""

    def now(self) -> datetime:
        return NOW


QUESTION = "How many wells?"


async def ask(
    vault: EvidenceVault,
    urls: Sequence[str],
    query: str = QUESTION,
    *,
    mode: str = "written",
    tool: str = "fetch_page",
    output: str | None = None,
    reason: str = "",
    policy: bytes = b"# Policy\n\nBe kind.\n",
) -> None:
    """A question, and a plan for it with a step for each input, which a person approves."""
    asked = {
        "query": query,
        "knowledge_context": "",
        "snippets": [],
        "context_urls": [],
        "only_documents": "no",
        "mode": mode,
        "embedder": "",
        "turn": "",
    }
    await vault.append(NewEntry("question", "q1:question", {**asked, "after": ""}))
    steps = [
        {"id": str(n), "tool": tool, "input": url, "rationale": "", "depends_on": [], "output": output}
        for n, url in enumerate(urls, 1)
    ]
    plan = {"objective": "Count them", "steps": steps, "estimated_token_budget": 0, "revision": 0, "follow_ups": 0}
    told = {"plan": plan, "sha256": hash_plan(plan), "by": "rules", "after": "q1:question"}
    await vault.append(NewEntry("plan", "q1:plan:1", told))
    audit = {"verdict": "approved", "violations": [], "suggestions": [], "left_to_the_human": []}
    await vault.append(
        NewEntry("audit", "q1:audit:1:0", {"audit": audit, "policy_sha256": await vault.put(policy), "after": "q1:plan:1"})
    )
    said = {"decision": "approve", "reason": reason, "stop": False, "plan_sha256": told["sha256"], "edited_plan": None}
    await vault.append(NewEntry("approval", "q1:approval:1", {**said, "after": "q1:audit:1:0"}))


async def fetch(vault: EvidenceVault, step: int, url: str, body: bytes, why: str = "page") -> str:
    """A page, as the answer to a request of a step; its hash."""

    async def send() -> RecordedReply:
        return RecordedReply({"status": 200, "headers": [], "wire_bytes": len(body), "complete": True}, body)

    await Recorder(vault).once(Outgoing(f"q1:{step}:{why}", "web", "GET", url, step=f"q1:{step}", why=why), send)
    return sha256(body)


async def call_model(vault: EvidenceVault, key: str, asked: str, said: str) -> None:
    """A model on this machine, asked and answering."""
    messages = canonical([{"type": "system", "content": "You are a model."}, {"type": "human", "content": asked}])

    async def send() -> RecordedReply:
        return RecordedReply({"model": "local:small", "here": True}, said.encode())

    await Recorder(vault).once(Outgoing(f"q1:{key}", "model", "ASK", "model:any", messages, leaves_machine=False), send)


class RecordedJudge:
    """Agrees with everything, and is on the record."""

    def __init__(self, vault: EvidenceVault) -> None:
        self._vault = vault

    async def judge(self, claim_text: str, quotes: Sequence[Quote]) -> Judgement:
        shown = "\n".join(f"{quote.quote_id}: {quote.text}" for quote in quotes)
        asked = f"The sentence:\n{claim_text}\n\nThe quotes:\n{shown}"
        await call_model(self._vault, f"judge:{sha256(asked.encode())[:12]}", asked, '{"verdict": "supported", "reason": ""}')
        return Judgement("supported")


async def write(
    vault: EvidenceVault, draft: str, quotes: Mapping[str, Quote], sources: Mapping[str, Source], query: str = QUESTION
) -> str:
    """What a model wrote becomes a report with its claims, and the report the last entry; its text."""
    await call_model(vault, "write:1", f"The question:\n{query}", draft)
    read = read_draft(draft)
    claims = [await verdict(claim, quotes, RecordedJudge(vault)) for claim in read.claims()]
    for claim in claims:
        await record_claim(vault, claim)
    report = write_report(read, claims, quotes, sources)
    await tell_report(vault, report.text, claims, quotes, sources)
    return report.text


async def write_quotes(vault: EvidenceVault, quotes: Mapping[str, Quote], sources: Mapping[str, Source]) -> None:
    """The quotes become a report that no model wrote."""
    items = [block for quote in quotes.values() for block in quote_blocks(quote)[0]]
    read = Draft((*read_draft("# Quotes").blocks, *items))
    claims = [await verdict(claim, quotes) for claim in read.claims()]
    for claim in claims:
        await record_claim(vault, claim)
    title, _, rest = write_report(read, claims, quotes, sources).text.partition("\n")
    await tell_report(vault, f"{title}\n\n{QUOTES_NOTE}\n{rest}", claims, quotes, sources, mode="extractive")


async def tell_report(
    vault: EvidenceVault,
    text: str,
    claims: Sequence[Claim],
    quotes: Mapping[str, Quote],
    sources: Mapping[str, Source],
    *,
    mode: str = "written",
) -> None:
    rests_on = {"claims": [claim.claim_id for claim in claims], "quotes": list(quotes), "sources": list(sources)}
    sufficient = any(claim.verdict in KEPT for claim in claims)
    facts = {"sha256": await vault.put(text.encode()), "sufficient": sufficient, "mode": mode, "removed_links": 0, "turn": ""}
    model = judging_model(await vault.entries(), "q1")
    judge = JudgedBy(model).to_data() if model is not None else None
    await vault.append(NewEntry("report", "q1:report", {**facts, "judge": judge, **rests_on, "after": "q1:approval:1"}))


async def fill(vault: EvidenceVault, pages: int = 3, size: int = 0) -> None:
    """A question, an approved plan, some pages, quotes, claims and a report."""
    urls = [f"https://town{n}.test/wells" for n in range(1, pages + 1)]
    await ask(vault, urls)
    quotes, sources, lines = {}, {}, []
    for n, url in enumerate(urls, 1):
        text = f"Town {n} has {n + 10} wells. " + "They are old. " * (size // 14)
        page = await fetch(vault, n, url, f"<p>{text}</p>".encode())
        source = Source(
            *(f"s{n}", "web", url, url, f"Town {n}", "text/html", 200, NOW.isoformat()), page, await vault.put(text.encode())
        )
        await record_source(vault, source)
        first = passages(text[:200])[0]
        quote = make_quote(f"e{n}", source, text, first.start, first.end)
        await record_quote(vault, quote)
        quotes[quote.quote_id], sources[source.source_id] = quote, source
        lines.append(f"Town {n} has {n + 10} wells [e{n}].")
    await write(vault, "# Wells\n\n" + " ".join(lines) + " Atlantis has 900 wells [e1].", quotes, sources)
