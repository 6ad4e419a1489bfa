"""The HTML document: one file that needs nothing else, runs nothing and sends nothing.

Its own security policy forbids scripts and every request, so that even a mistake of ours in escaping could not do anything.
Quotes open with `<details>`, by key or pointer; on paper they are all open.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from importlib import resources

from stepwell.apps.research.export import wording
from stepwell.apps.research.export.dossier import Dossier, clean
from stepwell.apps.research.export.markdown import Block, Span, blocks
from stepwell.apps.research.export.page_parts import claims, plan, policy, receipt, sources

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
    return (resources.files("stepwell.apps.research.export") / "page.css").read_text(encoding="utf-8")


def _contents(dossier: Dossier) -> str:
    parts = [("report", "Report"), ("claims", "Claims"), ("sources", "All sources")]
    parts += [("plan", "Plan")] if dossier.steps else []
    parts += [("policy", "Policy")] if dossier.policy else []
    links = "".join(f'<li><a href="#{place}">{name}</a></li>' for place, name in [*parts, ("receipt", "What left the machine")])
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


def _report(found: list[Block]) -> str:
    return "\n".join(_elements(found))


def _elements(found: list[Block]) -> Iterator[str]:
    """Neighbouring items make one list. References lead to the list at the report's end, whose lines have their numbers as ids."""
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
