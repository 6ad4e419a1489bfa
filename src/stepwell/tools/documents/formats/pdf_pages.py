"""Pages of a PDF as they are, for a model that looks at them: a smaller PDF, or pictures in shades of grey."""

from __future__ import annotations

import io
import struct
import zlib
from dataclasses import dataclass
from typing import Any

from stepwell.errors import FetchFailedError, needs_extra

PICTURE_SIDE = 1_500
"""The longer side of a page's picture, in pixels. Larger pictures are scaled down by the providers anyway."""


@dataclass(frozen=True)
class Pages:
    """Some pages. `total` is how many the PDF has."""

    total: int
    count: int
    files: list[bytes]


def cut_pages(content: bytes, first: int, count: int, most_bytes: int) -> Pages:
    """Up to `count` pages from `first` (0-based) as one PDF, fewer if they are larger than `most_bytes`; none if one page is."""
    pdf = _open(content)
    total = len(pdf)
    count = max(0, min(count, total - first))
    while count:
        with_pages = _new()
        with_pages.import_pages(pdf, list(range(first, first + count)))
        file = io.BytesIO()
        with_pages.save(file)
        if file.tell() <= most_bytes:
            return Pages(total, count, [file.getvalue()])
        count //= 2
    return Pages(total, 0, [])


def draw_pages(content: bytes, first: int, count: int, most_bytes: int) -> Pages:
    """Up to `count` pages from `first` (0-based) as PNG images, fewer if they are larger than `most_bytes` together."""
    pdf = _open(content)
    total = len(pdf)
    files: list[bytes] = []
    for number in range(first, min(total, first + count)):
        page = pdf[number]
        scale = PICTURE_SIDE / max(1.0, *page.get_size())
        bitmap = page.render(scale=scale, grayscale=True)
        files.append(_png(bitmap.width, bitmap.height, bitmap.stride, bytes(bitmap.buffer)))
        bitmap.close()
        page.close()
        if sum(map(len, files)) > most_bytes:
            files.pop()
            break
    return Pages(total, len(files), files)


def _open(content: bytes) -> Any:
    with needs_extra("Reading PDF files", "research"):
        import pypdfium2  # type: ignore[import-untyped]  # ships without types
    try:
        return pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        raise FetchFailedError("The PDF cannot be opened: it is damaged, or locked with a password.", "unreadable") from error


def _new() -> Any:
    import pypdfium2

    return pypdfium2.PdfDocument.new()


def _png(width: int, height: int, stride: int, pixels: bytes) -> bytes:
    """An image of one byte for each pixel."""
    rows = b"".join(b"\0" + pixels[row * stride : row * stride + width] for row in range(height))
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in parts
    )
