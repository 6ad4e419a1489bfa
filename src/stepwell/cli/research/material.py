"""Files of yours for `stepwell research --context`: texts, Markdown, web pages and PDFs, one by one or by the folder.

```
files ─> text, by pages where there are pages ─> passages of at most 1,200 characters ─> those nearest to the question
```
Only what is chosen here goes along with the question, and becomes sources with the file's name and page. The files are read by processes
apart, with limits: a PDF from somewhere is somebody else's program for its reader.
"""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepwell.errors import InvalidRequestError, WebError

if TYPE_CHECKING:
    from stepwell.models.embedding.embedder import Embedder

MOST_FILES = 500
MOST_BYTES = 50_000_000
"""Of one file."""
MOST_PASSAGES = 5_000
READ = (".txt", ".md", ".markdown", ".rst", ".html", ".htm", ".pdf")
PASSAGE_CHARS = 1_200
"""About what an embedder reads of a text: of a longer passage only the beginning would be compared with the question."""
MANY = 500
"""Passages that take a moment to compare, so that it is said beforehand."""
_OVERLAP = 150


@dataclass(frozen=True)
class Passage:
    """Some text of a file. `start` is its place in the whole text."""

    file: str
    document_id: str
    page: int | None
    start: int
    text: str

    @property
    def label(self) -> str:
        return f"{self.file}, page {self.page}" if self.page else self.file


async def read_material(
    places: Sequence[Path], question: str, embedder: Embedder, tell: Callable[[str], None]
) -> list[dict[str, Any]]:
    """The passages to send along, as the graph takes them (`snippets`). `tell` says how many of how many."""
    from stepwell.apps.research.snippets import MOST_SNIPPETS

    passages, unread = await _read_all(list_files(places))
    for said in unread:
        tell(said)
    if len(passages) > MOST_PASSAGES:
        raise InvalidRequestError(
            f"The files of --context have {len(passages):,} passages, at most {MOST_PASSAGES:,} are looked through. Name fewer files."
        )
    if len(passages) > MANY:
        tell(f"Looking through {len(passages):,} passages of your files ...")
    chosen = await choose(passages, question, embedder, MOST_SNIPPETS)
    if len(chosen) < len(passages):
        tell(f"Of your files, the {len(chosen)} passages nearest to the question go along, of {len(passages):,}.")
    return [
        {
            "id": f"{passage.document_id}:{passage.start}",
            "document_id": passage.document_id,
            "label": passage.label[-200:],
            "text": passage.text,
            "start": passage.start,
            "end": passage.start + len(passage.text),
        }
        for passage in chosen
    ]


async def _read_all(files: Sequence[Path]) -> tuple[list[Passage], list[str]]:
    """The passages of all files, and a sentence for each that could not be read. One broken file is no reason to do without the others."""
    passages: list[Passage] = []
    unread: list[str] = []
    for file in files:
        try:
            passages += await _read(file)
        except InvalidRequestError as error:
            unread.append(f"{error} It is left out.")
    if len(unread) == len(files):
        raise InvalidRequestError(f"None of the files of --context can be read. {unread[0].removesuffix(' It is left out.')}")
    return passages, unread


def list_files(places: Sequence[Path]) -> list[Path]:
    """The files that were named, and of folders those that can be read, in the order of their names; hidden ones are left out."""
    found: list[Path] = []
    for place in places:
        if place.is_dir():
            inside = (file for file in sorted(place.rglob("*")) if file.suffix.lower() in READ and file.is_file())
            own = [file for file in inside if not any(part.startswith(".") for part in file.relative_to(place).parts)]
            if not own:
                kinds = ", ".join(READ)
                raise InvalidRequestError(f"The folder '{place.name}' of --context has no file that can be read ({kinds}).")
            found += own
        elif place.exists():
            found.append(place)
        else:
            raise InvalidRequestError(f"There is no file or folder '{place}', which --context names.")
    if len(found) > MOST_FILES:
        raise InvalidRequestError(f"--context names {len(found):,} files, at most {MOST_FILES} are read. Name fewer.")
    return list(dict.fromkeys(found))


async def choose(passages: Sequence[Passage], question: str, embedder: Embedder, most: int) -> list[Passage]:
    """Those nearest to the question, in the order in which they stand in their files."""
    if len(passages) <= most:
        return list(passages)
    asked, *vectors = await embedder.aembed([question, *(passage.text for passage in passages)])
    nearness = [sum(map(mul, asked, vector)) for vector in vectors]
    nearest = sorted(range(len(passages)), key=lambda place: -nearness[place])[:most]
    return [passages[place] for place in sorted(nearest)]


async def _read(file: Path) -> list[Passage]:
    from stepwell.tools.web.reader_pool import usual_readers

    content = _content(file)
    kind = "text/plain" if file.suffix.lower() in (".md", ".markdown", ".rst") else mimetypes.guess_type(file.name)[0]
    try:
        page = await usual_readers().read_page(content, kind)
    except WebError as error:
        said = str(error).replace("The page", "it")
        raise InvalidRequestError(f"The file '{file.name}' of --context cannot be read: {said}") from error
    document_id = hashlib.sha256(content).hexdigest()[:32]
    return list(_cut(file.name, document_id, page.text, page.pages))


def _content(file: Path) -> bytes:
    try:
        if file.stat().st_size > MOST_BYTES:
            raise InvalidRequestError(f"The file '{file.name}' of --context is larger than {MOST_BYTES // 1_000_000} MB.")
        return file.read_bytes()
    except OSError as error:
        raise InvalidRequestError(f"The file '{file.name}' of --context cannot be read ({error.strerror}).") from error


def _cut(name: str, document_id: str, text: str, pages: Sequence[int]) -> Iterator[Passage]:
    """Passages of one page each, and short enough, cut where a line ends if one does."""
    begins = list(pages) or [0]
    for number, (begin, end) in enumerate(zip(begins, [*begins[1:], len(text)], strict=True), 1):
        place = begin
        while text[place:end].strip():
            stop = min(end, place + PASSAGE_CHARS)
            if stop < end:
                stop = (
                    max(
                        text.rfind("\n", place + PASSAGE_CHARS // 2, stop),
                        text.rfind(". ", place + PASSAGE_CHARS // 2, stop) + 1,
                    )
                    or stop
                )
            passage = text[place:stop]
            lead = len(passage) - len(passage.lstrip())
            if passage.strip():
                yield Passage(name, document_id, number if pages else None, place + lead, passage.strip())
            if stop >= end:
                break
            place = max(stop - _OVERLAP, place + 1)
