"""`read_file` gives images, notebooks and scanned pages as blocks to a model that sees, and a sentence to one that does not."""

from __future__ import annotations

import io
import json
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.tools import ToolRuntime
from PIL import Image

from stepwell.backends import CompositeBackend, FilesystemBackend, StateBackend
from stepwell.tools.documents.image_size import image_size
from stepwell.tools.files import blocks
from stepwell.tools.files.blocks import Sight, seeing
from stepwell.tools.files.tools import build_file_tools

FORMS = {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
BLIND, SEEING, READING = Sight(images=False, pdfs=False), Sight(images=True, pdfs=False), Sight(images=True, pdfs=True)


def picture(form: str = "png", width: int = 3, height: int = 2, **options: Any) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(file, form, **options)
    return file.getvalue()


def scan(pages: int) -> bytes:
    """A PDF whose pages are pictures."""
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

    file = io.BytesIO()
    canvas = Canvas(file)
    for _ in range(pages):
        canvas.drawImage(ImageReader(io.BytesIO(picture(width=40, height=40))), 72, 500, 300, 200)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def notebook(*cells: dict[str, Any]) -> bytes:
    return json.dumps({"nbformat": 4, "metadata": {}, "cells": list(cells)}).encode()


def code(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": list(outputs)}


def plot(content: bytes) -> dict[str, Any]:
    data = {"image/png": b64encode(content).decode(), "text/plain": ["<Figure>"]}
    return {"output_type": "display_data", "data": data}


@pytest.fixture(params=["sync", "async"])
def read(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Read a file with these bytes, mounted in a tree, for a model with this sight."""
    tools = {
        tool.name: tool for tool in build_file_tools(CompositeBackend(StateBackend(), {"/d/": FilesystemBackend(tmp_path)}))
    }
    tool: Any = tools["read_file"]
    runtime: ToolRuntime[Any, Any] = ToolRuntime(
        state={"messages": [], "files": {}}, context=None, config={}, stream_writer=print, tool_call_id="c1", store=None
    )

    async def call(name: str, content: bytes, sight: Sight = READING, **window: int) -> Any:
        (tmp_path / name).write_bytes(content)
        with seeing(sight):
            if request.param == "sync":
                return tool.func(runtime=runtime, file_path=f"/d/{name}", **window)
            return await tool.coroutine(runtime=runtime, file_path=f"/d/{name}", **window)

    return call


@pytest.mark.parametrize("form", FORMS)
async def test_an_image_is_a_block_with_a_line_about_it(read: Any, form: str) -> None:
    content = picture(form)
    answer = await read(f"a.{form}", content)
    image, about = answer.content
    assert image == {"type": "image", "base64": b64encode(content).decode(), "mime_type": FORMS[form]}
    assert about["text"].startswith(f"(/d/a.{form}: ")
    assert about["text"].endswith(f" image, 3 × 2 pixels, {len(content):,} bytes)")
    assert answer.status == "success"


async def test_a_model_that_cannot_see_gets_a_sentence(read: Any) -> None:
    answer = await read("a.png", picture(), BLIND)
    assert answer.status == "error"
    assert answer.content == (
        f"Error: '/d/a.png' is an image (PNG image, 3 × 2 pixels, {len(picture()):,} bytes), and you cannot see images. Go on without it, "
        "or ask the user what it shows."
    )


async def test_images_that_are_too_large_get_a_sentence(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = await read("wide.png", picture(width=8_001, height=1))
    assert "at most 8,000 pixels on each side are possible. Ask for a smaller copy." in wide.content
    monkeypatch.setattr(blocks, "MAX_IMAGE_BYTES", 10)
    large = await read("large.png", picture())
    assert "at most 10 bytes are possible" in large.content
    assert "base64" not in str(large.content)


WHOLE = {
    **{form: picture(form, 60, 40) for form in FORMS},
    "webp lossless": picture("webp", 60, 40, lossless=True),
    "jpeg with a preview": picture("jpeg", 60, 40, exif=b"Exif\0\0" + picture("jpeg")),
    "gif that moves": picture("gif", 60, 40, save_all=True, append_images=[Image.new("RGB", (60, 40), "blue")]),
}


@pytest.mark.parametrize("content", WHOLE.values(), ids=list(WHOLE))
def test_an_image_that_was_cut_off_is_damaged(content: bytes) -> None:
    assert image_size(content) == image_size(content + b"\n") == (60, 40)
    assert [length for length in range(len(content)) if image_size(content[:length])] == []


async def test_a_damaged_image_gets_a_sentence(read: Any) -> None:
    content = WHOLE["png"]
    for damaged in (content[:60], content.replace(b"IDAT", b"IDAX"), content[:50] + b"\xff\xff" + content[52:]):
        answer = await read("a.png", damaged)
        assert answer.status == "error"
        assert "'/d/a.png' is a damaged or incomplete image (PNG image" in answer.content
    assert "base64" not in str((await read("a.ipynb", notebook(code("plot()", plot(content[:60]))))).content)


@pytest.mark.parametrize("form", ["bmp", "tiff", "ico"])
async def test_an_image_that_models_do_not_take_is_named(read: Any, form: str) -> None:
    answer = await read(f"a.{form}", picture(form, 16, 16))
    assert f"is an image ({form.upper()}, " in answer.content
    assert "Convert it to PNG" in answer.content


async def test_a_bitmap_of_plain_characters_is_no_text(read: Any) -> None:
    assert "is an image (BMP, 102 bytes)" in (await read("a.bmp", b"BM" + bytes(100))).content
    assert "\x00" in (await read("a.txt", b"a\x00b")).content


async def test_the_name_does_not_make_an_image(read: Any) -> None:
    assert "is not a text file" in (await read("a.png", b"\x80\x81\x00binary\x00")).content
    assert (await read("b.png", b"just text")).content == "     1\tjust text"
    image, _ = (await read("c.dat", picture())).content
    assert image["mime_type"] == "image/png"


async def test_a_notebook_is_shown_by_its_cells(read: Any) -> None:
    content = notebook(
        {"cell_type": "markdown", "source": "# Wells\n"},
        code("print(1)\nprint(2)", {"output_type": "stream", "text": ["1\n", "2\n"]}),
        code("draw()", plot(picture()), plot(picture(width=5))),
        code("1/0", {"output_type": "error", "traceback": ["\x1b[31mZeroDivisionError\x1b[0m: division by zero"]}),
        code("table", {"output_type": "execute_result", "data": {"text/html": "<b>x</b>", "text/plain": "x"}}),
    )
    answer = await read("a.ipynb", content)
    *images, text = answer.content
    assert [image_size(b64decode(each["base64"])) for each in images] == [(3, 2), (5, 2)]
    lines = text["text"].splitlines()
    assert lines[0] == (
        "(a notebook with 5 cells; edit_file changes its JSON, which grep shows; the images of its outputs come first, in their order)"
    )
    assert [line.split("\t")[1] for line in lines[1:]] == [
        "[cell 1, markdown]",
        "# Wells",
        "[cell 2, code]",
        "print(1)",
        "print(2)",
        "[cell 2, output]",
        "1",
        "2",
        "[cell 3, code]",
        "draw()",
        "[cell 3, output: an image, 3 × 2 pixels]",
        "[cell 3, output: an image, 5 × 2 pixels]",
        "[cell 4, code]",
        "1/0",
        "[cell 4, error]",
        "ZeroDivisionError: division by zero",
        "[cell 5, code]",
        "table",
        "[cell 5, output]",
        "x",
    ]
    window = await read("a.ipynb", content, offset=11, limit=2)
    assert [image_size(b64decode(each["base64"])) for each in window.content[:-1]] == [(5, 2)]
    assert "more lines; go on with offset=13" in window.content[-1]["text"]


async def test_a_notebook_without_sight_says_what_is_not_seen(read: Any) -> None:
    answer = await read("a.ipynb", notebook(code("draw()", plot(picture()), plot(b"broken"))), BLIND)
    assert "an image, 3 × 2 pixels, which you cannot see]" in answer.content
    assert "a damaged image (image/png)]" in answer.content
    assert b64encode(picture()).decode()[:20] not in answer.content


async def test_images_of_a_notebook_that_do_not_fit_are_told(read: Any) -> None:
    answer = await read("a.ipynb", notebook(*(code("draw()", plot(picture())) for _ in range(12))))
    assert len(answer.content) == 11
    assert "2 of them are left out: read fewer lines at once to see them" in answer.content[-1]["text"]


@pytest.mark.parametrize("content", [b"{}", b"not json", b'{"cells": 1}', b"[" * 100_000, b'{"cells": [1]}'])
async def test_what_is_no_notebook_is_shown_as_it_is(read: Any, content: bytes) -> None:
    answer = await read("a.ipynb", content)
    assert answer.content.startswith("     1\t" + content.decode()[:10])


async def test_a_scanned_pdf_is_shown_page_by_page(read: Any) -> None:
    from pypdf import PdfReader

    content = scan(7)
    block, about = (await read("a.pdf", content)).content
    assert (block["type"], block["mime_type"], block["extras"]) == ("file", "application/pdf", {"filename": "a.pdf"})
    assert len(PdfReader(io.BytesIO(b64decode(block["base64"]))).pages) == 5
    assert about["text"] == ("(/d/a.pdf: pages 1 to 5 of 7, as they look, because the PDF has no text. Go on with offset=5.)")
    *images, about = (await read("a.pdf", content, SEEING, offset=5)).content
    assert [image_size(b64decode(each["base64"])) for each in images] == [(1_061, 1_500)] * 2
    with Image.open(io.BytesIO(b64decode(images[0]["base64"]))) as drawn:
        drawn.load()
        assert len(drawn.getcolors() or []) > 1, "not an empty page"
    assert "pages 6 to 7 of 7" in about["text"]
    assert "has 7 pages; offset 7 is beyond its end" in (await read("a.pdf", content, offset=7)).content
    assert "its pages are pictures, and you cannot see those" in (await read("a.pdf", content, BLIND)).content


@given(
    st.sampled_from([b"\x89PNG\r\n\x1a\n", b"GIF89a", b"RIFF0000WEBPVP8 ", b"RIFF0000WEBPVP8L", b"\xff\xd8\xff"]),
    st.binary(max_size=80),
)
def test_no_header_breaks_the_size(start: bytes, rest: bytes) -> None:
    size = image_size(start + rest)
    assert size is None or min(size) > 0


@pytest.mark.parametrize(
    "options", [{"form": "webp", "lossless": True}, {"form": "jpeg", "progressive": True}, {"form": "gif"}]
)
def test_sizes_are_those_of_a_decoder(options: dict[str, Any]) -> None:
    assert image_size(picture(width=700, height=301, **options)) == (700, 301)
