"""The size of an image in pixels, from the fixed places in its header where each format says it, if the file is complete.

Nothing is decoded: a complete file has the parts that its format announces, up to the mark of its end. A provider refuses an image that was
cut off, and then every later message of the thread with it.
"""

from __future__ import annotations

import struct
import zlib

_JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Marks of the JPEG segments that say how large the image is."""
_MOST_SEGMENTS = 500


def image_size(content: bytes) -> tuple[int, int] | None:
    """Width and height; `None` if the file is damaged or cut off."""
    try:
        if content.startswith(b"\x89PNG\r\n\x1a\n") and content[12:16] == b"IHDR":
            return _checked(*struct.unpack(">II", content[16:24])) if _is_whole_png(content) else None
        if content.startswith(b"GIF8"):
            return _checked(*struct.unpack("<HH", content[6:10])) if _is_whole_gif(content) else None
        if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
            return _checked(*_webp(content)) if _is_whole_webp(content) else None
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


def _is_whole_png(content: bytes) -> bool:
    """Whether all chunks are there and those that matter are unharmed, up to the last one."""
    place, has_pixels = 8, False
    while True:
        length, kind = struct.unpack(">I4s", content[place : place + 8])
        end = place + 12 + length
        if end > len(content):
            return False
        if kind[:1].isupper() and zlib.crc32(memoryview(content)[place + 4 : end - 4]) != int.from_bytes(
            content[end - 4 : end], "big"
        ):
            return False
        if kind == b"IEND":
            return has_pixels
        has_pixels = has_pixels or kind == b"IDAT"
        place = end


def _is_whole_gif(content: bytes) -> bool:
    place, has_pixels = 13 + _colours(content[10]), False
    while content[place] != 0x3B:  # the end
        if content[place] == 0x2C:  # an image
            place += 11 + _colours(content[place + 9])
            has_pixels = True
        elif content[place] == 0x21:  # an extension
            place += 2
        else:
            return False
        while content[place]:  # blocks, each with its length; one without length is the last
            place += 1 + content[place]
        place += 1
    return has_pixels


def _colours(flags: int) -> int:
    """The length of a table of colours."""
    return 3 * 2 ** ((flags & 7) + 1) if flags & 0x80 else 0


def _is_whole_webp(content: bytes) -> bool:
    whole, first = struct.unpack("<I", content[4:8])[0] + 8, struct.unpack("<I", content[16:20])[0] + 20
    return bool(first <= whole <= len(content))


def _jpeg(content: bytes) -> tuple[int, int] | None:
    place, size = 2, None
    for _ in range(_MOST_SEGMENTS):
        while content[place] == 0xFF:  # the beginning of a mark, which may be repeated
            place += 1
        mark, length = content[place], struct.unpack(">H", content[place + 1 : place + 3])[0]
        if mark in _JPEG_SIZES:
            height, width = struct.unpack(">HH", content[place + 4 : place + 8])
            size = _checked(width, height)
        if mark == 0xDA:  # the pixels, which end with a mark; a preview in the header has marks of its own
            return size if content.find(b"\xff\xd9", place + length) >= 0 else None
        place += 1 + length
    return None
