"""The DOCX document, with python-docx (MIT; it needs lxml, which we already use to read pages)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import Any

from stepwell.errors import needs_extra
from stepwell.research.audit.export import wording
from stepwell.research.audit.export.dossier import Dossier, clean
from stepwell.research.audit.export.markdown import Block, Span, blocks
from stepwell.research.audit.levels import name_level, spell_reason
from stepwell.research.audit.writing.references import address

_STYLES = {"item": "List Bullet", "numbered": "Normal", "paragraph": "Normal", "note": "Intense Quote"}


def to_docx(dossier: Dossier) -> bytes:
    """The whole document."""
    with needs_extra("Export to DOCX", "research"):
        import docx
    document = docx.Document()
    document.core_properties.title = clean(wording.title_of(dossier))[:255]
    document.core_properties.author = "Stepwell"
    document.core_properties.comments = ""
    document.add_heading(clean(wording.title_of(dossier)), 0)
    for line in wording.about(dossier):
        document.add_paragraph(line)
    for block in blocks(dossier.report):
        _block(document, block)
    for part in (_claims, _sources, _plan, _receipt):
        part(document, dossier)
    file = BytesIO()
    document.save(file)
    return file.getvalue()


def _block(document: Any, block: Block) -> None:
    if block.kind == "heading":
        document.add_heading(block.text, min(block.level, 9))
        return
    paragraph = document.add_paragraph(style=_STYLES[block.kind])
    if block.kind == "numbered":
        # Numbers are written as part of the text, because an editor that renumbers a list would break the report's references.
        paragraph.add_run(f"{block.level}. ")
    for span in block.spans:
        _span(paragraph, span)


def _span(paragraph: Any, span: Span) -> None:
    if span.style == "link":
        _link(paragraph, span.text, span.target)
        return
    run = paragraph.add_run(f"[{span.text}]" if span.style == "reference" else span.text)
    run.bold = True if span.style == "strong" else None
    run.italic = True if span.style == "emphasis" else None


def _link(paragraph: Any, text: str, target: str) -> None:
    """Adds a link. python-docx does not support links, so we build the element by hand, with the address as a relation of the document."""
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn
    from docx.shared import RGBColor

    link = OxmlElement("w:hyperlink")
    link.set(qn("r:id"), paragraph.part.relate_to(target, RELATIONSHIP_TYPE.HYPERLINK, is_external=True))
    run = paragraph.add_run(text)
    run.font.underline = True
    run.font.color.rgb = RGBColor(0x0B, 0x4F, 0x9E)
    link.append(run._r)  # the public API cannot move a run
    paragraph._p.append(link)


def _claims(document: Any, dossier: Dossier) -> None:
    document.add_heading("Claims", 2)
    document.add_paragraph(f"{wording.count_of_verdicts(dossier) or 'none'}. {wording.LEFT_OUT} {wording.HOW_TO_CHECK}")
    if levels := wording.levels_of(dossier):
        document.add_paragraph(wording.LEVELS_NOTE)
        for name, share in levels:
            document.add_paragraph(f"{name}: {share}", style="List Bullet")
    for claim in dossier.claims:
        paragraph = document.add_paragraph()
        paragraph.add_run(name_level(claim.verdict)).bold = True
        paragraph.add_run(f" {clean(claim.text)}")
        for reason in claim.reasons:
            document.add_paragraph(clean(spell_reason(reason)), style="List Bullet")
        for quote, source in dossier.cited(claim):
            document.add_paragraph(f"“{clean(quote.text)}”", style="Quote")
            document.add_paragraph(f"{wording.quote_place(quote, source)}: {wording.source_title(source)}")


def _sources(document: Any, dossier: Dossier) -> None:
    document.add_heading("All sources", 2)
    for source in dossier.sources:
        where, title = address(source), wording.source_title(source)
        paragraph = document.add_paragraph(f"{source.source_id} · ")
        if where:
            _link(paragraph, title, where)
        else:
            paragraph.add_run(f"{title} (from your device)")
        document.add_paragraph("; ".join(f"{name} {value}" for name, value in wording.source_facts(source, dossier)))


def _plan(document: Any, dossier: Dossier) -> None:
    if dossier.steps:
        document.add_heading("Plan", 2)
        document.add_paragraph(clean(str(dossier.plan.get("objective", ""))))
        for step in dossier.steps:
            document.add_paragraph(wording.step_line(step), style="List Number")
        for entry in dossier.approvals:
            document.add_paragraph(wording.approval_line(entry))
    if dossier.policy:
        document.add_heading("Policy", 2)
        document.add_paragraph(clean(dossier.policy))


def _receipt(document: Any, dossier: Dossier) -> None:
    document.add_heading("What left the machine", 2)
    document.add_paragraph(wording.receipt_total(dossier))
    _table(document, ("When", "Where to", "Bytes", "Why"), wording.receipt_rows(dossier))
    if total := wording.refused_total(dossier):
        document.add_paragraph(total)
        _table(document, ("When", "Where to", "Why not"), wording.refused_rows(dossier))


def _table(document: Any, names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = document.add_table(rows=1, cols=len(names))
    for cell, name in zip(table.rows[0].cells, names, strict=True):
        cell.text = name
    for row in rows:
        for cell, value in zip(table.add_row().cells, row, strict=True):
            cell.text = value
