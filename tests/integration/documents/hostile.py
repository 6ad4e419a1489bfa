"""Documents that somebody wrote to hurt whoever reads them: archives, XML, sheets, slides, mail, records. All made in code.

Nothing here is random, so a figure can be measured again. `size` is 1 for a quick run and more for a long one.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable, Iterator
from typing import NamedTuple

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELS = "http://schemas.openxmlformats.org/package/2006/relationships"
WORDS = "<w:p><w:r><w:t>Some words that stay.</w:t></w:r></w:p>"
LAUGHS = '<!DOCTYPE a [<!ENTITY l0 "laugh">' + "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10)) + "]>"
SECRET = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>'


class Hostile(NamedTuple):
    """One document, made when it is asked for."""

    name: str
    file: str
    make: Callable[[int], bytes]


def pack(members: dict[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def relations(**targets: str) -> str:
    """Relations by kind; `external_` before the kind makes a link that leads out of the archive."""
    rows = []
    for number, (kind, target) in enumerate(targets.items()):
        mode = ' TargetMode="External"' if kind.startswith("external_") else ""
        rows.append(f'<Relationship Id="r{number}" Type="{R}/{kind.removeprefix("external_")}" Target="{target}"{mode}/>')
    return f'<Relationships xmlns="{_RELS}">{"".join(rows)}</Relationships>'


def word(
    body: str = WORDS, before: str = "", more: dict[str, str | bytes] | None = None, **targets: str
) -> dict[str, str | bytes]:
    return {
        "_rels/.rels": relations(officeDocument="word/document.xml"),
        "word/document.xml": f'{before}<w:document xmlns:w="{W}" xmlns:r="{R}"><w:body>{body}</w:body></w:document>',
        "word/_rels/document.xml.rels": relations(**targets),
        **(more or {}),
    }


def book(
    data: str, before: str = "", after: str = "", strings: str = "", styles: str = "", sheets: int = 1
) -> dict[str, str | bytes]:
    entries = "".join(f'<sheet name="S{n}" sheetId="{n + 1}" r:id="r0"/>' for n in range(sheets))
    targets = {"worksheet": "worksheets/sheet1.xml"}
    members: dict[str, str | bytes] = {}
    if strings:
        targets["sharedStrings"] = "sharedStrings.xml"
        members["xl/sharedStrings.xml"] = f'<sst xmlns="{S}">{strings}</sst>'
    if styles:
        targets["styles"] = "styles.xml"
        members["xl/styles.xml"] = f'<styleSheet xmlns="{S}">{styles}</styleSheet>'
    return {
        "_rels/.rels": relations(officeDocument="xl/workbook.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{S}" xmlns:r="{R}"><sheets>{entries}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relations(**targets),
        "xl/worksheets/sheet1.xml": f'{before}<worksheet xmlns="{S}"><sheetData>{data}</sheetData>{after}</worksheet>',
        **members,
    }


def deck(shapes: str, slides: int = 1, more: dict[str, str | bytes] | None = None, **targets: str) -> dict[str, str | bytes]:
    order = '<p:sldId r:id="r0"/>' * slides
    return {
        "_rels/.rels": relations(officeDocument="ppt/presentation.xml"),
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{P}" xmlns:r="{R}"><p:sldIdLst>{order}</p:sldIdLst></p:presentation>',
        "ppt/_rels/presentation.xml.rels": relations(slide="slides/slide1.xml"),
        "ppt/slides/slide1.xml": f'<p:sld xmlns:p="{P}" xmlns:a="{A}" xmlns:r="{R}"><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>',
        "ppt/slides/_rels/slide1.xml.rels": relations(**targets),
        **(more or {}),
    }


SHAPE = "<p:sp><p:txBody><a:p><a:r><a:t>Some words that stay.</a:t></a:r></a:p></p:txBody></p:sp>"


def ebook(chapter: str, spine: int = 1, before: str = "", target: str = "a.xhtml") -> dict[str, str | bytes]:
    items = '<itemref idref="a"/>' * spine
    return {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>',
        "b.opf": f'{before}<package><manifest><item id="a" href="{target}" media-type="application/xhtml+xml"/></manifest>'
        f"<spine>{items}</spine></package>",
        "a.xhtml": f"<html><body>{chapter}</body></html>",
    }


def cell(place: str, value: str, kind: str = "n") -> str:
    return f'<c r="{place}" t="{kind}"><v>{value}</v></c>'


def row(number: int | str, *cells: str) -> str:
    return f'<row r="{number}">{"".join(cells)}</row>'


def hostile_documents() -> list[Hostile]:
    return [*_archives(), *_xml(), *_sheets(), *_slides(), *_texts(), *_books(), *_liars()]


def _archives() -> Iterator[Hostile]:
    yield Hostile("a member of nothing but spaces", "a.docx", lambda size: pack(word(WORDS + " " * 100_000_000 * size)))
    yield Hostile("a sheet of nothing but spaces", "a.xlsx", lambda size: pack(book(" " * 100_000_000 * size)))
    yield Hostile(
        "far too many members", "a.docx", lambda size: pack({**word(), **{f"m{n}": "" for n in range(15_000 * size)}})
    )
    yield Hostile(
        "one member listed again and again", "a.docx", lambda _: _listed_again(pack(word(WORDS + " " * 3_900_000)), 400)
    )
    yield Hostile("a member larger than it says", "a.docx", lambda _: _patched(pack(word()), 24, struct.pack("<I", 20)))
    yield Hostile("a member smaller than it says", "a.docx", lambda _: _patched(pack(word()), 24, struct.pack("<I", 3_000_000)))
    yield Hostile(
        "a list of members that is somewhere else", "a.docx", lambda _: _ended(pack(word()), 16, struct.pack("<I", 0x7FFFFFFF))
    )
    yield Hostile(
        "a list of members of four gigabytes", "a.docx", lambda _: _ended(pack(word()), 12, struct.pack("<I", 0xFFFFFFF0))
    )
    yield Hostile("members behind a password", "a.docx", lambda _: _patched(pack(word()), 8, struct.pack("<H", 1)))
    yield Hostile("members packed in a rare way", "a.docx", lambda _: pack(word(), zipfile.ZIP_LZMA))
    yield Hostile("half an archive", "a.docx", lambda _: pack(word(WORDS * 1_000))[:900])
    yield Hostile("an archive without its last byte", "a.xlsx", lambda _: pack(book(row(1, cell("A1", "1"))))[:-1])
    yield Hostile("an archive with a megabyte behind it", "a.docx", lambda _: pack(word()) + b"\0" * 1_000_000)
    yield Hostile("an empty archive", "a.docx", lambda _: pack({}))
    yield Hostile("an archive in an archive in an archive", "a.docx", lambda _: pack({"a.zip": pack({"b.zip": pack(word())})}))
    yield Hostile("a relation that climbs out", "a.docx", lambda _: pack(word(styles="../../../../etc/passwd")))
    yield Hostile(
        "a document that is missing",
        "a.docx",
        lambda _: pack({**word(), "_rels/.rels": relations(officeDocument="word/x.xml")}),
    )


def _xml() -> Iterator[Hostile]:
    yield Hostile("a billion laughs", "a.docx", lambda _: pack(word(f"{WORDS}<w:p><w:r><w:t>&l9;</w:t></w:r></w:p>", LAUGHS)))
    yield Hostile("a billion laughs in a sheet", "a.xlsx", lambda _: pack(book(row(1, cell("A1", "&l9;", "str")), LAUGHS)))
    yield Hostile(
        "a billion laughs in wide letters",
        "a.docx",
        lambda _: pack(_wide(word(f"{WORDS}<w:p><w:r><w:t>&l9;</w:t></w:r></w:p>", LAUGHS))),
    )
    yield Hostile(
        "one long entity again and again",
        "a.docx",
        lambda _: pack(
            word(f"{WORDS}<w:p><w:r><w:t>{'&x;' * 50_000}</w:t></w:r></w:p>", f'<!DOCTYPE a [<!ENTITY x "{"y" * 50_000}">]>')
        ),
    )
    yield Hostile(
        "a file of ours as an entity", "a.docx", lambda _: pack(word(f"{WORDS}<w:p><w:r><w:t>&x;</w:t></w:r></w:p>", SECRET))
    )
    yield Hostile(
        "a file of ours in a sheet",
        "a.xlsx",
        lambda _: pack(book(row(1, cell("A1", "some words", "str"), cell("B1", "&x;", "str")), SECRET)),
    )
    yield Hostile(
        "a DTD from the network", "a.docx", lambda _: pack(word(before='<!DOCTYPE a SYSTEM "http://127.0.0.1:9/a.dtd">'))
    )
    yield Hostile(
        "tags nested very deep",
        "a.docx",
        lambda size: pack(word(WORDS + "<w:sdt>" * 50_000 * size + "</w:sdt>" * 50_000 * size)),
    )
    yield Hostile(
        "tables nested in tables",
        "a.docx",
        lambda _: pack(word(WORDS + "<w:tbl><w:tr><w:tc>" * 60 + WORDS + "</w:tc></w:tr></w:tbl>" * 60)),
    )
    yield Hostile(
        "text boxes nested in text boxes",
        "a.docx",
        lambda _: pack(word(WORDS + "<w:p><w:r><w:txbxContent>" * 60 + WORDS + "</w:txbxContent></w:r></w:p>" * 60)),
    )
    yield Hostile(
        "XML that ends too early",
        "a.docx",
        lambda _: pack({**word(), "word/document.xml": f'<w:document xmlns:w="{W}"><w:body>{WORDS}'}),
    )
    yield Hostile("bytes instead of XML", "a.docx", lambda _: pack({**word(), "word/document.xml": bytes(range(256)) * 100}))
    yield Hostile(
        "one text of twelve megabytes",
        "a.docx",
        lambda _: pack(word(f"<w:p><w:r><w:t>{_varied(12_000_000)}</w:t></w:r></w:p>")),
    )
    yield Hostile(
        "a million paragraphs",
        "a.docx",
        lambda size: pack(word("".join(f"<w:p><w:r><w:t>word {n}</w:t></w:r></w:p>" for n in range(200_000 * size)))),
    )
    styled = '<w:p><w:pPr><w:pStyle w:val="a"/></w:pPr><w:r><w:t>Some words.</w:t></w:r></w:p>'
    pairs = "".join(f'<w:style w:styleId="{one}"><w:basedOn w:val="{other}"/></w:style>' for one, other in ("ab", "ba"))
    circle = {"word/styles.xml": f'<w:styles xmlns:w="{W}">{pairs}</w:styles>'}
    yield Hostile("styles based on each other", "a.docx", lambda _: pack(word(styled, styles="styles.xml", more={**circle})))
    wide = f'<w:tc><w:tcPr><w:gridSpan w:val="999999999"/></w:tcPr>{WORDS}</w:tc>'
    table = f"<w:tbl>{f'<w:tr>{wide}{wide}</w:tr>' * 3}</w:tbl>"
    yield Hostile("a cell over a billion columns", "a.docx", lambda _: pack(word(table)))
    yield Hostile(
        "content from elsewhere",
        "a.docx",
        lambda _: pack(word(f'{WORDS}<w:altChunk r:id="r0"/>', external_aFChunk="http://127.0.0.1:9/a.html")),
    )
    yield Hostile("a macro", "a.docm", lambda _: pack({**word(), "word/vbaProject.bin": b"\xd0\xcf\x11\xe0" * 1_000}))


def _sheets() -> Iterator[Hostile]:
    three = row(1, cell("A1", "1"), cell("B1", "2")) + row(1_048_576, cell("XFD1048576", "3"))
    largest = f'<worksheet xmlns="{S}"><dimension ref="A1:XFD1048576"/><sheetData>{three}</sheetData></worksheet>'
    yield Hostile(
        "three values in the largest sheet", "a.xlsx", lambda _: pack({**book(""), "xl/worksheets/sheet1.xml": largest})
    )
    yield Hostile(
        "a million rows",
        "a.xlsx",
        lambda size: pack(
            book(
                "".join(
                    f'<row r="{n}"><c><v>{n * 7919 % 1_000_003}</v></c><c><v>{n}</v></c></row>'
                    for n in range(1, 250_000 * size)
                )
            )
        ),
    )
    yield Hostile(
        "a million values in one row",
        "a.xlsx",
        lambda size: pack(book(f"<row>{''.join(f'<c><v>{n}</v></c>' for n in range(300_000 * size))}</row>")),
    )
    yield Hostile(
        "one long string a million times",
        "a.xlsx",
        lambda size: pack(
            book(
                "".join(row(n, cell(f"A{n}", "0", "s")) for n in range(1, 100_000 * size)),
                strings=f"<si><t>{_varied(32_000)}</t></si>",
            )
        ),
    )
    yield Hostile(
        "a million shared strings",
        "a.xlsx",
        lambda size: pack(
            book(
                row(1, cell("A1", "0", "s"), cell("B1", "250000", "s")),
                strings="".join(f"<si><t>{n}</t></si>" for n in range(300_000 * size)),
            )
        ),
    )
    yield Hostile(
        "strings that do not exist",
        "a.xlsx",
        lambda _: pack(book(row(1, cell("A1", "99999999999999999999", "s"), cell("B1", "-5", "s"), cell("C1", "7")))),
    )
    merged = "<mergeCells>" + '<mergeCell ref="A1:XFD1048576"/>' * 50_000 + "</mergeCells>"
    yield Hostile("everything merged", "a.xlsx", lambda _: pack(book(row(1, cell("A1", "12"), cell("B1", "34")), after=merged)))
    yield Hostile(
        "rows with impossible numbers",
        "a.xlsx",
        lambda _: pack(book(row("9" * 400, cell("ZZZZZZ1", "12")) + row("-1", cell("1A", "34")) + row("x", cell("", "56")))),
    )
    yield Hostile(
        "numbers that are none",
        "a.xlsx",
        lambda _: pack(
            book(
                row(1, *(cell("", value) for value in ("nan", "inf", "1e999", "-1e308", "0x12", "१२", "1" * 5_000))),
                styles='<cellXfs><xf numFmtId="14"/></cellXfs>',
            )
        ),
    )
    codes = ("0" * 190, "#" * 5_000, "[" * 190, "m" * 190, "&quot;" * 150, "0.0" * 60)
    formats = "".join(f'<numFmt numFmtId="{200 + n}" formatCode="{code}"/>' for n, code in enumerate(codes))
    styles = "".join(f'<xf numFmtId="{200 + n}"/>' for n in range(len(codes)))
    formatted = row(1, *(f'<c s="{n}"><v>-12345.678</v></c>' for n in range(len(codes))))
    every = f"<numFmts>{formats}</numFmts><cellXfs>{styles}</cellXfs>"
    yield Hostile("monstrous number formats", "a.xlsx", lambda _: pack(book(formatted, styles=every)))
    yield Hostile(
        "ten thousand sheets",
        "a.xlsx",
        lambda size: pack(book(row(1, cell("A1", "12"), cell("B1", "34")), sheets=5_000 * size)),
    )
    yield Hostile(
        "a workbook that is its own sheet",
        "a.xlsx",
        lambda _: pack({**book(""), "xl/_rels/workbook.xml.rels": relations(worksheet="workbook.xml")}),
    )
    yield Hostile(
        "a sheet that ends in the middle",
        "a.xlsx",
        lambda _: pack(
            {**book(""), "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{S}"><sheetData>{row(1, cell("A1", "12"))}<row>'}
        ),
    )


def _slides() -> Iterator[Hostile]:
    yield Hostile("one slide a hundred thousand times", "a.pptx", lambda size: pack(deck(SHAPE, slides=30_000 * size)))
    yield Hostile(
        "groups nested in groups", "a.pptx", lambda _: pack(deck(SHAPE + "<p:grpSp>" * 200 + SHAPE + "</p:grpSp>" * 200))
    )
    yield Hostile(
        "groups nested far too deep",
        "a.pptx",
        lambda _: pack(deck(SHAPE + "<p:grpSp>" * 20_000 + SHAPE + "</p:grpSp>" * 20_000)),
    )
    yield Hostile("a slide that is its own notes", "a.pptx", lambda _: pack(deck(SHAPE, notesSlide="slide1.xml")))
    yield Hostile(
        "a chart with a point far away",
        "a.pptx",
        lambda _: pack(
            deck(
                SHAPE + '<p:graphicFrame><c:chart xmlns:c="c" r:id="r0"/></p:graphicFrame>',
                more={
                    "ppt/slides/c.xml": '<c:ser xmlns:c="c"><c:val><c:pt idx="4294967295"><c:v>1</c:v></c:pt></c:val></c:ser>'
                },
                chart="c.xml",
            )
        ),
    )


def _texts() -> Iterator[Hostile]:
    yield Hostile(
        "mail nested in mail",
        "a.eml",
        lambda size: (
            b"".join(b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (n, n) for n in range(1_500 * size))
            + b"Content-Type: text/plain\n\nSome words."
        ),
    )
    yield Hostile(
        "mail of many parts",
        "a.eml",
        lambda size: (
            b'Content-Type: multipart/mixed; boundary="b"\n\n'
            + b"--b\nContent-Type: text/plain\n\nSome words.\n" * 50_000 * size
        ),
    )
    yield Hostile(
        "a header of megabytes", "a.eml", lambda size: b"Subject: " + b"=?utf-8?q?w?= " * 200_000 * size + b"\n\nSome words."
    )
    yield Hostile(
        "many broken addresses",
        "a.eml",
        lambda size: b"From: " + b'"<(,@:;' * 50_000 * size + b"\nTo: " + b"(" * 50_000 + b"\n\nSome words.",
    )
    yield Hostile(
        "an encoding that unpacks",
        "a.eml",
        lambda _: b"Content-Type: text/plain; charset=zlib\nContent-Transfer-Encoding: base64\n\n!!!! eJzLSM3JyQcABiwCFQ==",
    )
    yield Hostile("a mailbox of beginnings", "a.mbox", lambda size: b"From a\n" * 300_000 * size)
    yield Hostile("arrays nested very deep", "a.json", lambda size: b"[" * 500_000 * size + b"]" * 500_000 * size)
    yield Hostile("objects nested very deep", "a.jsonl", lambda size: b'{"a":' * 200_000 * size + b"1" + b"}" * 200_000 * size)
    yield Hostile("objects nested as deep as may be", "a.json", lambda _: b'{"a":' * 900 + b'"some words"' + b"}" * 900)
    yield Hostile("a number of a million digits", "a.json", lambda _: b'{"well": ' + b"9" * 1_000_000 + b"}")
    yield Hostile(
        "a million records", "a.jsonl", lambda size: b"".join(b'{"n": %d, "user": "a"}\n' % n for n in range(250_000 * size))
    )
    yield Hostile(
        "an object of a million keys",
        "a.json",
        lambda size: b"{" + b",".join(b'"k%d": %d' % (n, n) for n in range(200_000 * size)) + b"}",
    )
    yield Hostile("a quote without an end", "a.csv", lambda size: b'well,depth\n"Kessel,' + b"12\n" * 1_000_000 * size)
    yield Hostile(
        "a row of a million columns", "a.csv", lambda size: b"a," * 1_000_000 * size + b"\n" + b"1," * 1_000_000 * size
    )
    yield Hostile(
        "a table of a million rows",
        "a.csv",
        lambda size: b"well,depth\n" + b"".join(b"%d,%d\n" % (n, n) for n in range(250_000 * size)),
    )
    yield Hostile("nothing but pipes", "a.md", lambda size: b"|" * 1_000_000 * size + b"\n" + b"|-" * 500_000 + b"\n")
    yield Hostile("fences and rules", "a.md", lambda size: b"a\n---\n```\n" * 100_000 * size)


def _books() -> Iterator[Hostile]:
    yield Hostile(
        "one chapter a hundred thousand times",
        "a.epub",
        lambda size: pack(ebook("<p>Some words.</p>" * 100, spine=50_000 * size)),
    )
    yield Hostile(
        "a chapter outside the book", "a.epub", lambda _: pack(ebook("<p>Some words.</p>", target="../../../etc/passwd"))
    )
    yield Hostile("a chapter nested very deep", "a.epub", lambda size: pack(ebook("<div>" * 20_000 * size + "Some words.")))
    yield Hostile("laughs in the list of chapters", "a.epub", lambda _: pack(ebook("<p>&l9; Some words.</p>", before=LAUGHS)))
    yield Hostile(
        "a table over a billion rows",
        "a.epub",
        lambda _: pack(
            ebook("<table>" + '<tr><td rowspan="999999999" colspan="99999">a</td><td>b</td></tr>' * 2_000 + "</table>")
        ),
    )


def _liars() -> Iterator[Hostile]:
    for file in ("a.docx", "a.pptx", "a.xlsx", "a.epub", "a.pdf", "a.csv", "a.json", "a.eml"):
        yield Hostile(f"an empty {file}", file, lambda _: b"")
    for file in ("a.docx", "a.xlsx", "a.pdf", "a.eml"):
        yield Hostile(f"a picture called {file}", file, lambda _: b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 10)
    yield Hostile("a text called .docx", "a.docx", lambda _: b"Some words, but not a document.")
    yield Hostile(
        "a page called .xlsx", "a.xlsx", lambda _: b"<html><body><p>Please sign in to see this file.</p></body></html>"
    )
    yield Hostile("half a PDF", "a.pdf", lambda _: b"%PDF-1.7\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n")
    yield Hostile("the first bytes of an archive", "a.pptx", lambda _: b"PK\x03\x04")
    yield Hostile("an old file called .docx", "a.docx", lambda _: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 5_000)


def _varied(length: int) -> str:
    """Words that do not pack well."""
    words: list[str] = []
    total, number = 0, 1
    while total < length:
        number = number * 48271 % 2147483647
        words.append(f"{number:x}")
        total += len(words[-1]) + 1
    return " ".join(words)[:length]


def _wide(members: dict[str, str | bytes]) -> dict[str, str | bytes]:
    text = str(members["word/document.xml"])
    return {**members, "word/document.xml": f'<?xml version="1.0" encoding="utf-16"?>{text}'.encode("utf-16")}


def _directory(archive: bytes) -> tuple[int, int]:
    """Where the list of members begins, and where the archive's end record does."""
    end = archive.rfind(b"PK\x05\x06")
    return struct.unpack_from("<I", archive, end + 16)[0], end


def _patched(archive: bytes, offset: int, value: bytes) -> bytes:
    """The archive with a field of each entry in its list of members replaced."""
    begin, end = _directory(archive)
    out = bytearray(archive)
    place = out.find(b"PK\x01\x02", begin)
    while 0 <= place < end:
        out[place + offset : place + offset + len(value)] = value
        place = out.find(b"PK\x01\x02", place + 4)
    return bytes(out)


def _ended(archive: bytes, offset: int, value: bytes) -> bytes:
    """The archive with a field of its end record replaced."""
    _, end = _directory(archive)
    return archive[: end + offset] + value + archive[end + offset + len(value) :]


def _listed_again(archive: bytes, times: int) -> bytes:
    """The archive with its list of members repeated, so that each is unpacked many times."""
    begin, end = _directory(archive)
    listed = archive[begin:end] * times
    closing = bytearray(archive[end:])
    struct.pack_into("<I", closing, 12, len(listed))
    return archive[:begin] + listed + bytes(closing)
