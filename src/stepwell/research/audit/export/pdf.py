"""The PDF document, with reportlab.

We use reportlab because it is under the BSD licence, maintained since 2000, and has no compiled part of its own. Its text is Unicode with
an embedded font: FiraGO from the package `pymupdf-fonts` (SIL OFL), which covers Latin, Greek and Cyrillic. reportlab neither shapes text
nor sets it right to left, so Arabic, Hebrew and Indic scripts, and everything else the font lacks (Chinese, Japanese, Korean), appear as
boxes, and a note on the first page says how many. The other formats have no such limit.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from html import escape
from importlib import import_module
from io import BytesIO
from typing import Any

from stepwell.errors import needs_extra
from stepwell.research.audit.evidence import Claim
from stepwell.research.audit.export import wording
from stepwell.research.audit.export.dossier import Dossier, clean
from stepwell.research.audit.export.markdown import Block, Span, blocks
from stepwell.research.audit.levels import name_level, spell_reason
from stepwell.research.audit.writing.references import address

MISSING = "\N{WHITE SQUARE}"
_SHAPED = range(0x0900, 0x0E00)
"""Indic scripts, whose letters change shape with their neighbours. Nothing here supports that."""
_FONT_STYLES = {"FiraGO": "Regular", "FiraGO-Bold": "Bold", "FiraGO-Italic": "Italic", "FiraGO-BoldItalic": "BoldItalic"}
_COLOURS = {
    "verbatim": "#444444",
    "supported": "#444444",
    "partial": "#6b4300",
    "unsupported": "#8c1111",
    "contradicted": "#8c1111",
}


def to_pdf(dossier: Dossier) -> bytes:
    """The whole document; the same dossier gives the same bytes."""
    with needs_extra("Export to PDF", "research"):
        from reportlab.platypus import SimpleDocTemplate  # type: ignore[import-untyped]  # it ships no types

        sheet = _Sheet(_register_font())
    body = [part for section in (_report, _claims, _sources, _plan, _receipt) for part in section(dossier, sheet)]
    file = BytesIO()
    document = SimpleDocTemplate(
        file,
        title=clean(wording.title_of(dossier)),
        author="Stepwell",
        leftMargin=62,
        rightMargin=62,
        topMargin=60,
        bottomMargin=60,
        invariant=1,
        lang="en",
    )
    document.build([*_opening(dossier, sheet), *body], onFirstPage=sheet.foot, onLaterPages=sheet.foot)
    return file.getvalue()


def _register_font() -> frozenset[int]:
    """Register the font with reportlab, which stores fonts by name for the process; returns the characters that the font covers."""
    from reportlab.pdfbase import pdfmetrics  # type: ignore[import-untyped]  # it ships no types
    from reportlab.pdfbase.ttfonts import TTFont  # type: ignore[import-untyped]  # it ships no types

    for name, style in _FONT_STYLES.items():
        if name not in pdfmetrics.getRegisteredFontNames():
            pdfmetrics.registerFont(TTFont(name, BytesIO(import_module(f"pymupdf_fonts.FiraGO_{style}").fontbuffer)))
    pdfmetrics.registerFontFamily("FiraGO", *_FONT_STYLES)
    font: Any = pdfmetrics.getFont("FiraGO")
    return frozenset(font.face.charToGlyph)


class _Sheet:
    """Makes paragraphs, and counts the characters that the font cannot show."""

    def __init__(self, covered: frozenset[int]) -> None:
        self._covered = covered
        self.missing = 0

    def text(self, text: str) -> str:
        """Escaped text that the font can show."""
        shown = "".join(character if self._has(character) else MISSING for character in clean(text))
        self.missing += shown.count(MISSING) - text.count(MISSING)
        return escape(shown, quote=True)

    def line(
        self, markup: str, *, size: float = 10, indent: float = 0, before: float = 0, after: float = 4, **more: Any
    ) -> Any:
        """A paragraph. `markup` is reportlab's, built only from `text`."""
        from reportlab.lib.styles import ParagraphStyle  # type: ignore[import-untyped]  # it ships no types
        from reportlab.platypus import Paragraph

        style = ParagraphStyle(
            "line", fontName="FiraGO", fontSize=size, leading=size * 1.4, leftIndent=indent, spaceBefore=before, spaceAfter=after,
            splitLongWords=1, bulletFontName="FiraGO", keepWithNext=more.pop("heading", False),
        )  # fmt: skip
        return Paragraph(markup, style, **more)

    def heading(self, text: str, level: int = 2) -> Any:
        return self.line(f"<b>{self.text(text)}</b>", size={1: 17, 2: 13}.get(level, 11), before=10, after=5, heading=True)

    def small(self, text: str, indent: float = 0) -> Any:
        return self.line(f'<font color="#555555">{self.text(text)}</font>', size=8, indent=indent, after=2)

    def _has(self, character: str) -> bool:
        code = ord(character)
        turned = unicodedata.bidirectional(character) in ("R", "AL")
        return character in "\n\t" or (code in self._covered and code not in _SHAPED and not turned)

    @staticmethod
    def foot(canvas: Any, document: Any) -> None:
        canvas.saveState()
        canvas.setFont("FiraGO", 8)
        canvas.drawCentredString(document.pagesize[0] / 2, 32, str(canvas.getPageNumber()))
        canvas.restoreState()


