"""`read_file` for files that are not plain text: the text of documents with numbered lines, as of any other file, and what a model has to
look at as content blocks (`blocks`): images, notebooks, and the pages of a PDF without text.

The backend hands out the bytes (`read_whole`), and the reader processes read them. The text is kept for a while by the bytes' hash, so that
paging through a document does not read it again and again.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from stepwell.backends import messages, paths, text
from stepwell.backends.composite import is_remote
from stepwell.backends.protocol import DEFAULT_READ_LIMIT, ErrorText
from stepwell.errors import MissingExtraError, StepwellError, WebError
from stepwell.tools.documents.content import other_image
from stepwell.tools.documents.kinds import EXTENSIONS, OLD_EXTENSIONS, kind_of_type
from stepwell.tools.files.blocks import MAX_BLOCK_BYTES, FileBlocks, current_sight, image_block, pdf_block, show_image
from stepwell.tools.files.notebooks import is_notebook, show_notebook

if TYPE_CHECKING:
    from stepwell.tools.documents.formats.pdf_pages import Pages
    from stepwell.tools.documents.page import PageText
    from stepwell.tools.documents.reader_pool import ReaderPool

MOST_PAGES = 5
"""Pages shown at once, where they have to be looked at."""
MOST_KEPT = 8
MOST_KEPT_CHARACTERS = 8_000_000
_WIDTH = 1_000
"""Paragraphs are broken into lines of about this length: `read` cuts what is much longer."""
_SHOWN_PARTS = ("page", "slide", "sheet", "chapter", "message")


class DocumentText(str):
    """Numbered lines of a document. `about` says what the document is, and stands above them."""

    about: str

    def __new__(cls, numbered: str, about: str) -> DocumentText:
        self = super().__new__(cls, numbered)
        self.about = about
        return self


class Documents:
    """Reads documents for one set of tools, and remembers the last few."""

    def __init__(self, readers: ReaderPool | None = None) -> None:
        """`readers` are the processes that read (default: those that the whole process shares)."""
        self._readers = readers
        self._kept: OrderedDict[str, PageText] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, backend: Any, result: Any, args: dict[str, Any]) -> Any:
        """What `read_file` answers: the file's text or blocks, or `result`, the backend's own answer, if that is all there is."""
        content = _content(backend, result, args)
        if not isinstance(content, bytes):
            return result
        if shown := _look(content, result, args):
            return shown
        key = _key(content, args["file_path"])
        page = self._recall(key)
        if page is None:
            try:
                page = self._keep(key, self._pool().read_file_blocking(content, _name(args)))
            except StepwellError as error:
                if not _has_only_pictures(content, error):
                    return _complaint(error, result, args)
                return self._pages(content, result, args)
        return _show(page, args)

    async def aread(self, backend: Any, result: Any, args: dict[str, Any]) -> Any:
        """`read` for an event loop, which it does not block."""
        if not _may_be_document(backend, result, args["file_path"]):
            return result
        content = await asyncio.to_thread(_content, backend, result, args)
        if not isinstance(content, bytes):
            return result
        if shown := await asyncio.to_thread(_look, content, result, args):
            return shown
        key = await asyncio.to_thread(_key, content, args["file_path"])
        page = self._recall(key)
        if page is None:
            try:
                page = self._keep(key, await self._pool().read_file(content, _name(args)))
            except StepwellError as error:
                if not _has_only_pictures(content, error):
                    return _complaint(error, result, args)
                return await asyncio.to_thread(self._pages, content, result, args)
        return await asyncio.to_thread(_show, page, args)

    def _pages(self, content: bytes, result: Any, args: dict[str, Any]) -> Any:
        """Pages of a PDF that has no text, as the model can see them: `offset` and `limit` count pages."""
        sight = current_sight()
        if not (sight.pdfs or sight.images):
            return _unseen_pages(args["file_path"])
        first, count = args.get("offset", 0), min(args.get("limit", DEFAULT_READ_LIMIT), MOST_PAGES)
        if problem := text.window_complaint(first, count):
            return problem
        try:
            pages = self._pool().show_pages_blocking(content, first, count, MAX_BLOCK_BYTES, as_pdf=sight.pdfs)
        except StepwellError as error:
            return _complaint(error, result, args)
        return _show_pages(pages, first, args, as_pdf=sight.pdfs)

    def _pool(self) -> ReaderPool:
        from stepwell.tools.documents.reader_pool import usual_readers

        return self._readers or usual_readers()

    def _recall(self, key: str) -> PageText | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: str, page: PageText) -> PageText:
        with self._lock:
            self._kept[key] = page
            while len(self._kept) > MOST_KEPT or sum(len(each.text) for each in self._kept.values()) > MOST_KEPT_CHARACTERS:
                if len(self._kept) == 1:
                    break
                self._kept.popitem(last=False)
        return page


def _may_be_document(backend: Any, result: Any, path: str) -> bool:
    """Whether the backend says that the file is not text. Some PDFs and bitmaps are made of plain characters, so they count as well."""
    if is_notebook(path):  # of which the backend counts other lines; a remote one is not fetched again only to show it better
        not_text = not is_remote(backend, path)
    else:
        not_text = messages.says_not_text(result) if isinstance(result, ErrorText) else _may_be_plain(result, path)
    return not_text and hasattr(backend, "read_whole")


def _may_be_plain(result: Any, path: str) -> bool:
    return path.lower().endswith(".pdf") or (isinstance(result, str) and "\x00" in result)


def _content(backend: Any, result: Any, args: dict[str, Any]) -> bytes | None:
    """The file's bytes, if it may be a document."""
    if not _may_be_document(backend, result, args["file_path"]):
        return None
    try:
        found = backend.read_whole(args["file_path"])
    except StepwellError:  # a backend without whole files
        return None
    if not isinstance(found, bytes) or not (
        isinstance(result, ErrorText) or found.startswith(b"%PDF-") or other_image(found) or is_notebook(args["file_path"])
    ):
        return None
    return found


