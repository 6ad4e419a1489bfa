"""Documents that the tests drop on the page, made when they are needed."""

from __future__ import annotations

import zipfile
from email.message import EmailMessage
from io import BytesIO
from typing import Any
from xml.sax.saxutils import escape

from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import simpleSplit
from reportlab.pdfgen.canvas import Canvas


def pdf(*pages: str, password: str | None = None) -> bytes:
    """One page for each text; with a password, locked. A line that begins with `# ` is a heading in larger letters."""
    locked: Any = StandardEncryption(password, strength=128) if password else None
    return _draw(lambda canvas: [_write(canvas, text) for text in pages], locked)


def scanned_pdf() -> bytes:
    """A picture of a page, as a scanner makes it."""

    def draw(canvas: Canvas) -> None:
        canvas.drawInlineImage(Image.new("L", (60, 84), 200), 0, 0, *A4)
        canvas.showPage()

    return _draw(draw)


def broken_pdf() -> bytes:
    """The beginning of one, with nothing behind it that could be put together again."""
    return pdf("Whole once.")[:60]


def _write(canvas: Canvas, text: str) -> None:
    lines = canvas.beginText(50, 790)
    for part in text.split("\n"):
        size = 16 if part.startswith("# ") else 11
        lines.setFont("Helvetica", size, leading=1.2 * size)
        for line in simpleSplit(part.removeprefix("# "), "Helvetica", size, 490):
            lines.textLine(line)
    canvas.drawText(lines)
    canvas.showPage()


def _draw(draw: Any, locked: Any = None) -> bytes:
    file = BytesIO()
    canvas = Canvas(file, pagesize=A4, encrypt=locked)
    draw(canvas)
    canvas.save()
    return file.getvalue()


def docx(*paragraphs: str, title: str = "") -> bytes:
    """A Word file. A paragraph that begins with `# ` is a heading."""
    from docx import Document  # an extra's, and slow to load

    made = Document()
    made.core_properties.title = title
    for paragraph in paragraphs:
        made.add_heading(paragraph[2:], 1) if paragraph.startswith("# ") else made.add_paragraph(paragraph)
    file = BytesIO()
    made.save(file)
    return file.getvalue()


def xlsx(**sheets: list[tuple[str | int, ...]]) -> bytes:
    """A workbook with these rows in its sheets, from A1 on."""
    names = list(sheets)
    parts = {
        "[Content_Types].xml": _types(
            {"/xl/workbook.xml": f"{_OFFICE}.spreadsheetml.sheet.main+xml"}
            | {f"/xl/worksheets/sheet{n}.xml": f"{_OFFICE}.spreadsheetml.worksheet+xml" for n in range(1, len(names) + 1)}
        ),
        "_rels/.rels": _relations({"rId1": ("officeDocument", "xl/workbook.xml")}),
        "xl/_rels/workbook.xml.rels": _relations(
            {f"rId{n}": ("worksheet", f"worksheets/sheet{n}.xml") for n in range(1, len(names) + 1)}
        ),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}/spreadsheetml/2006/main" xmlns:r="{_RELATED}"><sheets>'
        + "".join(f'<sheet name="{name}" sheetId="{n}" r:id="rId{n}"/>' for n, name in enumerate(names, 1))
        + "</sheets></workbook>",
    }
    for n, rows in enumerate(sheets.values(), 1):
        lines = "".join(f'<row r="{at}">{_cells(at, row)}</row>' for at, row in enumerate(rows, 1))
        sheet = f'<worksheet xmlns="{_MAIN}/spreadsheetml/2006/main"><sheetData>{lines}</sheetData></worksheet>'
        parts[f"xl/worksheets/sheet{n}.xml"] = sheet
    return _pack(parts)


def pptx(*slides: tuple[str, str]) -> bytes:
    """Slides, each a title and a text."""
    numbers = range(1, len(slides) + 1)
    ids = "".join(f'<p:sldId id="{255 + n}" r:id="rId{n}"/>' for n in numbers)
    parts = {
        "[Content_Types].xml": _types(
            {"/ppt/presentation.xml": f"{_OFFICE}.presentationml.presentation.main+xml"}
            | {f"/ppt/slides/slide{n}.xml": f"{_OFFICE}.presentationml.slide+xml" for n in numbers}
        ),
        "_rels/.rels": _relations({"rId1": ("officeDocument", "ppt/presentation.xml")}),
        "ppt/_rels/presentation.xml.rels": _relations({f"rId{n}": ("slide", f"slides/slide{n}.xml") for n in numbers}),
        "ppt/presentation.xml": f"<p:presentation {_SLIDES}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
    }
    for n, (title, text) in enumerate(slides, 1):
        shapes = _shape(2, title, '<p:ph type="title"/>') + _shape(3, text, "")
        parts[f"ppt/slides/slide{n}.xml"] = (
            f"<p:sld {_SLIDES}><p:cSld><p:spTree><p:nvGrpSpPr><p:cNvPr id='1' name=''/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr>"
            f"<p:grpSpPr/>{shapes}</p:spTree></p:cSld></p:sld>"
        )
    return _pack(parts)


def eml(sender: str, subject: str, text: str) -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, "office@quellmouth.example", subject
    message["Date"] = "Sat, 03 May 2025 10:00:00 +0000"
    message.set_content(text)
    return message.as_bytes()


_MAIN = "http://schemas.openxmlformats.org"
_RELATED = f"{_MAIN}/officeDocument/2006/relationships"
_OFFICE = "application/vnd.openxmlformats-officedocument"
_SLIDES = f'xmlns:p="{_MAIN}/presentationml/2006/main" xmlns:a="{_MAIN}/drawingml/2006/main" xmlns:r="{_RELATED}"'


def _cells(row: int, values: tuple[str | int, ...]) -> str:
    cells = []
    for column, value in zip("ABCDEFGH", values, strict=False):
        if isinstance(value, int):
            cells.append(f'<c r="{column}{row}"><v>{value}</v></c>')
        else:
            cells.append(f'<c r="{column}{row}" t="inlineStr"><is><t>{escape(value)}</t></is></c>')
    return "".join(cells)


def _shape(number: int, text: str, holder: str) -> str:
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name="s{number}"/><p:cNvSpPr/><p:nvPr>{holder}</p:nvPr></p:nvSpPr><p:spPr/>'
        f"<p:txBody><a:bodyPr/><a:p><a:r><a:t>{escape(text)}</a:t></a:r></a:p></p:txBody></p:sp>"
    )


def _types(parts: dict[str, str]) -> str:
    named = "".join(f'<Override PartName="{name}" ContentType="{kind}"/>' for name, kind in parts.items())
    usual = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    return f'<Types xmlns="{_MAIN}/package/2006/content-types">{usual}{named}</Types>'


def _relations(targets: dict[str, tuple[str, str]]) -> str:
    each = "".join(f'<Relationship Id="{id}" Type="{_RELATED}/{kind}" Target="{to}"/>' for id, (kind, to) in targets.items())
    return f'<Relationships xmlns="{_MAIN}/package/2006/relationships">{each}</Relationships>'


def _pack(parts: dict[str, str]) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>{text}')
    return file.getvalue()
