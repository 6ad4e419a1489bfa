"""`stepwell show` on a report about office files: every sentence opens at its cell, slide, page, section or message, and its quote stands
there in the file itself, as the libraries read it that people make such files with."""

from __future__ import annotations

import email
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pptx
import pypdf
import pytest
from tests.integration.research.forging import take_apart
from tests.integration.served.process import environment
from tests.integration.served.warm import run_warm
from tests.unit.pdfs import make_pdf
from tests.unit.tools.documents import making

from stepwell.research.audit.verify import verify_bundle

QUESTION = "What is known about the Quellmouth bridge: its cost, its length, its paint, its cables, its toll and its opening?"
MAIL = """From: Ann Lee <ann@bridges.example>
To: Bo Kim <bo@bridges.example>
Date: Sat, 3 May 2025 10:00:00 +0000
Subject: Quellmouth bridge
Content-Type: text/plain; charset=utf-8

The cables of the Quellmouth bridge were replaced in March 2024 by Kessel Works.
"""


def _slides(presentation: Any) -> None:
    for title, said in [
        ("Quellmouth bridge: length", "The Quellmouth bridge is 1,025 metres long between its abutments."),
        ("Quellmouth bridge: paint", "The Quellmouth bridge was painted green for the regatta of 1999."),
    ]:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = said


def _chapters(document: Any) -> None:
    document.add_heading("Opening of the Quellmouth bridge", 1)
    document.add_paragraph("The Quellmouth bridge was opened by the mayor on 2 October 1981.")
    document.add_heading("Repairs of the Quellmouth bridge", 1)
    document.add_paragraph("The deck of the Quellmouth bridge was repaired after the storm of 2003.")


ROWS = [
    ("Item", "Year", "Cost in crowns"),
    ("Paint of the Quellmouth bridge", 1999, 48210),
    ("Cables of the Quellmouth bridge", 2024, 915300),
]
LEAVES = [
    "The toll of the Quellmouth bridge was abolished in 1994.",
    "The cost of the Quellmouth bridge was 73 million crowns in all.",
]


def _write_folder(folder: Path) -> None:
    folder.mkdir()
    (folder / "costs.xlsx").write_bytes(making.sheet(ROWS, "Costs"))
    (folder / "talk.pptx").write_bytes(making.pptx(_slides))
    (folder / "history.docx").write_bytes(making.docx(_chapters))
    (folder / "survey.pdf").write_bytes(make_pdf(*LEAVES))
    (folder / "cables.eml").write_text(MAIL)


# What stands at a place, read from the file itself --------------------------------------------------------------------------------


def _in_cells(file: Path, place: str) -> list[str]:
    sheet, cells = re.fullmatch(r"sheet (.+), ([A-Z]+\d+(?::[A-Z]+\d+)?)", place).groups()  # type: ignore[union-attr]
    return [str(cell.value) for row in openpyxl.load_workbook(file)[sheet][cells] for cell in row]


def _on_slide(file: Path, place: str) -> list[str]:
    number = int(place.removeprefix("slide ").split()[0])
    shapes = pptx.Presentation(str(file)).slides[number - 1].shapes
    return [shape.text_frame.text for shape in shapes if shape.has_text_frame]


def _in_section(file: Path, place: str) -> list[str]:
    said, here = [], False
    for paragraph in docx.Document(str(file)).paragraphs:
        if paragraph.style.name.startswith("Heading"):
            here = paragraph.text in place
        if here:
            said.append(paragraph.text)
    return said


def _on_page(file: Path, place: str) -> list[str]:
    return [pypdf.PdfReader(file).pages[int(place.removeprefix("page ")) - 1].extract_text().strip()]


def _in_message(file: Path, place: str) -> list[str]:
    message = email.message_from_string(file.read_text())
    assert place.startswith("message 1")
    return [str(message.get_payload()).strip()]


READERS: dict[str, Callable[[Path, str], list[str]]] = {
    "costs.xlsx": _in_cells,
    "talk.pptx": _on_slide,
    "history.docx": _in_section,
    "survey.pdf": _on_page,
    "cables.eml": _in_message,
}


