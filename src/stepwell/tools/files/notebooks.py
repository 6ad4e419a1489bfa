"""`read_file` for notebooks (`.ipynb`): cells and their outputs as numbered lines, and the images in outputs as blocks.

The file itself is JSON, in which a model would have to read images as base64 and text with escaped newlines.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from stepwell.backends import text
from stepwell.backends.protocol import DEFAULT_READ_LIMIT, ErrorText
from stepwell.tools.documents.content import image_type
from stepwell.tools.documents.image_size import image_size
from stepwell.tools.files.blocks import MAX_BLOCK_BYTES, FileBlocks, current_sight, image_block, image_complaint

MOST_IMAGES = 10
"""In one answer."""
_MAX_OUTPUT_CHARS = 20_000
_COLOUR = re.compile("\x1b\\[[0-9;]{0,20}[A-Za-z]")
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


@dataclass
class _Page:
    """A notebook as lines, with the images that belong to some of them."""

    lines: list[str] = field(default_factory=list)
    images: dict[int, bytes] = field(default_factory=dict)
    """By the number of their line."""


def is_notebook(path: str) -> bool:
    return PurePosixPath(path).suffix.lower() == ".ipynb"


def show_notebook(content: bytes, args: Mapping[str, Any]) -> FileBlocks | ErrorText | None:
    """The cells in the window that `offset` and `limit` ask for; `None` if this is not a notebook."""
    notebook = _parse(content)
    if notebook is None:
        return None
    page = _Page()
    for number, cell in enumerate(notebook["cells"], 1):
        _add_cell(page, number, cell)
    offset, limit = args.get("offset", 0), args.get("limit", DEFAULT_READ_LIMIT)
    path = args["file_path"]
    shown = text.number_lines(path, page.lines or ["(no cells)"], offset, limit)
    if isinstance(shown, ErrorText):
        return shown
    images = [image for line, image in page.images.items() if offset <= line < offset + limit]
    shown_images = list(_fitting(images))
    count = len(notebook["cells"])
    about = f"a notebook with {count:,} {'cell' if count == 1 else 'cells'}; edit_file changes its JSON, which grep shows"
    if images:
        about += "; the images of its outputs come first, in their order"
    if left := len(images) - len(shown_images):
        about += f"; {left} of them {'is' if left == 1 else 'are'} left out: read fewer lines at once to see them"
    return FileBlocks(f"({about})", [image_block(each, image_type(each) or "") for each in shown_images], shown)


def _parse(content: bytes) -> Mapping[str, Any] | None:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    cells = found.get("cells") if isinstance(found, dict) else None
    return found if isinstance(cells, list) and all(isinstance(cell, dict) for cell in cells) else None


def _add_cell(page: _Page, number: int, cell: Mapping[str, Any]) -> None:
    page.lines.append(f"[cell {number}, {cell.get('cell_type') or 'unknown'}]")
    page.lines += _text(cell.get("source")).rstrip("\n").split("\n")
    for output in cell.get("outputs") or ():
        if isinstance(output, dict):
            _add_output(page, number, output)


def _add_output(page: _Page, number: int, output: Mapping[str, Any]) -> None:
    data = output.get("data")
    data = data if isinstance(data, dict) else {}
    said = "\n".join(_words(output, data))
    if said.strip():
        if len(said) > _MAX_OUTPUT_CHARS:
            said = f"{said[:_MAX_OUTPUT_CHARS]}\n(cut: the output has {len(said):,} characters)"
        page.lines.append(f"[cell {number}, {'error' if output.get('output_type') == 'error' else 'output'}]")
        page.lines += said.rstrip("\n").split("\n")
    for kind in _IMAGES:
        if kind in data:
            _add_image(page, number, kind, _text(data[kind]))


def _words(output: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[str]:
    if output.get("output_type") == "error":
        yield _COLOUR.sub(
            "", "\n".join(map(str, output.get("traceback") or ())) or f"{output.get('ename')}: {output.get('evalue')}"
        )
    elif "text" in output:
        yield _COLOUR.sub("", _text(output["text"]))
    elif not any(kind in data for kind in _IMAGES):
        # The richest form that is text; HTML only if there is nothing else.
        kind = next((each for each in ("text/markdown", "text/plain", "application/json", "text/html") if each in data), None)
        if kind:
            yield _text(data[kind])


def _add_image(page: _Page, number: int, kind: str, encoded: str) -> None:
    try:
        content = b64decode(encoded, validate=False)
    except (Base64Error, ValueError):
        content = b""
    size = image_size(content) if image_type(content) else None
    if size is None:
        page.lines.append(f"[cell {number}, output: a damaged image ({kind})]")
        return
    described = f"an image, {size[0]:,} × {size[1]:,} pixels"
    if not current_sight().images:
        page.lines.append(f"[cell {number}, output: {described}, which you cannot see]")
    elif image_complaint(content, size):
        page.lines.append(f"[cell {number}, output: {described}, which is too large to be shown]")
    else:
        page.images[len(page.lines)] = content
        page.lines.append(f"[cell {number}, output: {described}]")


def _fitting(images: list[bytes]) -> Iterator[bytes]:
    room = MAX_BLOCK_BYTES
    for image in images[:MOST_IMAGES]:
        room -= len(image)
        if room >= 0:
            yield image


def _text(value: Any) -> str:
    """Notebooks store text as one string or as a list of lines."""
    if isinstance(value, list):
        return "".join(map(str, value))
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)
