"""The type and encoding of some bytes. The server's claim is checked against the bytes.

| the server says | the bytes are | read as |
|---|---|---|
| a type we read, or nothing | of such a type | what the bytes are; `text/plain` stays plain text |
| a type we read | a picture, an archive, a program | refused; the error names both |
| anything else | anything | refused |
"""

from __future__ import annotations

import re
from typing import Literal

from stepwell.errors import FetchRefusedError

ContentKind = Literal["html", "pdf", "text"]

_SNIFFED = 2048
_MAGIC = (
    (b"\x89PNG\r\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "a RIFF file"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"7z\xbc\xaf", "application/x-7z-compressed"),
    (b"Rar!", "application/vnd.rar"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"OggS", "application/ogg"),
    (b"ID3", "audio/mpeg"),
)
_UNSAID = ("", "application/octet-stream", "binary/octet-stream", "unknown/unknown", "application/unknown")
_HTML = ("text/html", "application/xhtml+xml")
_PDF = ("application/pdf", "application/x-pdf")
_TEXT = ("application/json", "application/xml", "application/x-ndjson", "application/yaml", "application/x-yaml")
# A comment ends at its first `-->`: if it could also end at a later one, each comment would double the ways to match.
_HTML_START = re.compile(
    rb"(?:\s|\xef\xbb\xbf|<!--(?:(?!-->).){0,800}-->|<\?xml(?:(?!\?>).){0,200}\?>)*<(?:!doctype html|html|head|body|title|meta|div|p|h1)\b",
    re.I | re.S,
)
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.I)
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_LATIN = frozenset({"iso-8859-1", "iso8859-1", "latin1", "latin-1", "windows-1252", "cp1252", "us-ascii", "ascii"})
# Only real character sets: Python's codecs also unpack archives and interpret escapes.
_CHARSET = re.compile(
    r"utf-?(8|16|16-?[bl]e|32)|(iso-?8859-|latin-?)\d{1,2}|windows-\d{3,4}|cp\d{3,4}|us-ascii|ascii|koi8-[ru]|gb2312|gbk|gb18030|"
    r"big5(-hkscs)?|euc-(jp|kr)|shift[_-]jis|iso-2022-jp|tis-620|mac(intosh|-roman)?"
)


def kind_of(content: bytes, content_type: str | None) -> tuple[ContentKind, str]:
    """How to read the bytes, and their media type. Raises `FetchRefusedError` if they cannot be read."""
    said = (content_type or "").split(";")[0].strip().lower()
    if not (said in (*_UNSAID, *_HTML, *_PDF, *_TEXT) or said.startswith("text/") or said.endswith(("+json", "+xml"))):
        raise FetchRefusedError(f"The page is of the type '{said[:60]}'. HTML, PDF and plain text can be read.", "type")
    if b"%PDF-" in content[:1024]:
        return "pdf", "application/pdf"
    binary = _binary(content)
    if binary:
        raise FetchRefusedError(f"The page says it is '{said or 'nothing'}' but is {binary}.", "type")
    if said in _HTML or (said in (*_UNSAID, *_PDF) and _HTML_START.match(content[:_SNIFFED])):
        return "html", said if said in _HTML else "text/html"
    if said in _PDF:
        raise FetchRefusedError("The page says it is a PDF but is not.", "type")
    return "text", "text/plain" if said in _UNSAID else said


def decode_text(content: bytes, content_type: str | None, *, html: bool) -> str:
    """The decoded text. A byte order mark decides, or else the first valid one of the server's charset, the page's own, and UTF-8."""
    for mark, name in _MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(name, "replace")
    said = re.search(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", content_type or "", re.I)
    meta = _META.search(content[:4096]) if html else None
    names = [said.group(1) if said else "", meta.group(1).decode("ascii") if meta else ""]
    for name in (*names, "utf-8"):
        # Bytes that are valid UTF-8 are UTF-8, whatever Latin encoding is claimed.
        text = _try(content, "utf-8" if name.lower() in _LATIN else name)
        if text is not None:
            return text
    return content.decode("windows-1252", "replace")


def _try(content: bytes, name: str) -> str | None:
    if not _CHARSET.fullmatch(name.lower()):
        return None
    try:
        return content.decode(name)
    except (UnicodeDecodeError, LookupError):
        return None


def _binary(content: bytes) -> str | None:
    for magic, name in _MAGIC:
        if content.startswith(magic):
            return name
    if content[4:8] == b"ftyp":
        return "video/mp4"
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    return "not text" if b"\x00" in content[:_SNIFFED] and not wide else None