def _opening(dossier: Dossier, sheet: _Sheet) -> Iterator[Any]:
    """The beginning of the document. Built last, because only then we know what could not be shown."""
    yield sheet.line(f"<b>{sheet.text(wording.title_of(dossier))}</b>", size=17, after=6)
    for line in wording.about(dossier):
        yield sheet.small(line)
    if sheet.missing:
        yield sheet.small(
            f"{sheet.missing} characters of this document are of scripts that it cannot show; they appear as {MISSING}. "
            "The HTML and DOCX forms show all of them."
        )


def _report(dossier: Dossier, sheet: _Sheet) -> Iterator[Any]:
    for block in blocks(dossier.report):
        if block.kind == "heading":
            yield sheet.heading(block.text, block.level)
        else:
            yield sheet.line("".join(_inline(span, sheet) for span in block.spans), **_place(block))


def _place(block: Block) -> dict[str, Any]:
    match block.kind:
        case "item":
            return {"indent": 14, "bulletText": "•", "after": 3}
        case "numbered":
            return {"indent": 20, "bulletText": f"{block.level}.", "after": 3, "size": 9}
        case "note":
            return {"indent": 14, "after": 6, "size": 9}
    return {"after": 6}


def _inline(span: Span, sheet: _Sheet) -> str:
    text = sheet.text(span.text)
    match span.style:
        case "strong":
            return f"<b>{text}</b>"
        case "emphasis":
            return f"<i>{text}</i>"
        case "link":
            return _link(span.target, text)
        case "reference":
            return f"[{text}]"
    return text


def _link(target: str, text: str) -> str:
    return f'<a href="{escape(target, quote=True)}" color="#0b4f9e">{text}</a>'


def _claims(dossier: Dossier, sheet: _Sheet) -> Iterator[Any]:
    yield sheet.heading("Claims")
    yield sheet.line(sheet.text(f"{wording.count_of_verdicts(dossier) or 'none'}. {wording.LEFT_OUT} {wording.HOW_TO_CHECK}"))
    if levels := wording.levels_of(dossier):
        yield sheet.small(wording.LEVELS_NOTE)
        for name, share in levels:
            yield sheet.small(f"{name}: {share}", indent=14)
    for claim in dossier.claims:
        yield sheet.line(_claim(claim, sheet), before=4, heading=True)
        for reason in claim.reasons:
            yield sheet.small(spell_reason(reason), indent=14)
        for quote, source in dossier.cited(claim):
            yield sheet.line(f"<i>“{sheet.text(quote.text)}”</i>", size=9, indent=14, after=1)
            yield sheet.small(f"{wording.quote_place(quote, source)}: {wording.source_title(source)}", indent=14)


def _claim(claim: Claim, sheet: _Sheet) -> str:
    words = name_level(claim.verdict)
    return f'<font color="{_COLOURS[claim.verdict]}"><b>{words}</b></font> {sheet.text(claim.text)}'


def _sources(dossier: Dossier, sheet: _Sheet) -> Iterator[Any]:
    yield sheet.heading("All sources")
    for source in dossier.sources:
        where, title = address(source), sheet.text(wording.source_title(source))
        yield sheet.line(f"{sheet.text(source.source_id)} · {_link(where, title) if where else title}", before=3, after=1)
        yield sheet.small(where or "from your device", indent=14)
        yield sheet.small("; ".join(f"{name} {value}" for name, value in wording.source_facts(source, dossier)), indent=14)


def _plan(dossier: Dossier, sheet: _Sheet) -> Iterator[Any]:
    if not dossier.steps:
        return
    yield sheet.heading("Plan")
    yield sheet.line(sheet.text(str(dossier.plan.get("objective", ""))))
    for number, step in enumerate(dossier.steps, 1):
        yield sheet.line(sheet.text(wording.step_line(step)), indent=20, bulletText=f"{number}.")
    for entry in dossier.approvals:
        yield sheet.small(wording.approval_line(entry))
    if dossier.policy:
        yield sheet.heading("Policy")
        for line in dossier.policy.splitlines():
            yield sheet.small(line)


def _receipt(dossier: Dossier, sheet: _Sheet) -> Iterator[Any]:
    yield sheet.heading("What left the machine")
    yield sheet.line(sheet.text(wording.receipt_total(dossier)))
    for at, where, size, why in wording.receipt_rows(dossier):
        yield sheet.small(f"{at}  {where}  {size} bytes  {why}")
    if total := wording.refused_total(dossier):
        yield sheet.line(sheet.text(total))
    for at, where, why in wording.refused_rows(dossier):
        yield sheet.small(f"{at}  {where}  {why}")
