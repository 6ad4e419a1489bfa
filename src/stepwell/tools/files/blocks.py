"""What `read_file` gives to a model that looks at a file instead of reading its text: content blocks, with a line that says what they are.

Whoever calls the tool says what its model takes (`seeing`). A model that does not take images gets a sentence: a provider would refuse
the block, and every later message too, because the block stays in the conversation. Limits are those of the strictest provider.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from stepwell.backends.paths import PathError, Place
from stepwell.backends.protocol import ErrorText
from stepwell.tools.documents.content import image_type, other_image
from stepwell.tools.documents.image_size import image_size

MAX_IMAGE_BYTES = 3_750_000
"""5 MB, as providers count them: in base64, which has four characters for three bytes."""
MAX_IMAGE_SIDE = 8_000
"""Pixels."""
MAX_BLOCK_BYTES = 7_500_000
"""What one call of the tool gives altogether: a request has to hold several."""

Block = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sight:
    """What a model takes in the result of a tool."""

    images: bool
    pdfs: bool


_EVERYTHING = Sight(images=True, pdfs=True)
_SIGHT: ContextVar[Sight] = ContextVar("stepwell_sight", default=_EVERYTHING)


@contextmanager
def seeing(sight: Sight) -> Iterator[None]:
    """A context in which `read_file` is called for a model that takes these."""
    token = _SIGHT.set(sight)
    try:
        yield
    finally:
        _SIGHT.reset(token)


def current_sight() -> Sight:
    """What the model takes that the tool is called for; everything if nobody has said."""
    return _SIGHT.get()


@dataclass(frozen=True, slots=True)
class FileBlocks:
    """A file as blocks. `about` says what they are, and goes with them, followed by the numbered lines of the file, if it has any."""

    about: str
    blocks: Sequence[Block]
    numbered: str = ""


def image_block(content: bytes, media_type: str) -> Block:
    return {"type": "image", "base64": b64encode(content).decode(), "mime_type": media_type}


def pdf_block(content: bytes, name: str) -> Block:
    return {
        "type": "file",
        "base64": b64encode(content).decode(),
        "mime_type": "application/pdf",
        "extras": {"filename": name},  # some providers want one
    }


def show_image(content: bytes, path: str) -> FileBlocks | ErrorText | None:
    """An image file as a block, or a sentence; `None` if it is no image."""
    if kind := other_image(content):
        return PathError(
            "Error: ",
            Place(path),
            f" is an image ({kind}, {len(content):,} bytes) in a format that models do not take. Convert it to PNG, or ask for a copy as "
            "PNG or JPEG.",
        )
    media_type = image_type(content)
    if media_type is None:
        return None
    size = image_size(content)
    described = f"{_name(media_type)} image, {f'{size[0]:,} × {size[1]:,} pixels, ' if size else ''}{len(content):,} bytes"
    if size is None:
        return PathError(
            "Error: ",
            Place(path),
            f" is a damaged or incomplete image ({described}). Go on without it, or ask for another copy.",
        )
    if not current_sight().images:
        return PathError(
            "Error: ",
            Place(path),
            f" is an image ({described}), and you cannot see images. Go on without it, or ask the user what it shows.",
        )
    if problem := image_complaint(content, size):
        return PathError("Error: ", Place(path), f" is too large to look at ({described}): {problem} Ask for a smaller copy.")
    return FileBlocks(f"({path}: {described})", [image_block(content, media_type)])


def image_complaint(content: bytes, size: tuple[int, int]) -> str | None:
    """Why an image is too large for a model; `None` if it is not."""
    if len(content) > MAX_IMAGE_BYTES:
        return f"at most {MAX_IMAGE_BYTES:,} bytes are possible."
    if max(size) > MAX_IMAGE_SIDE:
        return f"at most {MAX_IMAGE_SIDE:,} pixels on each side are possible."
    return None


def _name(media_type: str) -> str:
    return {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP"}[media_type]
