"""The embedder's files, a fetched web page and the text of a file as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from stepwell.models.embedding.minilm import MAX_TOKENS, MINILM_ID, MiniLMEmbedder
from stepwell.models.embedding.minilm_files import TOKENIZER, WEIGHTS
from stepwell.models.local.catalogue import LocalModel
from stepwell.server.schemas.fields import Body, WireModel

if TYPE_CHECKING:
    from stepwell.tools.documents.page import PageText as ReadDocument
    from stepwell.tools.web.fetch import FetchedPage

MAX_PAGE_CHARS = 400_000


class EmbedderFile(WireModel):
    path: str = Field(description="Where to download it; the content of a path never changes")
    sha256: str
    size_bytes: int


class EmbedderFiles(WireModel):
    id: str = Field(description="Vectors are comparable only if they have the same id")
    dimensions: int
    max_tokens: int
    weights: EmbedderFile
    tokenizer: EmbedderFile


class EmbedderResponse(WireModel):
    embedder: EmbedderFiles | None = Field(description="Null: its files are not on this server; compare texts by words instead")
    sentence: str


class PageRequest(Body):
    url: Annotated[str, Field(min_length=1, max_length=4096, description="An http or https address on the public web")]


class PageText(WireModel):
    url: str
    final_url: str
    title: str
    text: str
    media_type: str
    fetched_at: str
    note: str = Field(description="A sentence that says what was left out; empty if nothing was")


class DocumentPart(WireModel):
    start: int = Field(
        description="Its offset in the text, in Unicode characters (code points); it reaches to the next part's start"
    )
    name: str = Field(description="For example `page 3`, `slide 2`, `sheet Sales`, `message 4 (Ann Lee, 3 May 2025)`")
    cells: str = Field(description="The cells of a sheet, such as `A5:F5`; else empty")


class DocumentText(WireModel):
    title: str
    text: str = Field(description="Headings are lines that begin with `# ` to `###### `; a row of a table is one paragraph")
    media_type: str
    note: str = Field(description="A sentence that says what was left out; empty if nothing was")
    parts: list[DocumentPart] = Field(
        description="Pages, slides, rows or messages in their order; empty for a text without parts"
    )


def describe_embedder(available: bool) -> dict[str, Any]:
    if not available:
        return {"embedder": None, "sentence": "MiniLM's files are not on this server, so texts are compared by words."}
    files = {"weights": _file(WEIGHTS), "tokenizer": _file(TOKENIZER)}
    found = {"id": MINILM_ID, "dimensions": MiniLMEmbedder.dimensions, "max_tokens": MAX_TOKENS, **files}
    return {"embedder": found, "sentence": "MiniLM compares texts by meaning, in your browser."}


def _file(model: LocalModel) -> dict[str, Any]:
    return {"path": f"/api/embedder/files/{model.sha256}", "sha256": model.sha256, "size_bytes": model.size_bytes}


def page_wire(page: FetchedPage) -> dict[str, Any]:
    note = page.note
    if len(page.text) > MAX_PAGE_CHARS:
        note = f"{note} Only the first {MAX_PAGE_CHARS:,} characters are included.".strip()
    return {
        "url": page.url,
        "final_url": page.final_url,
        "title": page.title,
        "text": page.text[:MAX_PAGE_CHARS],
        "media_type": page.media_type,
        "fetched_at": page.fetched_at,
        "note": note,
    }


def document_wire(read: ReadDocument) -> dict[str, Any]:
    return {
        "title": read.title,
        "text": read.text,
        "media_type": read.media_type,
        "note": read.note,
        "parts": [part._asdict() for part in read.parts],
    }
