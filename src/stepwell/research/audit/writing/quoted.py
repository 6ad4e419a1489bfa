"""A quote in a report that no model wrote: each sentence of the quote is followed by the quote's id, and has no links.

A check of such a report parses its quotes in the same way, and finds each sentence of the report among them.
"""

from __future__ import annotations

from stepwell.research.audit.evidence import Quote
from stepwell.research.audit.sentences import passages
from stepwell.research.audit.writing.draft import DraftBlock, read_draft


def quote_blocks(quote: Quote) -> tuple[tuple[DraftBlock, ...], int]:
    """The quote as list items, and how many links were removed from it."""
    cited = " ".join(f"{' '.join(passage.text.split())} [{quote.quote_id}]" for passage in passages(quote.text))
    draft = read_draft(f"- {cited}")
    return draft.blocks, draft.removed_links


def quoted_sentences(quote: Quote) -> set[tuple[str, tuple[str, ...]]]:
    """Each sentence that a report may take from a quote, with its citation."""
    return {
        (each.text, each.evidence) for block in quote_blocks(quote)[0] if block.kind != "heading" for each in block.sentences
    }