def _look(content: bytes, result: Any, args: dict[str, Any]) -> Any | None:
    """An image or a notebook; `None` if this is neither."""
    if is_notebook(args["file_path"]):
        return show_notebook(content, args) or result
    return show_image(content, args["file_path"])


def _has_only_pictures(content: bytes, error: StepwellError) -> bool:
    return content.startswith(b"%PDF-") and isinstance(error, WebError) and error.reason == "empty"


def _unseen_pages(path: str) -> ErrorText:
    return ErrorText(
        f"Error: {paths.show(path)} is a PDF without text: its pages are pictures, and you cannot see those. Go on without it, or "
        "ask the user for a copy with text."
    )


def _show_pages(pages: Pages, first: int, args: dict[str, Any], *, as_pdf: bool) -> Any:
    path = args["file_path"]
    if first >= pages.total:
        return ErrorText(
            f"Error: {paths.show(path)} has {pages.total} pages; offset {first} is beyond its end. Use an offset below {pages.total}."
        )
    if not pages.files:
        return ErrorText(
            f"Error: page {first + 1} of {paths.show(path)} is too large to look at. Go on with offset={first + 1}."
        )
    end = first + pages.count
    rest = f" Go on with offset={end}." if end < pages.total else ""
    about = f"({path}: pages {first + 1} to {end} of {pages.total}, as they look, because the PDF has no text.{rest})"
    if as_pdf:
        return FileBlocks(about, [pdf_block(pages.files[0], _name(args))])
    return FileBlocks(about, [image_block(page, "image/png") for page in pages.files])


def _complaint(error: StepwellError, result: Any, args: dict[str, Any]) -> Any:
    """Why a document cannot be read. What nobody would take for a document keeps the backend's own words."""
    suffix = PurePosixPath(args["file_path"]).suffix.lower()
    if isinstance(error, MissingExtraError) or (isinstance(error, WebError) and suffix in (*EXTENSIONS, *OLD_EXTENSIONS)):
        return ErrorText(f"Error: {str(error).replace('The file', repr(args['file_path']), 1)}")
    return result


def _show(page: PageText, args: dict[str, Any]) -> Any:
    lines = list(_lines(page))
    shown = text.number_lines(args["file_path"], lines, args.get("offset", 0), args.get("limit", DEFAULT_READ_LIMIT))
    if isinstance(shown, ErrorText):
        return shown
    kind = kind_of_type(page.media_type)
    title = f" '{page.title}'" if page.title else ""
    note = f" {page.note}" if page.note else ""
    return DocumentText(shown, f"(text of {kind.name if kind else 'a document'}{title}; edit_file cannot change it.{note})")


def _lines(page: PageText) -> Iterator[str]:
    """The lines of a document, with a line such as `[page 3]` where a part begins."""
    begin, shown = 0, ""
    for part in page.parts:
        if part.name == shown or not part.name.startswith(_SHOWN_PARTS):
            continue
        yield from _wrapped(page.text[begin : part.start].rstrip("\n"))
        begin, shown = part.start, part.name
        yield f"[{part.name}]"
    yield from _wrapped(page.text[begin:])


def _wrapped(passage: str) -> Iterator[str]:
    for line in passage.split("\n") if passage else ():
        while len(line) > _WIDTH * 3 // 2:
            place = line.rfind(" ", _WIDTH // 2, _WIDTH)
            place = place if place > 0 else _WIDTH
            yield line[:place]
            line = line[place:].lstrip(" ")
        yield line


def _name(args: dict[str, Any]) -> str:
    return PurePosixPath(args["file_path"]).name


def _key(content: bytes, path: str) -> str:
    """The same bytes under another extension may be read differently."""
    return f"{blake2b(content, digest_size=16).hexdigest()}{PurePosixPath(path).suffix.lower()}"
