"""The user's own files for `stepwell research --context`: documents of every kind that we read, single files or whole folders.

```
files ─> text and parts (pages, slides, cells, messages) ─> passages worth reading for the question ─> snippets, one for each part
```
Only the chosen passages go to the research, each with the file's name and its place there. Separate processes with limits read the
files, because a document from an unknown source may attack its reader. An image is read by a model that sees images
(`evidence.images`), for which the caller gives the function; `tell` says so beside its name.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepwell.errors import InvalidRequestError, WebError
from stepwell.tools.documents.kinds import EXTENSIONS, IMAGE_EXTENSIONS, OLD_EXTENSIONS, is_image_name
from stepwell.tools.documents.parts import parts_between, place_of
from stepwell.tools.documents.visible import one_line

if TYPE_CHECKING:
    from stepwell.models.embedding.embedder import Embedder
    from stepwell.research.finding.blocks import Block
    from stepwell.research.finding.passages import Document
    from stepwell.tools.documents.page import PageText

MOST_FILES = 500
MOST_IMAGES = 20
"""Each is a call of a model."""
MOST_BYTES = 50_000_000
"""The most bytes of one file."""
MAX_CHARACTERS = 20_000_000
"""The most characters of all files together."""
MANY = 500_000
"""Searching more characters than this takes a moment, so we tell the user first."""
PASSAGES, PASSAGE_CHARACTERS = 40, 24_000
"""How much of the files goes along with a question."""
ReadImage = Callable[[bytes], Awaitable["PageText"]]
_READ_AT_ONCE = 4
_NEARLY_ALL = 0.9
"""Headings and blank lines between passages do not count as left out."""


@dataclass(frozen=True)
class _Read:
    """A file: its document, or why it cannot be read; and what the reader left out of it."""

    file: Path
    document: Document | None = None
    problem: str = ""
    note: str = ""


async def read_material(
    places: Sequence[Path],
    question: str,
    embedder: Embedder,
    tell: Callable[[str], None],
    read_image: ReadImage | None = None,
) -> list[dict[str, Any]]:
    """The passages to send, as `snippets` for the graph. `tell` reports what was left out and how much was chosen."""
    from stepwell.research.finding.passages import choose_passages

    read = await _read_all(list_files(places), read_image)
    documents = {each.document.name: each.document for each in read if each.document}
    if not documents:
        whole = "" if len(read) == 1 else "None of the files of --context can be read. "
        raise InvalidRequestError(whole + read[0].problem)
    for each in read:
        if each.problem:
            tell(f"{each.problem} It is left out.")
        elif each.note:
            tell(f"{_label(each.file.name)}: {each.note}")
    names = {each.document.name: _label(each.file.name) for each in reversed(read) if each.document}
    size = sum(len(document.text) for document in documents.values())
    if size > MAX_CHARACTERS:
        raise InvalidRequestError(
            f"The files of --context have {size:,} characters of text; the limit is {MAX_CHARACTERS:,}. Name fewer files."
        )
    if size > MANY:
        tell(f"Searching {size:,} characters of your files ...")
    chosen = await choose_passages([question], list(documents.values()), embedder, most=PASSAGES, characters=PASSAGE_CHARACTERS)
    used = sum(len(block.text) for block in chosen)
    if used < _NEARLY_ALL * size:
        tell(f"Using the passages of your files that matter for the question: {used:,} of {size:,} characters.")
    order = {name: number for number, name in enumerate(documents)}
    return [
        snippet
        for block in sorted(chosen, key=lambda block: (order[block.source_id], block.start))
        for snippet in _snippets(block, documents[block.source_id], names[block.source_id])
    ]


def _snippets(block: Block, document: Document, label: str) -> Iterator[dict[str, Any]]:
    """A passage as snippets, one for each part it touches, so that a quote leads to its own cell, slide or message."""
    parts = parts_between(document.parts, block.start, block.end)
    cuts = [block.start, *(part.start for part in parts if part.start > block.start), block.end]
    for begin, end in pairwise(cuts):
        text = document.text[begin:end]
        if not (said := text.strip()):
            continue
        start = begin + text.index(said)
        yield {
            "id": f"{document.name}:{start}",
            "document_id": document.name,
            "label": label,
            "place": place_of(document.parts, start, start + len(said))[:200],
            "text": said,
            "start": start,
            "end": start + len(said),
        }


def _label(name: str) -> str:
    """A file's name as it can be shown and stored: some systems allow any bytes in it."""
    return one_line(os.fsencode(name).decode("utf-8", "replace"), 1_000)[-200:] or "a file without a name"


def list_files(places: Sequence[Path]) -> list[Path]:
    """The named files, and all documents in the named folders, sorted by name; hidden files are left out."""
    found: list[Path] = []
    for place in places:
        if place.is_dir():
            known = EXTENSIONS + IMAGE_EXTENSIONS + OLD_EXTENSIONS  # the old ones are refused with a sentence, not passed over
            inside = (file for file in sorted(place.rglob("*")) if file.suffix.lower() in known and file.is_file())
            own = [file for file in inside if not any(part.startswith(".") for part in file.relative_to(place).parts)]
            if not own:
                kinds = ", ".join(EXTENSIONS)
                raise InvalidRequestError(f"The folder '{place.name}' of --context has no readable files ({kinds}).")
            found += own
        elif place.exists():
            found.append(place)
        else:
            raise InvalidRequestError(f"There is no file or folder '{place}', named by --context.")
    if len(found) > MOST_FILES:
        raise InvalidRequestError(f"--context names {len(found):,} files; the limit is {MOST_FILES}. Name fewer.")
    if (images := sum(is_image_name(file.name) for file in found)) > MOST_IMAGES:
        raise InvalidRequestError(
            f"--context names {images:,} images; the limit is {MOST_IMAGES}, because a model reads each of them. Name fewer."
        )
    return list(dict.fromkeys(found))


async def _read_all(files: Sequence[Path], read_image: ReadImage | None) -> list[_Read]:
    """Every file, a few at a time. One broken file does not stop the others."""
    turns = asyncio.Semaphore(_READ_AT_ONCE)

    async def read(file: Path) -> _Read:
        async with turns:
            return await _read(file, read_image)

    return await asyncio.gather(*map(read, files))


async def _read(file: Path, read_image: ReadImage | None) -> _Read:
    from stepwell.research.finding.blocks import readable_name
    from stepwell.research.finding.passages import Document
    from stepwell.tools.documents.reader_pool import usual_readers

    try:
        content = await asyncio.to_thread(_content, file)
        seen = read_image if is_image_name(file.name) else None
        page = await (seen(content) if seen else usual_readers().read_file(content, file.name))
    except InvalidRequestError as error:
        return _Read(file, problem=str(error))
    except WebError as error:
        return _Read(file, problem=f"The file '{_label(file.name)}' of --context cannot be read. {error}")
    name = hashlib.sha256(content).hexdigest()[:32]
    return _Read(file, Document(name, page.text, page.title or readable_name(file.stem), page.parts), note=page.note)


def _content(file: Path) -> bytes:
    try:
        if not file.is_file():  # a pipe or a device may never end
            raise InvalidRequestError(f"'{_label(file.name)}' of --context is neither a file nor a folder.")
        if file.stat().st_size > MOST_BYTES:
            raise InvalidRequestError(
                f"The file '{_label(file.name)}' of --context is larger than {MOST_BYTES // 1_000_000} MB."
            )
        return file.read_bytes()
    except OSError as error:
        raise InvalidRequestError(f"The file '{_label(file.name)}' of --context cannot be read ({error.strerror}).") from error
