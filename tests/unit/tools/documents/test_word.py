"""DOCX: what a reader of the printed page would see, and where it stands."""

from __future__ import annotations

from typing import Any

from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from tests.unit.tools.documents.making import changed, docx, read

from stepwell.tools.documents.parts import place_of

W = nsdecls("w")


def text_of(build: Any) -> str:
    return read(docx(build), "a.docx").text


def add(document: Any, xml: str) -> None:
    document.element.body.insert(len(document.element.body) - 1, parse_xml(xml))


def test_headings_begin_parts_that_have_their_names():
    def build(document: Any) -> None:
        document.core_properties.title = "Wells of the north"
        document.add_paragraph("Before any heading.")
        document.add_heading("Wells", 0)
        document.add_heading("Depth", 1)
        document.add_paragraph("The Kessel well is 12 metres deep.")
        document.add_heading("Age", 2)
        document.add_paragraph("It was dug in 1890.")

    page = read(docx(build), "a.docx")
    assert page.text == (
        "Before any heading.\n\n# Wells\n\n# Depth\n\nThe Kessel well is 12 metres deep.\n\n## Age\n\nIt was dug in 1890."
    )
    assert page.title == "Wells of the north"
    assert [part.name for part in page.parts] == ["beginning", "section Wells", "section Depth", "section Age"]
    begin = page.text.index("dug in 1890")
    assert place_of(page.parts, begin, begin + 5) == "section Age"


def test_a_paragraph_with_an_outline_level_is_a_heading():
    xml = f'<w:p {W}><w:pPr><w:outlineLvl w:val="1"/></w:pPr><w:r><w:t>Costs</w:t></w:r></w:p>'
    assert text_of(lambda document: add(document, xml)) == "## Costs"


def test_list_items_stand_on_lines_of_their_own():
    def build(document: Any) -> None:
        document.add_paragraph("Two things:")
        document.add_paragraph("rope", style="List Bullet")
        document.add_paragraph("bucket", style="List Bullet")
        document.add_paragraph("first", style="List Number")
        document.add_paragraph("second", style="List Number")

    assert text_of(build) == "Two things:\n\n- rope\n- bucket\n1. first\n2. second"


def test_each_row_of_a_table_is_a_paragraph_with_its_headers():
    def build(document: Any) -> None:
        table = document.add_table(rows=3, cols=3)
        for row, values in zip(
            table.rows, [("Well", "Depth", "Dug"), ("Kessel", "12 m", "1890"), ("Aue", "", "1902")], strict=True
        ):
            for cell, value in zip(row.cells, values, strict=True):
                cell.text = value

    assert text_of(build) == "Well: Kessel; Depth: 12 m; Dug: 1890\n\nWell: Aue; Dug: 1902"


def test_a_cell_over_columns_counts_once_and_one_over_rows_in_each():
    def build(document: Any) -> None:
        table = document.add_table(rows=3, cols=3)
        for row, values in zip(
            table.rows, [("Region", "Well", "Depth"), ("North", "Kessel", "12"), ("", "Aue", "9")], strict=True
        ):
            for cell, value in zip(row.cells, values, strict=True):
                cell.text = value
        table.cell(1, 0).merge(table.cell(2, 0))
        wide = table.add_row()
        wide.cells[0].merge(wide.cells[2]).text = "All figures in metres"

    assert text_of(build).split("\n\n") == [
        "Region: North; Well: Kessel; Depth: 12",
        "Region: North; Well: Aue; Depth: 9",
        "Region: All figures in metres",
    ]


def test_deleted_and_hidden_text_is_left_out_and_inserted_text_is_read():
    xml = (
        f'<w:p {W}><w:r><w:t xml:space="preserve">The well is </w:t></w:r>'
        '<w:del w:id="1" w:author="a"><w:r><w:delText>9</w:delText></w:r></w:del>'
        '<w:ins w:id="2" w:author="a"><w:r><w:t>12</w:t></w:r></w:ins>'
        '<w:r><w:rPr><w:vanish/></w:rPr><w:t> secretly</w:t></w:r><w:r><w:t xml:space="preserve"> m deep.</w:t></w:r></w:p>'
    )
    assert text_of(lambda document: add(document, xml)) == "The well is 12 m deep."


def test_comments_are_left_out():
    def build(document: Any) -> None:
        run = document.add_paragraph("The well is deep.").runs[0]
        document.add_comment(run, text="Says who?", author="Ann", initials="A")

    assert text_of(build) == "The well is deep."


def test_a_text_box_is_read_once_behind_its_paragraph():
    box = "<w:txbxContent><w:p><w:r><w:t>In the box.</w:t></w:r></w:p></w:txbxContent>"
    xml = (
        f'<w:p {W} xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:v="urn:schemas-microsoft-com:vml" '
        'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"><w:r><w:t>Around it.</w:t></w:r><w:r>'
        f'<mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wps:txbx>{box}</wps:txbx></w:drawing></mc:Choice>'
        f"<mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>"
    )
    assert text_of(lambda document: add(document, xml)) == "Around it.\n\nIn the box."


def test_a_footnote_follows_the_paragraph_that_refers_to_it():
    xml = f'<w:p {W}><w:r><w:t>Deep</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:t>, as they say.</w:t></w:r></w:p>'
    notes = (
        f'<w:footnotes {W}><w:footnote w:id="0" w:type="separator"><w:p/></w:footnote>'
        '<w:footnote w:id="2"><w:p><w:r><w:t>Miller 1890.</w:t></w:r></w:p></w:footnote></w:footnotes>'
    )
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
    content = changed(
        docx(lambda document: add(document, xml)),
        {
            "word/footnotes.xml": notes.encode(),
            "word/_rels/document.xml.rels": lambda rels: rels.replace(
                b"</Relationships>", f'<Relationship Id="n9" Type="{kind}" Target="footnotes.xml"/></Relationships>'.encode()
            ),
        },
    )
    assert read(content, "a.docx").text == "Deep, as they say.\n\nFootnote 1: Miller 1890."


def test_macros_are_named_and_not_read():
    content = changed(docx(lambda document: document.add_paragraph("Some words.")), {"word/vbaProject.bin": b"macro"})
    page = read(content, "a.docm")
    assert (page.text, page.note) == ("Some words.", "It has macros, which were not read.")


def test_a_document_is_known_by_its_content_whatever_its_name():
    page = read(docx(lambda document: document.add_paragraph("Some words.")), "a.xlsx")
    assert page.media_type.endswith("wordprocessingml.document")
