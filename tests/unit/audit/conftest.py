"""A run's evidence, as small as it can be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest

from stepwell.audit.canonical import sha256
from stepwell.audit.evidence import Source
from stepwell.audit.exchanges.recording import Outgoing, RecordedReply, Recorder
from stepwell.audit.ledger import record_claim, record_quote, record_source
from stepwell.audit.memory_vault import MemoryVault
from stepwell.audit.quoting import make_quote, passages
from stepwell.audit.trail import NewEntry
from stepwell.audit.vault import EvidenceVault
from stepwell.audit.verdicts import verdict
from stepwell.audit.writing.draft import read_draft
from stepwell.audit.writing.report import write_report

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Still:
    """A clock that stands."""

    def now(self) -> datetime:
        return NOW


async def fill(vault: EvidenceVault, pages: int = 3, size: int = 0) -> None:
    """A question, a plan, a search, some pages, quotes, claims and a report."""
    policy = await vault.put(b"# Policy\n\nBe kind.\n")
    await vault.append(NewEntry("question", "question", {"query": "How many wells?", "policy_sha256": policy}))
    await vault.append(NewEntry("plan", "plan:1", {"steps": [{"id": "1", "tool": "web_search"}]}))
    recorder = Recorder(vault)
    quotes, sources, lines = {}, {}, []
    for n in range(1, pages + 1):
        text = f"Town {n} has {n + 10} wells. " + "They are old. " * (size // 14)
        url = f"https://town{n}.test/wells"
        answer = RecordedReply({"status": 200, "fetched_at": NOW.isoformat()}, f"<p>{text}</p>".encode())

        async def send(answer: RecordedReply = answer) -> RecordedReply:
            return answer

        await recorder.once(Outgoing(f"fetch:{n}", "web", "GET", url, step="1", why="fetch_page"), send)
        source = Source(
            *(f"s{n}", "web", url, url, f"Town {n}", "text/html", 200, NOW.isoformat()),
            *(sha256(answer.body), await vault.put(text.encode())),
        )
        await record_source(vault, source)
        first = passages(text[:200])[0]
        quote = make_quote(f"e{n}", source, text, first.start, first.end)
        await record_quote(vault, quote)
        quotes[quote.quote_id], sources[source.source_id] = quote, source
        lines.append(f"Town {n} has {n + 10} wells [e{n}].")
    draft = read_draft("# Wells\n\n" + " ".join(lines) + " Atlantis has 900 wells [e1].")
    claims = [await verdict(claim, quotes) for claim in draft.claims()]
    for claim in claims:
        await record_claim(vault, claim)
    report = write_report(draft, claims, quotes, sources)
    await vault.append(NewEntry("report", "report", {"sha256": await vault.put(report.text.encode())}))


Filling = Callable[..., Awaitable[MemoryVault]]


@pytest.fixture
def filled() -> Filling:
    """Makes a vault with the evidence of a run."""

    async def make(pages: int = 3, size: int = 0) -> MemoryVault:
        vault = MemoryVault(Still())
        await fill(vault, pages, size)
        return vault

    return make
