"""The user's own files for `stepwell research --context`, single files or whole folders, in the formats of `tools.documents.kinds`.

```
files ─> text, by pages, slides or sections where there are any ─> passages of at most 1,200 characters ─> those nearest to the question
```
Only the chosen passages go to the research, as sources with the file's name and place. Separate processes with limits read the files,
because a PDF from an unknown source may attack its reader.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepwell.errors import InvalidRequestError, WebError
from stepwell.tools.documents.kinds import EXTENSIONS
from stepwell.tools.documents.parts import Part, place_of

if TYPE_CHECKING:
    from stepwell.models.embedding.embedder import Embedder

MOST_FILES = 500
MOST_BYTES = 50_000_000
"""The most bytes of one file."""
MOST_PASSAGES = 5_000
READ = EXTENSIONS
PASSAGE_CHARS = 1_200
"""About as much as an embedder reads. It would compare only the beginning of a longer passage with the question."""
MANY = 500
"""Comparing more passages than this takes a moment, so we tell the user first."""
_OVERLAP = 150


@dataclass(frozen=True)
class Passage:
    """Part of a file's text. `start` is its offset in the whole text."""

    file: str
    document_id: str
    place: str
    """Where it stands in the file, such as `page 3`; empty if the file has no parts."""
    start: int
    text: str

    @property
    def label(self) -> str:
        return f"{self.file}, {self.place}" if self.place else self.file


async def read_material(
    places: Sequence[Path], question: str, embedder: Embedder, tell: Callable[[str], None]
) -> list[dict[str, Any]]:
    """The passages to send, as `snippets` for the graph. `tell` reports how many were chosen."""
    from stepwell.research.graph.snippets import MOST_SNIPPETS

    passages, unread = await _read_all(list_files(places))
    for said in unread:
        tell(said)
    if len(passages) > MOST_PASSAGES:
        raise InvalidRequestError(
            f"The files of --context have {len(passages):,} passages; the limit is {MOST_PASSAGES:,}. Name fewer files."
        )
    if len(passages) > MANY:
        tell(f"Searching {len(passages):,} passages of your files ...")
    chosen = await choose(passages, question, embedder, MOST_SNIPPETS)
    if len(chosen) < len(passages):
        tell(f"Using the {len(chosen)} passages of your files that are closest to the question, of {len(passages):,}.")
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
    """The passages of all files, and a sentence for each unreadable file. One broken file does not stop the others."""
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
    """The named files, and all readable files in the named folders, sorted by name; hidden files are left out."""
    found: list[Path] = []
    for place in places:
        if place.is_dir():
            inside = (file for file in sorted(place.rglob("*")) if file.suffix.lower() in READ and file.is_file())
            own = [file for file in inside if not any(part.startswith(".") for part in file.relative_to(place).parts)]
            if not own:
                kinds = ", ".join(READ)
                raise InvalidRequestError(f"The folder '{place.name}' of --context has no readable files ({kinds}).")
            found += own
        elif place.exists():
            found.append(place)
        else:
            raise InvalidRequestError(f"There is no file or folder '{place}', named by --context.")
    if len(found) > MOST_FILES:
        raise InvalidRequestError(f"--context names {len(found):,} files; the limit is {MOST_FILES}. Name fewer.")
    return list(dict.fromkeys(found))


async def choose(passages: Sequence[Passage], question: str, embedder: Embedder, most: int) -> list[Passage]:
    """The passages closest to the question, in the order of their files."""
    if len(passages) <= most:
        return list(passages)
    asked, *vectors = await embedder.aembed([question, *(passage.text for passage in passages)])
    nearness = [sum(map(mul, asked, vector)) for vector in vectors]
    nearest = sorted(range(len(passages)), key=lambda place: -nearness[place])[:most]
    return [passages[place] for place in sorted(nearest)]


async def _read(file: Path) -> list[Passage]:
    from stepwell.tools.documents.reader_pool import usual_readers

    content = _content(file)
    try:
        page = await usual_readers().read_file(content, file.name)
    except WebError as error:
        said = str(error).replace("The file", "it")
        raise InvalidRequestError(f"The file '{file.name}' of --context cannot be read: {said}") from error
    document_id = hashlib.sha256(content).hexdigest()[:32]
    return list(_cut(file.name, document_id, page.text, page.parts))


def _content(file: Path) -> bytes:
    try:
        if file.stat().st_size > MOST_BYTES:
            raise InvalidRequestError(f"The file '{file.name}' of --context is larger than {MOST_BYTES // 1_000_000} MB.")
        return file.read_bytes()
    except OSError as error:
        raise InvalidRequestError(f"The file '{file.name}' of --context cannot be read ({error.strerror}).") from error


def _cut(name: str, document_id: str, text: str, parts: Sequence[Part]) -> Iterator[Passage]:
    """Cuts a text into passages that stay within one page, slide, sheet or section and the length limit, at the end of a line or
    sentence if possible. Rows of a table share passages."""
    begins = [0, *(part.start for part, before in zip(parts[1:], parts, strict=False) if _begins_anew(part, before))]
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
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
                start, shown = place + lead, passage.strip()
                yield Passage(name, document_id, place_of(parts, start, start + len(shown)), start, shown)
            if stop >= end:
                break
            place = max(stop - _OVERLAP, place + 1)


def _begins_anew(part: Part, before: Part) -> bool:
    return part.name != before.name and not part.name.startswith(("line", "record"))
