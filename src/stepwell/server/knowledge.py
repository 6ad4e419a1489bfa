"""What the server does for the knowledge stored in a browser: it serves the embedder's two files, and fetches a web page at the user's
request. The knowledge itself stays on the device and never reaches the server.

A page is fetched under the rules of research: public addresses only, robots.txt, the operator's policy at every hop, the same limits of
size and time. The result is returned and not stored.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

from stepwell.errors import LimitReachedError, NotFoundError
from stepwell.models.embedding.minilm_files import TOKENIZER, WEIGHTS, MiniLMFiles, read_verified
from stepwell.tools.web.fetch import FetchedPage, PageFetcher

PAGES_AT_ONCE = 4
"""How many pages are fetched at once for one user. A page takes seconds, so clients fetch a longer list in turns."""
_FILES = {each.sha256: each for each in (WEIGHTS, TOKENIZER)}


class KnowledgeAid:
    """`files` are MiniLM's files on this machine; `make_fetcher` is called when the first page is fetched."""

    def __init__(self, files: MiniLMFiles, make_fetcher: Callable[[], PageFetcher]) -> None:
        self._files = files
        self._make_fetcher = make_fetcher
        self._fetcher: PageFetcher | None = None
        self._reading: Counter[str] = Counter()

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
        if self._reading[owner] >= PAGES_AT_ONCE:
            raise LimitReachedError(f"{PAGES_AT_ONCE} pages are being read for you already. Wait until one of them is there.")
        self._reading[owner] += 1
        try:
            self._fetcher = self._fetcher or self._make_fetcher()
            return await self._fetcher.fetch_page(url)
        finally:
            self._reading[owner] -= 1
            if not self._reading[owner]:
                del self._reading[owner]