@dataclass(frozen=True)
class Researched:
    folder: Path
    thread: str
    said: str
    """What the command printed besides its report."""
    report: str

    @property
    def bundle(self) -> Path:
        return self.folder / "research" / self.thread / "bundle.zip"

    def show(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return stepwell("show", *arguments, folder=self.folder)


def stepwell(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return run_warm([*map(str, arguments)], folder, environment(STEPWELL_DATA_DIR=str(folder)))


@pytest.fixture(scope="module")
def researched(tmp_path_factory: pytest.TempPathFactory) -> Researched:
    folder = tmp_path_factory.mktemp("show")
    _write_folder(folder / "files")
    asked = stepwell("research", QUESTION, "--only-documents", "--context", "files", "--yes", folder=folder)
    assert asked.returncode == 0, asked.stderr
    [thread] = re.findall(r"^Thread (\S+)$", asked.stderr, re.MULTILINE)
    return Researched(folder, thread, asked.stderr, asked.stdout)


def _listed(shown: str) -> dict[int, tuple[str, list[str]]]:
    """Number -> sentence, and the lines below it."""
    found: dict[int, tuple[str, list[str]]] = {}
    for line in shown.splitlines():
        if match := re.fullmatch(r" *(\d+)\. (.*)", line):
            found[int(match[1])] = (match[2], [])
        elif found and line.startswith("   "):
            found[max(found)][1].append(line.strip())
    return found


def test_every_sentence_opens_at_its_place_and_the_quote_stands_there(researched: Researched) -> None:
    listed = researched.show(researched.thread)
    assert (listed.returncode, listed.stderr) == (0, "")
    sentences = _listed(listed.stdout)
    seen = set()
    for number, (sentence, places) in sentences.items():
        assert places, sentence
        shown = researched.show(researched.thread, number)
        assert shown.returncode == 0, shown.stderr
        assert shown.stdout.startswith(f"{number}. {sentence}\n")
        for where in places:
            name, _, place = where.partition(", ")
            seen.add(name)
            own = shown.stdout.partition(f"\n{where}\n")[2].partition("\n\n")[0].splitlines()
            quote = " ".join(line.removeprefix("  > ") for line in own if line.startswith("  > "))
            there = READERS[name](researched.folder / "files" / name, place)
            if name == "costs.xlsx":
                values = [value for value in there if value not in ROWS[0]]
                assert values, where
                assert all(value in quote.replace(",", "") for value in values), (where, quote)
            else:
                assert any(said in quote or quote in said for said in there), (where, quote, there)
            assert sentence.rstrip(".") in quote
            assert f"  {name}, from your device" in own
            assert any(re.fullmatch(r"  read \d{1,2} \w+ \d{4}, \d\d:\d\d UTC", line) for line in own)
            assert re.fullmatch(r"  sha256 of the passages used [0-9a-f]{64}", own[-1])
    assert seen == set(READERS), "every file is quoted"
    assert len(sentences) >= 7


def test_the_text_around_a_quote_is_set_apart(researched: Researched) -> None:
    shown = researched.show(researched.thread, "abolished").stdout
    assert f"\n  > {LEAVES[0]}\n" in shown
    assert f"\n  | {LEAVES[1]}\n" in shown, "the next page follows it"
    assert "\x1b" not in shown


def test_a_report_ends_with_the_command_that_shows_its_sentences(researched: Researched) -> None:
    assert re.search(rf"add a number to open one: .*stepwell show {researched.thread}$", researched.said, re.MULTILINE)
    assert re.search(
        r"^\d\. costs\.xlsx \(from your device\), .*, read \d{1,2} \w+ \d{4}, \d\d:\d\d UTC, sha256", researched.report, re.M
    )
    assert "fetched" not in researched.report


def test_a_sentence_is_found_by_its_words_and_as_the_report_prints_it(researched: Researched) -> None:
    by_words = researched.show(researched.bundle, "mayor", "OPENED")
    assert by_words.returncode == 0, by_words.stderr
    assert "history.docx" in by_words.stdout
    [line] = re.findall(r"The Quellmouth bridge was opened by the mayor[^.]*\.", researched.report)[:1]
    assert "[" in line, "with its reference"
    assert researched.show(researched.bundle, line).stdout == by_words.stdout


def test_words_of_several_sentences_list_those(researched: Researched) -> None:
    shown = researched.show(researched.thread, "painted")
    assert shown.returncode == 0
    several = researched.show(researched.thread, "Quellmouth bridge")
    assert several.returncode == 0
    listed = _listed(several.stdout)
    assert 2 <= len(listed) <= len(_listed(researched.show(researched.thread).stdout))
    assert f"{len(listed)} sentences match:" in several.stdout
    assert all("quellmouth bridge" in sentence.lower() for sentence, _ in listed.values())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["THREAD", "zebra"], r"No sentence contains 'zebra'\. The report has \d+ sentences\. See the list: .*stepwell show "),
        (["THREAD", "999"], r"There is no sentence 999\. The report has \d+ sentences\."),
        (["nowhere.zip"], r"There is no file 'nowhere\.zip'\. .*research --list"),
        (["00000000-0000-4000-8000-000000000000"], r"No research '0{8}.*research --list"),
        (["files/cables.eml"], r"'cables\.eml' does not hold .*The file is not a bundle.*so it is not shown"),
        (["--url", "http://127.0.0.1:9", "THREAD"], "No server answers at http://127.0.0.1:9"),
    ],
)
def test_bad_input_is_answered_with_what_there_is(researched: Researched, arguments: list[str], sentence: str) -> None:
    refused = researched.show(*(researched.thread if each == "THREAD" else each for each in arguments))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert re.search(sentence, refused.stderr), refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_bundle_that_does_not_hold_is_not_shown(researched: Researched, tmp_path: Path) -> None:
    forgery = take_apart(researched.bundle)
    forgery.report = forgery.report.replace("2 October 1981", "3 October 1981")
    forged = forgery.seal(tmp_path / "forged.zip", None)
    assert not verify_bundle(forged).ok
    refused = researched.show(forged, 1)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "The bundle 'forged.zip' does not hold (" in refused.stderr
    assert "so it is not shown" in refused.stderr
