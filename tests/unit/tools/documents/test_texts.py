"""CSV, JSON, mail, e-books, Markdown and PDF: text by the same rules, with the places where it stands."""

from __future__ import annotations

import io
import json
import re
import tracemalloc
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from tests.unit.tools.documents.making import packed, read, sheet

from stepwell.errors import FetchFailedError, FetchRefusedError
from stepwell.tools.documents.content import kind_of
from stepwell.tools.documents.kinds import EXTENSIONS, IMAGE_EXTENSIONS, KINDS, OLD_EXTENSIONS
from stepwell.tools.documents.parts import Part, place_of


def paragraphs(content: bytes | str, name: str) -> list[str]:
    return read(content.encode() if isinstance(content, str) else content, name).text.split("\n\n")


@pytest.mark.parametrize(
    "text",
    [
        "Well,Depth\nKessel,12\nAue,9\n",
        "Well;Depth\r\nKessel;12\r\nAue;9",
        "Well\tDepth\nKessel\t12\nAue\t9",
        "sep=|\nWell|Depth\nKessel|12\nAue|9",
    ],
)
def test_the_delimiter_of_a_table_is_found(text: str):
    assert paragraphs(text, "a.csv") == ["Well: Kessel; Depth: 12", "Well: Aue; Depth: 9"]


def test_rows_of_csv_are_named_by_the_line_where_they_begin():
    page = read(b'Well,Note\nKessel,"two\nlines, quoted"\nAue,x\n', "a.csv")
    assert page.text == "Well: Kessel; Note: two lines, quoted\n\nWell: Aue; Note: x"
    assert [part.name for part in page.parts] == ["line 2", "line 4"]
    assert place_of(page.parts, 0, len(page.text)) == "lines 2 to 4"


def test_csv_in_an_old_encoding_is_read():
    assert paragraphs("Name;Ort\nMüller;Köln\n".encode("windows-1252"), "a.csv") == ["Name: Müller; Ort: Köln"]


MAIL = {
    "type": "email", "id": "e1", "subject": "Meeting", "from": "ann@x.example", "from_name": "Ann Lee", "to": ["bob@x.example"], "cc": [],
    "date": "2026-07-01 09:00:00", "body": "Hello Bob,\n\nsee you.", "attachments": ["plan.pdf"],
}  # fmt: skip


def test_a_mail_export_becomes_messages():
    user = {
        "type": "user",
        "username": "bob",
        "first_name": "Bob",
        "last_name": "Ray",
        "email": "bob@x.example",
        "password": "hunter2",
    }
    page = read("\n".join(map(json.dumps, [user, MAIL])).encode(), "a.jsonl")
    assert page.text.split("\n\n") == [
        "type: user; username: bob; first_name: Bob; last_name: Ray; email: bob@x.example",
        "From: Ann Lee <ann@x.example>; To: Bob Ray <bob@x.example>; Date: 1 July 2026, 09:00; Subject: Meeting; Attachments: plan.pdf",
        "Hello Bob,",
        "see you.",
    ]
    assert [part.name for part in page.parts] == ["line 1", "message 1 (Ann Lee, 1 July 2026)"]


def test_a_chat_export_becomes_messages():
    post = {
        "type": "post",
        "post": {"channel": "wells", "user": "ann", "message": "The well is deep.", "create_at": 1620506000000},
    }
    page = read("\n".join(map(json.dumps, [{"type": "version", "version": 1}, post, post])).encode(), "a.jsonl")
    assert page.text.split("\n\n")[:3] == [
        "type: version; version: 1",
        "From: ann; Date: 8 May 2021, 20:33; Channel: wells",
        "The well is deep.",
    ]
    assert place_of(page.parts, len(page.text) - 60, len(page.text)).startswith("message")


def test_other_json_is_read_as_records_or_by_its_keys():
    assert paragraphs(
        json.dumps([{"well": "Kessel", "size": {"depth": 12}}, {"well": "Aue", "tags": ["old", "dry"]}]), "a.json"
    ) == [
        "well: Kessel; size.depth: 12",
        "well: Aue; tags: old, dry",
    ]
    assert paragraphs(json.dumps({"well": {"name": "Kessel", "places": {"north": 1}}}), "a.json") == [
        "# well", "name: Kessel", "## places", "north: 1",
    ]  # fmt: skip


def test_a_broken_line_is_read_as_it_is():
    page = read(b'{"well": "Kessel"}\n{"well": \n', "a.jsonl")
    assert (page.text, page.note) == ('well: Kessel\n\n{"well":', "One line is not valid JSON.")


