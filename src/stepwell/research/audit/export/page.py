"""The HTML document: one file that needs nothing else, runs nothing and sends nothing.

Its own security policy forbids scripts and all requests, so that even a mistake in our escaping could do no harm.
Quotes open with `<details>`, by key or pointer; in print they are all open.
Below the report come claims, sources, plan, policy and receipt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from importlib import resources

from stepwell.research.audit.evidence import Claim, Quote, Source
from stepwell.research.audit.export import wording
from stepwell.research.audit.export.dossier import Dossier, clean
from stepwell.research.audit.export.markdown import Block, Span, blocks
from stepwell.research.audit.levels import name_level, spell_reason
from stepwell.research.audit.writing.references import address

CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def to_html(dossier: Dossier) -> bytes:
    """The whole page."""
    title = escape(clean(wording.title_of(dossier)))
    lead = "".join(f"<p>{escape(line)}</p>" for line in wording.about(dossier))
    found = blocks(dossier.report)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{title}</title>",
            f"<style>\n{_style()}</style>",
            "</head>",
            "<body>",
            '<a class="skip" href="#report">Skip to the report</a>',
            f'<header><p class="kind">Research report</p><p class="question">{title}</p><div class="about">{lead}</div></header>',
            _contents(dossier),
            "<main>",
            f'<article id="report" aria-label="Report">\n{_report(found)}\n</article>',
            claims(dossier),
            sources(dossier),
            plan(dossier),
            policy(dossier),
            receipt(dossier),
            "</main>",
            f"<footer><p>{escape(wording.HOW_TO_CHECK)}</p></footer>",
            "</body>",
            "</html>\n",
        ]
    ).encode()


def _style() -> str:
    return (resources.files("stepwell.research.audit.export") / "page.css").read_text(encoding="utf-8")


def _contents(dossier: Dossier) -> str:
    parts = [("report", "Report"), ("claims", "Claims"), ("sources", "All sources")]
    parts += [("plan", "Plan")] if dossier.steps else []
    parts += [("policy", "Policy")] if dossier.policy else []
    links = "".join(f'<li><a href="#{place}">{name}</a></li>' for place, name in [*parts, ("receipt", "What left the machine")])
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


def _report(found: list[Block]) -> str:
    return "\n".join(_elements(found))


def _elements(found: list[Block]) -> Iterator[str]:
    """The blocks as HTML. Adjacent items form one list. References link to the list of sources at the report's end, whose lines have
    their numbers as ids."""
    previous = ""
    tags = {"item": "ul", "numbered": "ol"}
    for block in [*found, Block("paragraph", ())]:
        if previous in tags and block.kind != previous:
            yield f"</{tags[previous]}>"
        if block.kind in tags and block.kind != previous:
            yield f"<{tags[block.kind]}>"
        previous = block.kind
        inner = "".join(map(_inline, block.spans))
        if block.kind == "heading":
            yield f"<h{block.level}>{inner}</h{block.level}>"
        elif block.kind == "numbered":
            yield f'<li id="ref-{block.level}" value="{block.level}">{inner}</li>'
        elif block.kind == "item":
            yield f"<li>{inner}</li>"
        elif block.kind == "note":
            yield f'<p class="note" role="note">{inner}</p>'
        elif inner:
            yield f"<p>{inner}</p>"


def _inline(span: Span) -> str:
    text = escape(span.text)
    match span.style:
        case "strong":
            return f"<strong>{text}</strong>"
        case "emphasis":
            return f"<em>{text}</em>"
        case "code":
            return f"<code>{text}</code>"
        case "link":
            return f'<a href="{escape(span.target)}" rel="noreferrer">{text}</a>'
        case "reference":
            links = ", ".join(f'<a href="#ref-{each}" aria-label="source {each}">{each}</a>' for each in span.numbers)
            return f'<span class="ref">[{links}]</span>'
    return text


def claims(dossier: Dossier) -> str:
    count = escape(wording.count_of_verdicts(dossier)) or "none"
    items = "\n".join(_claim(dossier, claim) for claim in dossier.claims)
    meaning = "".join(f"<dt>{escape(name)}</dt><dd>{escape(said)}</dd>" for name, said in wording.levels_of(dossier))
    levels = f'<p class="place">{escape(wording.LEVELS_NOTE)}</p><dl class="levels">{meaning}</dl>' if meaning else ""
    return _section("claims", "Claims", f"<p>{count}. {wording.LEFT_OUT}</p>\n{levels}\n<ol>\n{items}\n</ol>")


def _claim(dossier: Dossier, claim: Claim) -> str:
    badge = f'<span class="verdict {claim.verdict}">{name_level(claim.verdict)}</span>'
    reasons = "".join(f"<li>{escape(clean(spell_reason(reason)))}</li>" for reason in claim.reasons)
    why = f"<ul>{reasons}</ul>" if reasons else ""
    cited = dossier.cited(claim)
    quotes = "\n".join(_quote(quote, source) for quote, source in cited)
    many = f"{len(cited)} quotes" if len(cited) != 1 else "1 quote"
    opened = f"<details><summary>{many}</summary>\n{quotes}\n</details>" if cited else "<p>It cites nothing that is stored.</p>"
    return f'<li id="{escape(claim.claim_id)}"><p>{badge} {escape(clean(claim.text))}</p>{why}{opened}</li>'


def _quote(quote: Quote, source: Source) -> str:
    place = escape(wording.place_in_text(quote, source))
    return (
        f"<blockquote><p>{escape(clean(quote.text))}</p></blockquote>"
        f'<p class="place">{escape(quote.quote_id)} · <a href="#source-{escape(source.source_id)}">'
        f"{escape(wording.source_title(source))}</a>, {place}</p>"
    )


def sources(dossier: Dossier) -> str:
    items = "\n".join(_source(dossier, source) for source in dossier.sources)
    return _section(
        "sources", "All sources", f'<p>{len(dossier.sources)} were read, cited or not.</p>\n<ul class="plain">\n{items}\n</ul>'
    )


def _source(dossier: Dossier, source: Source) -> str:
    where, title = address(source), escape(wording.source_title(source))
    named = f'<a href="{escape(where)}" rel="noreferrer">{title}</a>' if where else f"{title} (from your device)"
    known = wording.source_facts(source, dossier)
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in known)
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
