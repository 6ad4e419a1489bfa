"""The kinds of documents we read: their names, extensions and media types. Everything else that lists formats asks here."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal, NamedTuple

ContentKind = Literal[
    "html", "pdf", "docx", "pptx", "xlsx", "csv", "tsv", "json", "jsonl", "mail", "mbox", "epub", "markdown", "text"
]


class Kind(NamedTuple):
    key: ContentKind
    name: str
    """As in `This is the text of ...`."""
    extensions: tuple[str, ...]
    media_types: tuple[str, ...]
    """The first one is the usual one."""


_OFFICE = "application/vnd.openxmlformats-officedocument"
KINDS = (
    Kind("html", "a web page", (".html", ".htm", ".xhtml"), ("text/html", "application/xhtml+xml")),
    Kind("pdf", "a PDF document", (".pdf",), ("application/pdf", "application/x-pdf")),
    Kind(
        "docx",
        "a Word document",
        (".docx", ".docm", ".dotx", ".dotm"),
        (
            f"{_OFFICE}.wordprocessingml.document",
            f"{_OFFICE}.wordprocessingml.template",
            "application/vnd.ms-word.document.macroenabled.12",
        ),
    ),
    Kind(
        "pptx",
        "a presentation",
        (".pptx", ".pptm", ".ppsx", ".potx"),
        (
            f"{_OFFICE}.presentationml.presentation",
            f"{_OFFICE}.presentationml.slideshow",
            f"{_OFFICE}.presentationml.template",
            "application/vnd.ms-powerpoint.presentation.macroenabled.12",
        ),
    ),
    Kind(
        "xlsx",
        "a spreadsheet",
        (".xlsx", ".xlsm", ".xltx", ".xltm"),
        (
            f"{_OFFICE}.spreadsheetml.sheet",
            f"{_OFFICE}.spreadsheetml.template",
            "application/vnd.ms-excel.sheet.macroenabled.12",
        ),
    ),
    Kind("csv", "a table of comma-separated values", (".csv",), ("text/csv", "application/csv")),
    Kind("tsv", "a table of tab-separated values", (".tsv", ".tab"), ("text/tab-separated-values",)),
    Kind("json", "a JSON document", (".json",), ("application/json", "text/json")),
    Kind(
        "jsonl",
        "a file of JSON lines",
        (".jsonl", ".ndjson"),
        ("application/x-ndjson", "application/jsonl", "application/x-jsonlines"),
    ),
    Kind("mail", "an e-mail", (".eml",), ("message/rfc822",)),
    Kind("mbox", "a mailbox", (".mbox",), ("application/mbox",)),
    Kind("epub", "an e-book", (".epub",), ("application/epub+zip",)),
    Kind("markdown", "a Markdown document", (".md", ".markdown"), ("text/markdown", "text/x-markdown")),
    Kind("text", "a plain text", (".txt", ".text", ".rst", ".log"), ("text/plain",)),
)
ARCHIVED: tuple[ContentKind, ...] = ("docx", "pptx", "xlsx", "epub")
"""Kinds that are zip archives."""
EXTENSIONS = tuple(extension for kind in KINDS for extension in kind.extensions)
OLD_EXTENSIONS = (".doc", ".xls", ".ppt", ".odt", ".ods", ".odp", ".xlsb", ".rtf", ".msg", ".pages", ".numbers", ".key")
"""Documents that are refused with a sentence that names a way out."""
IMAGE_EXTENSIONS = (".png", ".jpg", ".jpeg", ".webp", ".gif")
"""Images. No reader of ours finds words in them; a model that sees images can (`research.evidence.images`)."""


def kind_named(key: str) -> Kind:
    return next(kind for kind in KINDS if kind.key == key)


def kind_of_type(media_type: str) -> Kind | None:
    """The kind for a media type in small letters, without its parameters."""
    return next((kind for kind in KINDS if media_type in kind.media_types), None)


def kind_of_name(name: str) -> Kind | None:
    """The kind for a file's name."""
    extension = PurePosixPath(name).suffix.lower()
    return next((kind for kind in KINDS if extension in kind.extensions), None)


def is_image_name(name: str) -> bool:
    """Whether a file's name says that it is an image."""
    return PurePosixPath(name).suffix.lower() in IMAGE_EXTENSIONS
