"""The type and encoding of some bytes. Bytes that show their own type decide, then the announced type, then the file's name.

| announced | the bytes are | read as |
|---|---|---|
| a type we read, or nothing | a PDF, or a zip with the members of a document | what the bytes are |
| a type we read | text | the announced type |
| nothing, or `text/plain` | text | what the file's extension says; `text/plain` never becomes HTML |
| a type we read, or nothing | a picture, a program, another archive, an old Office file | refused; the error says what it is |
| another `application/` type | a zip, an old Office file | what the bytes are |
| anything else | anything | refused |
"""

from __future__ import annotations

import re

from stepwell.errors import FetchRefusedError
from stepwell.tools.documents.archive import Archive, DamagedError
from stepwell.tools.documents.kinds import ARCHIVED, ContentKind, kind_named, kind_of_name, kind_of_type

_SNIFFED = 2048
_MAGIC = (
    (b"\x89PNG\r\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "a RIFF file"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "an empty zip archive"),
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
_TEXT = ("application/xml", "application/yaml", "application/x-yaml")
_REFINED = ("csv", "tsv", "json", "jsonl", "mail", "mbox", "markdown")
"""Kinds that an extension may make of `text/plain`, which many servers say of everything."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLD_OFFICE = (
    ("EncryptedPackage", "an Office file locked with a password", "Save it without the password"),
    ("WordDocument", "an old Word file (.doc)", "Save it as .docx"),
    ("PowerPoint Document", "an old PowerPoint file (.ppt)", "Save it as .pptx"),
    ("Workbook", "an old Excel file (.xls)", "Save it as .xlsx"),
    ("Book", "an old Excel file (.xls)", "Save it as .xlsx"),
    ("__substg1.0_", "an Outlook message (.msg)", "Save it as .eml"),
)
_OTHER_ARCHIVES = (
    ("application/vnd.oasis.opendocument.text", "an OpenDocument text (.odt)", "Save it as .docx or PDF"),
    ("application/vnd.oasis.opendocument.spreadsheet", "an OpenDocument spreadsheet (.ods)", "Save it as .xlsx"),
    ("application/vnd.oasis.opendocument.presentation", "an OpenDocument presentation (.odp)", "Save it as .pptx or PDF"),
)
_FOLDERS: tuple[tuple[str, ContentKind], ...] = (("word/", "docx"), ("ppt/", "pptx"), ("xl/", "xlsx"))
READABLE = "HTML, PDF, DOCX, PPTX, XLSX, EPUB, e-mail, CSV, JSON and plain text can be read."
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


def kind_of(content: bytes, content_type: str | None, name: str = "") -> tuple[ContentKind, str]:
    """How to read the bytes, and their media type. Raises `FetchRefusedError` if they cannot be read."""
    said = (content_type or "").split(";")[0].strip().lower()
    announced = kind_of_type(said)
    is_text = said.startswith("text/") or said in _TEXT or said.endswith(("+json", "+xml"))
    is_zip = content.startswith(b"PK\x03\x04")
    # Servers announce office files under many old names; the bytes know better.
    is_office = said.startswith("application/") and (is_zip or content.startswith(_OLE))
    if not (announced or is_text or said in _UNSAID or is_office):
        raise FetchRefusedError(f"The page is of the type '{said[:60]}'. {READABLE}", "type")
    if b"%PDF-" in content[:1024]:
        return "pdf", "application/pdf"
    if is_zip:
        expected = announced or kind_of_name(name)
        kind = _kind_of_archive(content, is_expected=expected is not None and expected.key in ARCHIVED)
        return kind, kind_named(kind).media_types[0]
    _refuse_old(content)
    binary = _binary(content)
    if binary:
        if said in _UNSAID:
            what = f"of the type '{binary}'" if "/" in binary else binary
            raise FetchRefusedError(f"The page is {what}. {READABLE}", "type")
        raise FetchRefusedError(f"The page says it is '{said}' but is {binary}.", "type")
    if said in _UNSAID or said == "text/plain":
        named = kind_of_name(name)
        if named and (said in _UNSAID or named.key in _REFINED):
            announced = named
    is_binary_kind = announced is not None and announced.key in (*ARCHIVED, "pdf")
    if (is_binary_kind or (announced is None and said in _UNSAID)) and _HTML_START.match(content[:_SNIFFED]):
        return "html", "text/html"
    if announced is None:
        return "text", "text/plain" if said in _UNSAID else said
    if is_binary_kind:
        raise FetchRefusedError(f"The page says it is {announced.name} but is not.", "type")
    return announced.key, said if said in announced.media_types else announced.media_types[0]


def _kind_of_archive(content: bytes, *, is_expected: bool) -> ContentKind:
    try:
        archive = Archive(content)
    except DamagedError:
        if is_expected:
            raise
        raise FetchRefusedError("The page is a zip archive, and a damaged one.", "type") from None
    says = archive.read("mimetype")[:100].decode("ascii", "replace").strip() if "mimetype" in archive else ""
    if says == "application/epub+zip" or "META-INF/container.xml" in archive:
        return "epub"
    for media_type, what, way_out in _OTHER_ARCHIVES:
        if says.startswith(media_type):
            raise FetchRefusedError(f"The page is {what}. {way_out} and try again.", "type")
    if "xl/workbook.bin" in archive:
        raise FetchRefusedError("The page is a binary Excel file (.xlsb). Save it as .xlsx and try again.", "type")
    if any(name.endswith(".iwa") for name in archive.names):
        raise FetchRefusedError(
            "The page is an Apple iWork file (Pages, Numbers or Keynote). Export it as PDF and try again.", "type"
        )
    main = archive.main_part("") if "_rels/.rels" in archive else ""
    for folder, kind in _FOLDERS:
        if main.startswith(folder) or (not main and any(name.startswith(folder) for name in archive.names)):
            return kind
    raise FetchRefusedError("The page is a zip archive, not a document. Unpack it and try its files.", "type")


def _refuse_old(content: bytes) -> None:
    if content.startswith(b"{\\rtf"):
        raise FetchRefusedError("The page is a rich text file (.rtf). Save it as .docx and try again.", "type")
    if not content.startswith(_OLE):
        return
    for stream, what, way_out in _OLD_OFFICE:
        if stream.encode("utf-16-le") in content:
            raise FetchRefusedError(f"The page is {what}. {way_out} and try again.", "type")
    raise FetchRefusedError("The page is an old Office file. Save it in a current format and try again.", "type")


def image_type(content: bytes) -> str | None:
    """The media type of an image that models take, by its first bytes; `None` for anything else."""
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "image/webp"
    found = _binary(content)
    return found if found in ("image/png", "image/jpeg", "image/gif") else None


def other_image(content: bytes) -> str | None:
    """What kind of image this is, if it is one that models do not take."""
    if content.startswith(b"BM") and content[6:10] == b"\x00\x00\x00\x00":
        return "BMP"
    if content.startswith((b"II*\x00", b"MM\x00*")):
        return "TIFF"
    if content.startswith(b"\x00\x00\x01\x00"):
        return "ICO"
    return {b"heic": "HEIC", b"heix": "HEIC", b"mif1": "HEIC", b"avif": "AVIF"}.get(
        content[8:12] if content[4:8] == b"ftyp" else b""
    )


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