def letter(subject: str, body: str, html: str = "") -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Ann Lee <ann@x.example>"
    message["To"] = "bob@x.example"
    message["Date"] = "Sat, 03 May 2025 14:05:00 +0200"
    message["Subject"] = subject
    if body:
        message.set_content(body)
    if html:
        (message.add_alternative if body else message.set_content)(html, subtype="html")
    return message


def test_a_mail_begins_with_its_headers_and_keeps_quotes_apart():
    message = letter("Wells – old", "It is deep.\n\nOn Friday Bob wrote:\n> How deep?\n\nAnn", "<p>It is HTML.</p>")
    message.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="plan.pdf")
    page = read(bytes(message), "a.eml")
    assert page.text.split("\n\n") == [
        "From: Ann Lee <ann@x.example>; To: bob@x.example; Date: 3 May 2025, 14:05; Subject: Wells – old",
        "It is deep.",
        "Ann",
        "On Friday Bob wrote:\n> How deep?",
    ]
    assert (page.title, page.note) == ("Wells – old", "Attachments, which were not read: plan.pdf.")
    assert page.parts[0].name == "message 1 (Ann Lee, 3 May 2025)"


def test_a_large_attachment_of_a_mail_is_named_and_costs_little():
    message = letter("Plan", "The pier costs 40 crowns.")
    message.add_attachment(bytes(range(256)) * 80_000, maintype="application", subtype="zip", filename="plan.zip")
    tracemalloc.start()
    page = read(bytes(message), "a.eml")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "The pier costs 40 crowns." in page.text
    assert "plan.zip" in page.note
    assert most < 150_000_000


def test_the_words_of_a_mail_in_html_alone_are_read():
    assert paragraphs(bytes(letter("x", "", "<p>It is <b>HTML</b>.</p><script>alert(1)</script>")), "a.eml")[1] == "It is HTML."


def test_the_messages_of_a_mailbox_are_counted():
    each = [bytes(letter(f"Number {n}", f"Text {n}.\n>From here on.")) for n in (1, 2)]
    page = read(b"".join(b"From ann@x.example Sat May  3 14:05:00 2025\n" + message + b"\n" for message in each), "a.mbox")
    assert [part.name for part in page.parts] == ["message 1 (Ann Lee, 3 May 2025)", "message 2 (Ann Lee, 3 May 2025)"]
    assert "Text 2." in page.text
    assert place_of(page.parts, 0, len(page.text)) == "messages 1 to 2"


CHAPTER = "<?xml version='1.0' encoding='utf-8'?><html xmlns='http://www.w3.org/1999/xhtml'><head><title>x</title></head><body>{}</body></html>"
CONTAINER = (
    "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container'>"
    "<rootfiles><rootfile full-path='OEBPS/book.opf'/></rootfiles></container>"
)
PACKAGE = (
    "<package xmlns='http://www.idpf.org/2007/opf' xmlns:dc='http://purl.org/dc/elements/1.1/'><metadata><dc:title>Wells</dc:title></metadata>"
    "<manifest><item id='b' href='b.xhtml' media-type='application/xhtml+xml'/>"
    "<item id='a' href='a%20a.xhtml' media-type='application/xhtml+xml'/>"
    "</manifest><spine><itemref idref='a'/><itemref idref='b'/><itemref idref='missing'/></spine></package>"
)


def test_an_e_book_is_read_chapter_by_chapter():
    page = read(
        packed({
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": CONTAINER,
            "OEBPS/book.opf": PACKAGE,
            "OEBPS/a a.xhtml": CHAPTER.format("<h1>Tides</h1><p>Water &amp; <i>salt</i>.</p><ul><li>one</li><li>two</li></ul>"),
            "OEBPS/b.xhtml": CHAPTER.format(
                "<p>No heading.</p><table><tr><th>Well</th><th>Depth</th></tr><tr><td>Aue</td><td>9</td></tr></table>"
            ),
        }),
        "a.epub",
    )  # fmt: skip
    assert page.text == "# Tides\n\nWater & salt.\n\n- one\n- two\n\nNo heading.\n\nWell: Aue; Depth: 9"
    assert page.title == "Wells"
    assert [part.name for part in page.parts] == ["chapter Tides", "chapter 2"]


