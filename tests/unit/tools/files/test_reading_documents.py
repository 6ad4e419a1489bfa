"""`read_file` shows the text of documents, page by page, wherever a backend hands out bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain.tools import ToolRuntime
from tests.unit.pdfs import make_pdf
from tests.unit.tools.documents.making import docx, pptx, sheet

from stepwell.backends import CompositeBackend, FilesystemBackend, StateBackend
from stepwell.backends.protocol import ErrorText
from stepwell.errors import MissingExtraError
from stepwell.tools.documents.page import PageText
from stepwell.tools.documents.reader_pool import ReaderPool
from stepwell.tools.files.documents import Documents
from stepwell.tools.files.tools import build_file_tools


def runtime() -> ToolRuntime[Any, Any]:
    return ToolRuntime(
        state={"messages": [], "files": {}}, context=None, config={}, stream_writer=print, tool_call_id="c1", store=None
    )


class Tools:
    """The tools over a folder, called as an agent calls them: `sync` or not."""

    def __init__(self, backend: Any, sync: bool) -> None:
        self._tools = {tool.name: tool for tool in build_file_tools(backend)}
        self._sync = sync

    async def call(self, name: str, **arguments: Any) -> Any:
        tool: Any = self._tools[name]
        if self._sync:
            return tool.func(runtime=runtime(), **arguments)
        return await tool.coroutine(runtime=runtime(), **arguments)


@pytest.fixture(params=[True, False], ids=["sync", "async"])
def tools(request: pytest.FixtureRequest, tmp_path: Path) -> Tools:
    def build(document: Any) -> None:
        document.core_properties.title = "Wells"
        for number in range(1, 6):
            document.add_paragraph(f"Well {number} is deep.")

    (tmp_path / "a.docx").write_bytes(docx(build))
    (tmp_path / "a.xlsx").write_bytes(sheet([("Well", "Depth"), ("Kessel", 12)]))
    (tmp_path / "old.doc").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\xff" + "WordDocument".encode("utf-16-le"))
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\xff\xfe")
    (tmp_path / "broken.docx").write_bytes(b"PK\x03\x04\xff\xff")
    (tmp_path / "plain.txt").write_text("just text\n")
    return Tools(CompositeBackend(StateBackend(), {"/mine/": FilesystemBackend(tmp_path)}), request.param)


async def test_a_document_is_shown_with_numbered_lines_and_what_it_is(tools: Tools):
    answer = await tools.call("read_file", file_path="/mine/a.docx", offset=0, limit=3)
    assert answer.status == "success"
    assert answer.content.split("\n") == [
        "(text of a Word document 'Wells'; edit_file cannot change it.)",
        "     1\tWell 1 is deep.",
        "     2\t",
        "     3\tWell 2 is deep.",
        "(6 more lines; go on with offset=3)",
    ]
    answer = await tools.call("read_file", file_path="/mine/a.docx", offset=8)
    assert answer.content.split("\n")[1:] == ["     9\tWell 5 is deep."]


async def test_sheets_have_their_names(tools: Tools):
    answer = await tools.call("read_file", file_path="/mine/a.xlsx")
    assert answer.content.split("\n")[1:] == [
        "     1\t[sheet Sales]",
        "     2\t# Sales",
        "     3\t",
        "     4\tWell: Kessel; Depth: 12",
    ]


async def test_what_cannot_be_read_is_said(tools: Tools):
    answer = await tools.call("read_file", file_path="/mine/old.doc")
    assert (answer.status, answer.content) == (
        "error",
        "Error: '/mine/old.doc' is an old Word file (.doc). Save it as .docx and try again.",
    )
    answer = await tools.call("read_file", file_path="/mine/broken.docx")
    assert answer.content == "Error: '/mine/broken.docx' is damaged: its zip archive has no end; it may be cut off."
    answer = await tools.call("read_file", file_path="/mine/picture.png")
    assert "'/mine/picture.png' is a damaged or incomplete image" in answer.content


async def test_a_document_cannot_be_edited_and_text_is_read_as_ever(tools: Tools):
    answer = await tools.call("edit_file", file_path="/mine/a.docx", old_string="Well 1", new_string="Well 9")
    assert answer.status == "error"
    assert "is not a text file" in answer.content
    assert (await tools.call("read_file", file_path="/mine/plain.txt")).content == "     1\tjust text"


class CountingPool(ReaderPool):
    count = 0

    async def read_file(self, content: bytes, name: str, timeout_s: float | None = None) -> PageText:
        self.count += 1
        return await super().read_file(content, name, timeout_s)


async def test_paging_through_a_document_parses_it_once(tmp_path: Path):
    readers = CountingPool(size=1)
    documents, backend = Documents(readers), FilesystemBackend(tmp_path)

    async def read(offset: int = 0) -> str:
        arguments = {"file_path": "/a.docx", "offset": offset, "limit": 2}
        return str(await documents.aread(backend, await backend.aread("/a.docx"), arguments))

    (tmp_path / "a.docx").write_bytes(docx(lambda document: [document.add_paragraph(f"Well {n}.") for n in range(5)]))
    assert ["Well 0." in await read(), "Well 1." in await read(2), "Well 2." in await read(4)] == [True] * 3
    assert readers.count == 1
    (tmp_path / "a.docx").write_bytes(docx(lambda document: document.add_paragraph("Other words.")))
    assert "Other words." in await read()
    assert readers.count == 2
    readers.close()


class BarePool(ReaderPool):
    """As without the extra."""

    async def read_file(self, content: bytes, name: str, timeout_s: float | None = None) -> PageText:
        raise MissingExtraError("Reading documents", "research")


async def test_without_the_extra_the_sentence_names_it(tmp_path: Path):
    (tmp_path / "a.docx").write_bytes(docx(lambda document: document.add_paragraph("Words.")))
    backend = FilesystemBackend(tmp_path)
    answer = await Documents(BarePool()).aread(backend, await backend.aread("/a.docx"), {"file_path": "/a.docx"})
    assert isinstance(answer, ErrorText)
    assert "stepwell[research]" in answer


async def test_a_pdf_of_plain_characters_is_a_document_too(tmp_path: Path):
    content = make_pdf("The well is deep.")
    (tmp_path / "a.pdf").write_bytes(b"".join(line + b"\n" for line in content.split(b"\n") if line.isascii()))
    (tmp_path / "b.pdf").write_text("not a PDF at all")
    tools = Tools(FilesystemBackend(tmp_path), sync=False)
    answer = await tools.call("read_file", file_path="/a.pdf")
    assert answer.content.split("\n")[1:] == ["     1\t[page 1]", "     2\tThe well is deep."]
    assert (await tools.call("read_file", file_path="/b.pdf")).content == "     1\tnot a PDF at all"


async def test_long_paragraphs_are_broken_into_lines_and_nothing_is_cut(tmp_path: Path):
    sentence = "The well of the village is deep and old. "
    (tmp_path / "a.pptx").write_bytes(pptx(lambda deck: _one_slide(deck, (sentence * 200).strip())))
    tools = Tools(FilesystemBackend(tmp_path), sync=False)
    answer = await tools.call("read_file", file_path="/a.pptx")
    lines = [line.partition("\t")[2] for line in answer.content.split("\n")[1:]]
    assert lines[0] == "[slide 1]"
    assert " ".join(lines[3:]) == (sentence * 200).strip()


def _one_slide(deck: Any, body: str) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Wells"
    slide.placeholders[1].text = body
