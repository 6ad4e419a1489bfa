"""Documents that somebody wrote to hurt whoever reads them: pages, PDFs and robots files, a hundred of them, the worst first.

Each is small enough to be sent (8 MB for a page, 512 kB for a robots file). Nothing here is random, so a figure can be measured
again.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["page", "robots"]
_LARGEST = 8 * 1024 * 1024


@dataclass(frozen=True)
class Hostile:
    """One document, made when it is asked for: a hundred of them at once would be the load themselves."""

    name: str
    kind: Kind
    content_type: str
    make: Callable[[], bytes]


def hostile_documents() -> list[Hostile]:
    """All of them. The first dozen have one of each trick; the others are its sizes and variants."""
    found = list(_worst())
    found += [_page(f"{name} x{size}", maker(size)) for name, maker in _HTML.items() for size in (2_000, 20_000, 200_000)]
    found += [_text(f"text: {name} x{size}", maker(size)) for name, maker in _TEXT.items() for size in (20_000, 400_000)]
    found += [_pdf(f"pdf: {name} x{size}", maker(size)) for name, maker in _PDF.items() for size in (500, 5_000)]
    found += [_robots(f"robots: {name}", maker) for name, maker in _ROBOTS.items()]
    return found


def _worst() -> Iterator[Hostile]:
    yield _text("a megabyte of spaces", lambda: b"word" + b" " * 1_000_000 + b"word")
    yield _text("a tower of accents", lambda: ("a" + "\u0301\u0327" * 400_000).encode())
    yield _page("tags nested 100,000 deep", lambda: b"<html><body>" + b"<div>" * 100_000 + b"word two three")
    yield _page("200,000 links", lambda: _html(b"".join(b'<a href="/%d">word %d</a> ' % (n, n) for n in range(200_000))))
    yield _page("titles that never end", lambda: _html(b"<title>" * 40_000 + b"word two" + b"</title " * 30_000))
    yield _page("comments before the page", lambda: b"<!---->" * 290 + b"<b>word two", "")
    yield _page("a giant table", lambda: _html(b"<table>" + b"<tr><td>1<td>2<td>3" * 200_000 + b"</table>"))
    yield _pdf("a page that unpacks to a thousand times its size", lambda: _pdf_of(_bomb(200)))
    yield _pdf(
        "a tree of pages that bites its tail", lambda: _pdf_of(b"", pages=b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 999>>")
    )
    yield _pdf(
        "a page with a million words, one on the other",
        lambda: _pdf_of(_packed(b"BT /F 9 Tf " + b"(word) Tj 1 0 Td\n" * 1_000_000 + b"ET")),
    )
    yield _robots("robots: the same group again and again", lambda: b"user-agent: *\n" * 30_000 + b"disallow: /a\n" * 6_000)
    yield _robots("robots: stars that try all ways", lambda: b"user-agent: *\n" + b"disallow: /" + b"*a" * 250_000 + b"b$")


def _html(body: bytes) -> bytes:
    return (b"<html><head><title>T</title></head><body>" + body + b"</body></html>")[:_LARGEST]


def _page(name: str, make: Callable[[], bytes], content_type: str = "text/html") -> Hostile:
    return Hostile(name, "page", content_type, make)


def _text(name: str, make: Callable[[], bytes]) -> Hostile:
    return Hostile(name, "page", "text/plain", make)


def _pdf(name: str, make: Callable[[], bytes]) -> Hostile:
    return Hostile(name, "page", "application/pdf", make)


def _robots(name: str, make: Callable[[], bytes]) -> Hostile:
    return Hostile(name, "robots", "text/plain", make)


def _repeat(unit: bytes, before: bytes = b"", after: bytes = b"") -> Callable[[int], Callable[[], bytes]]:
    return lambda count: lambda: _html(b"word two three " + before + unit * count + after)


_HTML = {
    "nested spans": _repeat(b"<span>"),
    "nested lists": _repeat(b"<ul><li>a"),
    "nested tables": _repeat(b"<table><tr><td>"),
    "nested quotes": _repeat(b"<blockquote><p>"),
    "mixed formatting": _repeat(b"<b><i><u>"),
    "entities": _repeat(b"&nbsp;&#x41;&amp;&lt;"),
    "broken entities": _repeat(b"&#9999999999;&#x"),
    "open comments": _repeat(b"<!--"),
    "open declarations": _repeat(b"<![CDATA["),
    "open tags": _repeat(b"<a "),
    "attributes": _repeat(b' a="b"', b"<p", b">"),
    "one huge attribute": _repeat(b"x", b'<p style="', b'">word</p>'),
    "styles that almost hide": _repeat(b'<p style="display : nonx">w'),
    "hidden elements": _repeat(b"<div hidden>word</div>"),
    "ends without beginnings": _repeat(b"</div></p></td>"),
    "scripts": _repeat(b"<script>var a = '</scrip';</script>"),
    "line breaks": _repeat(b"a<br>"),
    "headings": _repeat(b"<h1>word</h1>"),
    "paragraphs": _repeat(b"<p>word two three four five six.</p>"),
    "paragraphs with links": _repeat(b'<p><a href="http://a.example/b?c=d">word</a>, <a href="#">two</a></p>'),
}
_TEXT: dict[str, Callable[[int], Callable[[], bytes]]] = {
    "spaces and tabs": lambda count: lambda: b"word two" + b" \t" * count + b"x",
    "accents of a few kinds": lambda count: lambda: ("ab" + "\u0344\u0f73\u0323" * count).encode(),
    "blank lines": lambda count: lambda: b"word two" + b" \n" * count + b"x",
    "hidden characters": lambda count: lambda: ("word" + "\u200b\u202e\U000e0041" * count).encode(),
    "syllables to compose": lambda count: lambda: ("word" + "\u1100\u1161\u11a8" * count).encode(),
    "private characters": lambda count: (
        lambda: "".join(chr(0xF0000 + n % 65_000) for n in range(count)).encode() + b" word two"
    ),
}


def _packed(content: bytes) -> bytes:
    data = zlib.compress(content, 9)
    return b"<</Filter/FlateDecode/Length %d>>stream\n" % len(data) + data + b"\nendstream"


def _bomb(megabytes: int) -> bytes:
    """A stream of many megabytes of spaces."""
    packer = zlib.compressobj(6)
    data = b"".join(packer.compress(b" " * 1_000_000) for _ in range(megabytes)) + packer.flush()
    return b"<</Filter/FlateDecode/Length %d>>stream\n" % len(data) + data + b"\nendstream"


def _pdf_of(content: bytes, pages: bytes = b"<</Type/Pages/Kids[3 0 R]/Count 1>>", more: bytes = b"") -> bytes:
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        pages,
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        content or b"<</Length 0>>stream\n\nendstream",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n" % number + each + b"\nendobj\n"
    out += more
    table = b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1) + b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF" % (len(places) + 1, len(out))
    return out + table + trailer


_PDF: dict[str, Callable[[int], Callable[[], bytes]]] = {
    "nested arrays": lambda count: lambda: _pdf_of(_packed(b"[" * 40 * count + b"] TJ")),
    "nested dictionaries": lambda count: lambda: _pdf_of(b"", b"<</Type/Pages/Kids[3 0 R]/Count 1/A" + b"<</A" * 40 * count),
    "pages of pages": lambda count: lambda: _pdf_of(b"", b"<</Type/Pages/Kids[" + b"2 0 R " * count + b"]/Count 9>>"),
    "endless strings": lambda count: lambda: _pdf_of(_packed(b"(" * 200 * count)),
    "many pages": lambda count: (
        lambda: _pdf_of(
            _packed(b"BT /F 9 Tf (word) Tj ET\n" * 2_000), b"<</Type/Pages/Kids[" + b"3 0 R " * count * 4 + b"]/Count 9>>"
        )
    ),
    "packed again and again": lambda count: lambda: _pdf_of(_packed(zlib.compress(zlib.compress(b" " * 1000 * count)))),
    "no end": lambda count: lambda: b"%PDF-1.4\n" + b"1 0 obj\n" * 40 * count,
}
_ROBOTS: dict[str, Callable[[], bytes]] = {
    "one group for each rule": lambda: b"user-agent: *\ndisallow: /a\n" * 18_000,
    "groups in pairs": lambda: b"user-agent: *\nuser-agent: stepwell\n" * 7_000 + b"disallow: /ab\n" * 17_000,
    "rules of one letter": lambda: b"user-agent: *\n" + b"".join(b"allow: /%d\n" % n for n in range(36_000)),
    "nothing but stars": lambda: b"user-agent: *\ndisallow: /" + b"*" * 500_000,
    "a long piece": lambda: b"user-agent: *\n" + (b"disallow: /*" + b"a" * 1_200 + b"b\n") * 400,
    "percent signs": lambda: b"user-agent: *\ndisallow: /" + b"%2F%" * 120_000,
    "comments": lambda: b"#" * 500_000,
    "colons": lambda: b":" * 500_000,
    "odd line ends": lambda: b"user-agent: *\r\x0b\x0c" * 30_000,
    "delays": lambda: b"user-agent: *\n" + b"crawl-delay: " + b"9" * 400_000,
    "no line end": lambda: b"user-agent: " + b"*" * 400_000,
    "bytes": lambda: bytes(range(256)) * 2_000,
}