def test_markdown_keeps_its_form_but_for_tables_and_underlined_headings():
    text = "Wells\n=====\n\nSome *words*.\nMore.\n\n| Well | Depth |\n|---|--:|\n| Aue | 9 |\n| Kessel \\| Tal | 12 |\n\n"
    text += "```\n| not | a table |\n|---|---|\n```\n"
    assert paragraphs(text, "a.md") == [
        "# Wells",
        "Some *words*.\nMore.",
        "Well: Aue; Depth: 9",
        "Well: Kessel | Tal; Depth: 12",
        "```\n| not | a table |\n|---|---|\n```",
    ]


def pdf_with_table() -> bytes:
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Table

    styles = getSampleStyleSheet()
    text = Paragraph("The wells of the north are deep and old, as everybody in the village knows. " * 5, styles["BodyText"])
    rows = [["Well", "Depth", "Dug by"], ["Kessel", "12 m", "hand"], ["Aue and Tal", "9 m", ""]]
    file = io.BytesIO()
    story: list[Any] = [
        Paragraph("Wells", styles["Title"]),
        text,
        Table(rows),
        PageBreak(),
        Paragraph("Costs", styles["Heading1"]),
        text,
    ]
    SimpleDocTemplate(file).build(story)
    return file.getvalue()


def test_a_pdf_has_pages_headings_and_rows_of_tables():
    page = read(pdf_with_table(), "a.pdf")
    found = page.text.split("\n\n")
    assert [found[0], *found[2:5]] == [
        "# Wells",
        "Well: Kessel; Depth: 12 m; Dug by: hand",
        "Well: Aue and Tal; Depth: 9 m",
        "# Costs",
    ]
    assert found[1] == found[5] == ("The wells of the north are deep and old, as everybody in the village knows. " * 5).strip()
    begin = page.text.index("# Costs")
    assert place_of(page.parts, begin - 40, begin + 5) == "pages 1 to 2"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "WordDocument".encode("utf-16-le"), r"an old Word file \(\.doc\)\. Save it as \.docx"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "Workbook".encode("utf-16-le"), r"an old Excel file \(\.xls\)"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "PowerPoint Document".encode("utf-16-le"), r"an old PowerPoint file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "locked with a password. Save it without"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 something", "an old Office file"),
        (b"{\\rtf1 words}", r"a rich text file \(\.rtf\)"),
        (packed({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": "<a/>"}), r"an OpenDocument text \(\.odt\)"),
        (packed({"xl/workbook.bin": "x"}), r"a binary Excel file \(\.xlsb\)"),
        (packed({"Index/Document.iwa": "x"}), "an Apple iWork file"),
        (packed({"readme.txt": "x"}), "a zip archive, not a document"),
    ],
)  # fmt: skip
def test_what_we_do_not_read_is_named_with_a_way_out(content: bytes, says: str):
    with pytest.raises(FetchRefusedError, match=says):
        read(content, "a.bin")


def test_an_empty_file_is_a_failure():
    for name in ("a.docx", "a.xlsx", "a.csv", "a.json", "a.eml", "a.md", "a.txt"):
        with pytest.raises((FetchFailedError, FetchRefusedError)):
            read(b"", name)


@pytest.mark.parametrize(
    ("said", "name", "kind"),
    [
        ("text/csv; charset=utf-8", "", "csv"), ("text/plain", "a.csv", "csv"), ("text/plain", "a.html", "text"),
        (None, "a.md", "markdown"),
        ("application/json", "a.csv", "json"), ("message/rfc822", "", "mail"), ("text/x-python", "a.py", "text"), ("", "x.HTML", "html"),
        ("application/octet-stream", "b.jsonl", "jsonl"), ("text/html", "a.csv", "html"), ("image/svg+xml", "", "text"),
    ],
)  # fmt: skip
def test_the_announced_type_decides_before_the_name(said: str | None, name: str, kind: str):
    assert kind_of(b"some words, and more", said, name)[0] == kind


def test_each_extension_and_media_type_has_one_kind():
    types = [media_type for kind in KINDS for media_type in kind.media_types]
    assert len(set(EXTENSIONS)) == len(EXTENSIONS)
    assert len(set(types)) == len(types)
    assert all(media_type == media_type.lower() for media_type in types)


def test_places_of_parts_that_share_several_lines():
    parts = [Part(0, "lines 1 to 3"), Part(10, "lines 4 to 6"), Part(20, "line 7")]
    assert [place_of(parts, 0, 5), place_of(parts, 0, 15), place_of(parts, 12, 25)] == [
        "lines 1 to 3",
        "lines 1 to 6",
        "lines 4 to 7",
    ]


def test_a_web_page_has_headings_and_rows_of_tables():
    text = "The wells of the north are deep and old, as everybody here knows very well and tells everybody. "
    html = (
        f"<html><head><title>Wells</title></head><body><article><h1>Wells <b>of</b> the north</h1><p>{text * 3}</p>"
        f"<h2>Depth</h2><p>{text * 2}</p>"
        "<table><tr><th>Well</th><th>Depth</th></tr><tr><td>Kessel</td><td>12 m</td></tr><tr><td>Aue</td><td>9 m</td></tr></table>"
        f"<p>{text}</p></article></body></html>"
    )
    assert paragraphs(html, "a.html") == [
        "# Wells of the north",
        (text * 3).strip(),
        "## Depth",
        (text * 2).strip(),
        "Well: Kessel; Depth: 12 m",
        "Well: Aue; Depth: 9 m",
        text.strip(),
    ]


def test_the_page_about_formats_lists_every_extension():
    page = (Path(__file__).parents[4] / "docs" / "reference" / "documents.md").read_text()
    listed = re.findall(r"`(\.\w+)`", page)
    assert set(listed) == {*EXTENSIONS, *OLD_EXTENSIONS, *IMAGE_EXTENSIONS} - {".pages", ".numbers", ".key"}


def test_bytes_that_show_their_type_decide_before_an_old_media_type():
    old = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "WordDocument".encode("utf-16-le")
    with pytest.raises(FetchRefusedError, match="an old Word file"):
        kind_of(old, "application/msword")
    assert kind_of(sheet([("a", "b")]), "application/vnd.ms-excel")[0] == "xlsx"
    with pytest.raises(FetchRefusedError, match="of the type 'image/png'"):
        kind_of(sheet([("a", "b")]), "image/png")


def test_names_of_parts_and_notes_hold_nothing_hidden():
    sent = [
        {"from": "\ud800Ann\u202e\u009b31m Lee", "body": "See you.", "date": "2026-07-01"},
        {"from": "Bob", "body": "Yes.", "date": "x"},
    ]
    assert [part.name for part in read(json.dumps(sent).encode(), "a.json").parts] == [
        "message 1 (Ann31m Lee, 1 July 2026)",
        "message 2 (Bob, x)",
    ]
    mail = EmailMessage()
    mail.set_content("See you.")
    mail.add_attachment(b"x", "application", "pdf", filename="a\u202efdp\u009b.exe")
    assert read(mail.as_bytes(), "a.eml").note == "Attachments, which were not read: afdp.exe."


def test_what_is_said_about_a_damaged_file_holds_nothing_hidden():
    rels = '<Relationships xmlns="x"><Relationship Id="a" Type="x/officeDocument" Target="word/a&#10;&#x202e;&#x9b;b.xml"/></Relationships>'
    with pytest.raises(FetchFailedError) as raised:
        read(packed({"_rels/.rels": rels, "word/x": "y"}), "a.docx")
    assert str(raised.value) == "The page is damaged: 'word/a b.xml' is missing."


@pytest.mark.parametrize("charset", ["undefined", "idna", "punycode", "unicode_escape", "x-nobody-knows"])
def test_a_mail_with_an_odd_character_set_is_read(charset: str):
    content = f"From: ann@x.example\nContent-Type: text/plain; charset={charset}\n\nSee you at the caf\u00e9.".encode()
    assert paragraphs(content, "a.eml") == ["From: ann@x.example", "See you at the caf\u00e9."]


def test_a_mail_in_an_old_character_set_is_read():
    content = "Content-Type: text/plain; charset=ks_c_5601-1987\n\n우물은 깊다".encode("euc-kr")
    assert paragraphs(content, "a.eml") == ["우물은 깊다"]


def test_a_digit_that_is_no_number_does_not_make_a_sheet_unreadable():
    rows = '<row r="\u00b2"><c r="A1" t="s"><v>\u00b2</v></c><c r="B1" s="\u00b2"><v>7</v></c></row><row r="2"><c><v>8</v></c></row>'
    relation = '<Relationships xmlns="x"><Relationship Id="r" Type="x/{}" Target="{}"/></Relationships>'
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    members: dict[str, str | bytes] = {
        "_rels/.rels": relation.format("officeDocument", "xl/workbook.xml"),
        "xl/_rels/workbook.xml.rels": relation.format("worksheet", "s.xml"),
        "xl/workbook.xml": f'<workbook xmlns:r="{office}"><sheets><sheet name="Wells" r:id="r"/></sheets></workbook>',
        "xl/s.xml": f"<worksheet><sheetData>{rows}</sheetData></worksheet>",
    }
    assert paragraphs(packed(members), "a.xlsx") == ["# Wells", "7", "8"]
