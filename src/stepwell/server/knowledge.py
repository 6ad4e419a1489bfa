"""What the server does for the knowledge stored in a browser: it serves the embedder's two files, fetches a web page, reads an office file,
and has a model write down the text of an image, the latter three at the user's request. It stores nothing of that knowledge.

A page is fetched under the rules of research: public addresses only, robots.txt, the operator's policy at every hop, the same limits of
size and time. A file is read in the reader's process. The result is returned and not stored; neither content nor name is logged.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from starlette.datastructures import Headers
from starlette.types import Receive

from stepwell.errors import LimitReachedError, NotFoundError
from stepwell.models.connected import RunModels, using
from stepwell.models.embedding.minilm_files import TOKENIZER, WEIGHTS, MiniLMFiles, read_verified
from stepwell.server.limits.receiving import Receiving
from stepwell.tools.documents.kinds import is_image_name

if TYPE_CHECKING:
    from stepwell.tools.documents.page import PageText
    from stepwell.tools.web.fetch import FetchedPage, PageFetcher

PAGES_AT_ONCE = 4
"""How many pages are fetched at once for one user. A page takes seconds, so clients fetch a longer list in turns."""
DOCUMENTS_AT_ONCE = 4
"""How many documents are received or read at once for one user."""
MAX_DOCUMENT_BYTES = 50_000_000
ReadImage: TypeAlias = "Callable[[bytes], Awaitable[PageText]]"
"""Has a model of those in use (`models.connected.using`) write down the text of an image."""
_FILES = {each.sha256: each for each in (WEIGHTS, TOKENIZER)}


class KnowledgeAid:
    """`files` are MiniLM's files on this machine; `make_fetcher` is called when the first page is fetched. Without `read_image`, images
    are refused like any other file without text."""

    def __init__(
        self, files: MiniLMFiles, make_fetcher: Callable[[], PageFetcher], read_image: ReadImage | None = None
    ) -> None:
        self._files = files
        self._read_image = read_image
        self._make_fetcher = make_fetcher
        self._fetcher: PageFetcher | None = None
        self._pages: Counter[str] = Counter()
        self._documents: Counter[str] = Counter()
        # A document waits in memory for its reader, so what all users send at once has a limit, and one user gets half of it.
        self._receiving = Receiving(MAX_DOCUMENT_BYTES, 2 * MAX_DOCUMENT_BYTES, MAX_DOCUMENT_BYTES)

    @property
    def held_bytes(self) -> int:
        """The size of all documents that are being received or read."""
        return self._receiving.held_bytes

    def has_embedder(self) -> bool:
        return self._files.obtainable()

    async def file(self, sha256: str) -> bytes:
        """One of MiniLM's files by its hash, checked as it is read."""
        wanted = _FILES.get(sha256)
        if wanted is None or not self.has_embedder():
            raise NotFoundError("file of an embedder", sha256, "GET /api/embedder says which there are.")
        return await asyncio.to_thread(lambda: read_verified(self._files.path_of(wanted), wanted))

    async def read_page(self, owner: str, url: str) -> FetchedPage:
        """The page at an address. `FetchRefusedError` or `FetchFailedError` if it cannot be fetched."""
        with _turn(self._pages, owner, PAGES_AT_ONCE, "pages"):
            self._fetcher = self._fetcher or self._make_fetcher()
            return await self._fetcher.fetch_page(url)

    async def read_document(
        self, owner: str, name: str, headers: Headers, receive: Receive, models: RunModels | None = None
    ) -> PageText:
        """The text of the file in a request's body; an image is read by one of the caller's `models`. `FetchRefusedError` or
        `FetchFailedError` if it cannot be read; `BodyRefusedError` or `ClientGoneError` if it does not arrive."""
        with _turn(self._documents, owner, DOCUMENTS_AT_ONCE, "documents"):
            async with self._receiving.hold(owner, headers, receive) as content:
                # By its name: whoever sends a file under another name did not mean a model to see it.
                if self._read_image and is_image_name(name):
                    with using(models):
                        return await self._read_image(content)
                from stepwell.tools.documents.reader_pool import (
                    usual_readers,
                )  # on demand: loads what reads each kind of document

                return await usual_readers().read_file(content, name)


@contextmanager
def _turn(busy: Counter[str], owner: str, most: int, what: str) -> Iterator[None]:
    if busy[owner] >= most:
        raise LimitReachedError(f"{most} {what} are being read for you already. Wait until one of them is there.")
    busy[owner] += 1
    try:
        yield
    finally:
        busy[owner] -= 1
        if not busy[owner]:
            del busy[owner]
