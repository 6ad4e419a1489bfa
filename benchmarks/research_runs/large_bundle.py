"""A bundle as a very large research would leave it: pages of about 60 kB, five quotes from each, a claim for every quote."""

from __future__ import annotations

from pathlib import Path

from stepwell.demo.web import world_pages
from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.evidence import Quote, Source
from stepwell.research.audit.exchanges.recording import Outgoing, RecordedReply, Recorder
from stepwell.research.audit.ledger import record_claim, record_quote, record_source
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.audit.trail import NewEntry
from stepwell.research.audit.verdicts import verdict
from stepwell.research.audit.writing.draft import read_draft
from stepwell.research.audit.writing.report import write_report

_FILLER = "Nothing in this paragraph is ever quoted, and it makes the page as long as pages are. " * 12
_QUOTES = 5


async def make_large_bundle(path: Path, count: int) -> None:
    vault = MemoryVault()
    pages = world_pages()
    sources: dict[str, Source] = {}
    quotes: dict[str, Quote] = {}
    for number in range(1, count + 1):
        source, found = await _page(vault, number, pages[number % len(pages)].facts[0].sentence)
        sources[source.source_id] = source
        quotes |= {quote.quote_id: quote for quote in found}
    draft = read_draft("\n\n".join(f"{quote.text} [{name}]" for name, quote in quotes.items()))
    claims = [await verdict(claim, quotes) for claim in draft.claims()]
    for claim in claims:
        await record_claim(vault, claim)
    report = await vault.put(write_report(draft, claims, quotes, sources).text.encode())
    await vault.append(NewEntry("report", "report", {"sha256": report, "sufficient": True}))
    await write_bundle(vault, path)


async def _page(vault: MemoryVault, number: int, sentence: str) -> tuple[Source, list[Quote]]:
    parts = [f"{sentence} This is passage {number * 10 + part} of the page." for part in range(_QUOTES)]
    text = "\n\n".join(f"{part}\n\n{_FILLER}" for part in parts)
    content = f"<html><body>{text}<!-- {'padding ' * 6500}--></body></html>".encode()
    url = f"https://large.example/{number}"

    async def send() -> RecordedReply:
        return RecordedReply({"status": 200, "headers": [], "wire_bytes": len(content), "complete": True}, content)

    await Recorder(vault).once(Outgoing(f"page:{number}", "web", "GET", url, step="one", why="page"), send)
    stored, words = await vault.put(content), await vault.put(text.encode())
    source = Source(
        f"s{number}", "web", url, url, f"Page {number}", "text/html", 200, "2026-01-01T00:00:00+00:00", stored, words
    )
    await record_source(vault, source)
    quotes = []
    for part in parts:
        place = text.index(part)
        quote = Quote(f"e{len(quotes) + 1 + (number - 1) * _QUOTES}", source.source_id, place, place + len(part), part)
        await record_quote(vault, quote)
        quotes.append(quote)
    return source, quotes
