"""The size of an image in pixels, from the fixed places in its header where each format says it. Nothing is decoded."""

from __future__ import annotations

import struct

_JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Marks of the JPEG segments that say how large the image is."""
_MOST_SEGMENTS = 500


def image_size(content: bytes) -> tuple[int, int] | None:
    """Width and height; `None` if the header does not say, as in a damaged file."""
    try:
        if content.startswith(b"\x89PNG\r\n\x1a\n") and content[12:16] == b"IHDR":
            return _checked(*struct.unpack(">II", content[16:24]))
        if content.startswith(b"GIF8"):
            return _checked(*struct.unpack("<HH", content[6:10]))
        if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
            return _checked(*_webp(content))
        return _jpeg(content) if content.startswith(b"\xff\xd8") else None
    except (struct.error, IndexError):
        return None


def _checked(width: int, height: int) -> tuple[int, int] | None:
    return (width, height) if width > 0 and height > 0 else None


def _webp(content: bytes) -> tuple[int, int]:
    form = content[12:16]
    if form == b"VP8X":
        return 1 + int.from_bytes(content[24:27], "little"), 1 + int.from_bytes(content[27:30], "little")
    if form == b"VP8L":
        bits = int(struct.unpack("<I", content[21:25])[0])
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack("<HH", content[26:30])
    return width & 0x3FFF, height & 0x3FFF


def _jpeg(content: bytes) -> tuple[int, int] | None:
    place = 2
    for _ in range(_MOST_SEGMENTS):
        while content[place] == 0xFF:  # the beginning of a mark, which may be repeated
            place += 1
        mark, length = content[place], struct.unpack(">H", content[place + 1 : place + 3])[0]
        if mark in _JPEG_SIZES:
            height, width = struct.unpack(">HH", content[place + 4 : place + 8])
            return _checked(width, height)
        place += 1 + length
    return None
