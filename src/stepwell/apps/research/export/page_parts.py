"""The parts of the HTML document below the report: claims, sources, plan, policy, receipt. Everything is escaped here."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from stepwell.apps.research.export import wording
from stepwell.apps.research.export.dossier import Dossier, clean
from stepwell.audit.evidence import Claim, Quote, Source
from stepwell.audit.references import address


def claims(dossier: Dossier) -> str:
    count = escape(wording.count_of_verdicts(dossier)) or "none"
    items = "\n".join(_claim(dossier, claim) for claim in dossier.claims)
    return _section(
        "claims",
        "Claims",
        f"<p>{count}. Sentences that are not supported were taken out of the report.</p>\n<ol>\n{items}\n</ol>",
    )


def _claim(dossier: Dossier, claim: Claim) -> str:
    badge = f'<span class="verdict {claim.verdict}">{wording.VERDICT_WORDS[claim.verdict]}</span>'
    reasons = "".join(f"<li>{escape(clean(reason))}</li>" for reason in claim.reasons)
    why = f"<ul>{reasons}</ul>" if reasons else ""
    cited = dossier.cited(claim)
    quotes = "\n".join(_quote(quote, source) for quote, source in cited)
    many = f"{len(cited)} quotes" if len(cited) != 1 else "1 quote"
    opened = f"<details><summary>{many}</summary>\n{quotes}\n</details>" if cited else "<p>It cites nothing that is stored.</p>"
    return f'<li id="{escape(claim.claim_id)}"><p>{badge} {escape(clean(claim.text))}</p>{why}{opened}</li>'


def _quote(quote: Quote, source: Source) -> str:
    place = escape(f"characters {quote.start} to {quote.end}")
    return (
        f"<blockquote><p>{escape(clean(quote.text))}</p></blockquote>"
        f'<p class="place">{escape(quote.quote_id)} · <a href="#source-{escape(source.source_id)}">'
        f"{escape(wording.source_title(source))}</a>, {place}</p>"
    )


def sources(dossier: Dossier) -> str:
    items = "\n".join(_source(source) for source in dossier.sources)
    return _section(
        "sources", "All sources", f'<p>{len(dossier.sources)} were read, cited or not.</p>\n<ul class="plain">\n{items}\n</ul>'
    )


def _source(source: Source) -> str:
    where, title = address(source), escape(wording.source_title(source))
    named = f'<a href="{escape(where)}" rel="noreferrer">{title}</a>' if where else f"{title} (from your device)"
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in wording.source_facts(source))
    return f'<li id="source-{escape(source.source_id)}"><p>{escape(source.source_id)} · {named}</p><dl>{facts}</dl></li>'


def plan(dossier: Dossier) -> str:
    if not dossier.steps:
        return ""
    goal = f"<p>{escape(clean(str(dossier.plan.get('objective', ''))))}</p>"
    steps = _list("ol", (wording.step_line(step) for step in dossier.steps))
    said = _list("ul", map(wording.approval_line, dossier.approvals))
    return _section("plan", "Plan", f"{goal}\n{steps}\n<h3>What was said at the gate</h3>\n{said or '<p>Nothing.</p>'}")


def policy(dossier: Dossier) -> str:
    if not dossier.policy:
        return ""
    text = escape(clean(dossier.policy))
    return _section(
        "policy", "Policy", f"<details><summary>The policy this research was held to</summary><pre>{text}</pre></details>"
    )


def receipt(dossier: Dossier) -> str:
    left = _table("Every request, in order", ("When", "Where to", "Bytes", "Why"), wording.receipt_rows(dossier))
    parts = [f"<p>{escape(wording.receipt_total(dossier))}</p>", left]
    if total := wording.refused_total(dossier):
        refused = _table("What was refused, in order", ("When", "Where to", "Why not"), wording.refused_rows(dossier))
        parts += [f"<p>{escape(total)}</p>", refused]
    return _section("receipt", "What left the machine", "\n".join(parts))


def _table(caption: str, names: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(value)}</td>" for value in row) + "</tr>" for row in rows)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{caption}"><table><caption>{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )


def _list(tag: str, lines: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<{tag}>{items}</{tag}>" if items else ""


def _section(place: str, title: str, inner: str) -> str:
    return f'<section aria-labelledby="{place}">\n<h2 id="{place}">{title}</h2>\n{inner}\n</section>'
