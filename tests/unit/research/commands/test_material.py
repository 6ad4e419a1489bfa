"""Files that go along with a question: which are read, how they are cut, and which passages are chosen."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.pdfs import make_pdf
from tests.unit.tools.documents.making import docx, sheet

from stepwell.errors import InvalidRequestError
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.research.commands.material import MOST_IMAGES, PASSAGE_CHARACTERS, list_files, read_material
from stepwell.research.graph.snippets import read_snippets
from stepwell.tools.documents.page import PageText
from stepwell.tools.documents.parts import Part


async def read(
    *places: Path, question: str = "How many steps has the Kessel well?"
) -> tuple[list[dict[str, object]], list[str]]:
    said: list[str] = []
    found = await read_material(places, question, LexicalEmbedder(), said.append)
    assert len(read_snippets(found)) == len(found), "the graph takes them"
    return found, said


async def test_a_folder_is_read_file_by_file_and_page_by_page(tmp_path: Path):
    (tmp_path / "notes.md").write_text("# Wells\n\nOur own count gave twelve.")
    (tmp_path / "paper.pdf").write_bytes(make_pdf("An old survey.", "The Kessel well has 12 steps."))
    (tmp_path / "page.html").write_text("<html><body><p>A saved page about wells and water in the hills.</p></body></html>")
    (tmp_path / ".hidden.md").write_text("nobody reads this")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n")
    found, said = await read(tmp_path)
    assert [each["label"] for each in found] == ["notes.md", "page.html", "paper.pdf", "paper.pdf"]
    assert [each["place"] for each in found] == ["", "", "page 1", "page 2"]
    assert found[-1]["text"] == "The Kessel well has 12 steps."
    (left_out,) = said
    assert left_out.startswith("The file 'picture.png' of --context cannot be read.")


async def test_an_image_is_read_by_the_function_that_is_given_and_says_so(tmp_path: Path):
    async def see(content: bytes) -> PageText:
        part = Part(0, "image, transcribed by gpt-4.1, not checked")
        return PageText("image/png", "", "The Kessel well has 12 steps.", "Transcribed by gpt-4.1.", (part,))

    (tmp_path / "shot.png").write_bytes(b"\x89PNG\r\n")
    said: list[str] = []
    (found,) = await read_material([tmp_path], "How many steps?", LexicalEmbedder(), said.append, see)
    assert (found["label"], found["text"]) == ("shot.png", "The Kessel well has 12 steps.")
    assert found["place"] == "image, transcribed by gpt-4.1, not checked"
    assert said == ["shot.png: Transcribed by gpt-4.1."]


def test_more_images_than_a_model_should_read_are_refused(tmp_path: Path):
    for number in range(MOST_IMAGES + 1):
        (tmp_path / f"{number}.png").write_bytes(b"\x89PNG\r\n")
    with pytest.raises(InvalidRequestError, match="21 images; the limit is 20"):
        list_files([tmp_path])


async def test_of_much_only_what_is_near_to_the_question_goes_along(tmp_path: Path):
    (tmp_path / "long.txt").write_text("\n".join(f"Paragraph {n} is about goats and grass." for n in range(4_000)))
    (tmp_path / "short.txt").write_text("The Kessel well has 12 steps.")
    found, said = await read(tmp_path)
    assert sum(len(str(each["text"])) for each in found) <= PASSAGE_CHARACTERS
    assert "short.txt" in [each["label"] for each in found]
    (sentence,) = said
    assert sentence.startswith("Using the passages of your files that matter for the question: ")


async def test_a_passage_stands_where_it_says(tmp_path: Path):
    text = "\n".join(f"Line {n} of the file, which is long enough to be cut somewhere." for n in range(200))
    (tmp_path / "a.txt").write_text(text)
    found, _ = await read(tmp_path / "a.txt")
    for each in found:
        assert text[each["start"] : each["end"]] == each["text"]  # type: ignore[misc]
    covered = {n for n in range(200) if any(f"Line {n} of" in str(each["text"]) for each in found)}
    assert covered == set(range(200))


async def test_passages_of_office_documents_name_their_places(tmp_path: Path):
    def build(document: Any) -> None:
        document.add_heading("Depth", 1)
        document.add_paragraph("The Kessel well is 12 metres deep.")

    (tmp_path / "a.docx").write_bytes(docx(build))
    (tmp_path / "b.xlsx").write_bytes(sheet([("Well", "Depth"), ("Kessel", 12), ("Aue", 9)]))
    (tmp_path / "c.csv").write_text("Well,Depth\nKessel,12\nAue,9\n")
    found, _ = await read(tmp_path)
    assert [(each["label"], each["place"]) for each in found] == [
        ("a.docx", "section Depth"),
        ("b.xlsx", "sheet Sales, A2:B2"),
        ("b.xlsx", "sheet Sales, A3:B3"),
        ("c.csv", "line 2"),
        ("c.csv", "line 3"),
    ]
    assert found[1]["text"] == "Well: Kessel; Depth: 12"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.pdf", b"%PDF-1.4 broken", r"a\.pdf' of --context cannot be read\. The PDF is damaged"),
        ("a.png", b"\x89PNG\r\n", r"a\.png' of --context cannot be read\. The file is of the type 'image/png'"),
        ("empty.txt", b"", r"empty\.txt' of --context cannot be read\. .* there is no text in it"),
    ],
)
async def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, content: bytes, said: str):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidRequestError, match=said):
        await read(tmp_path / name)


async def test_one_broken_file_is_a_note_and_the_others_are_read(tmp_path: Path):
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    (tmp_path / "good.md").write_text("The Kessel well has 12 steps.")
    found, said = await read(tmp_path)
    assert [each["label"] for each in found] == ["good.md"]
    (note,) = said
    assert note.startswith("The file 'broken.pdf' of --context cannot be read. The PDF is damaged")
    assert note.endswith("It is left out.")


async def test_a_file_that_is_not_there_and_a_folder_without_any(tmp_path: Path):
    with pytest.raises(InvalidRequestError, match=r"There is no file or folder '.*nowhere\.txt', named by --context"):
        await read(tmp_path / "nowhere.txt")
    with pytest.raises(InvalidRequestError, match="has no readable files"):
        list_files([tmp_path])


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not allow such names")
async def test_a_file_with_any_bytes_in_its_name_is_read_under_a_name_that_can_be_stored(tmp_path: Path):
    (tmp_path / os.fsdecode(b"\xff\x1b[31ma\nb.md")).write_text("The pier was repaired.")
    (snippet,) = await read_material([tmp_path], "Who repaired the pier?", LexicalEmbedder(), lambda line: None)
    assert snippet["label"] == "\ufffd[31ma b.md"


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such devices")
async def test_a_device_is_no_file(tmp_path: Path):
    with pytest.raises(InvalidRequestError, match="'null' of --context is neither a file nor a folder"):
        await read_material([Path("/dev/null")], "Who repaired the pier?", LexicalEmbedder(), lambda line: None)
