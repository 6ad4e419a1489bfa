"""A seminar without a model, once through by clicking, on a project that stays on the device: the argument follows beside it, helps, and
can be taken away; of the files nothing leaves but what the page lists."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Request, expect
from tests.browser.conftest import PHONE, WIDE, violations
from tests.browser.device import rows_of, texts_of
from tests.browser.steps import ask, close_settings, dock, last_answer, open_settings, receipts
from tests.integration.served.process import Server, serve

QUESTION = "Should schools give marks?"
THESIS = "Schools should not give marks before the age of ten."
REVISED = "Schools should not give marks before the age of ten, and should write to parents instead."
GROUND = "Pupils read a comment less often when there is a mark beside it"
OBJECTION = "Without marks, parents learn too late that a child cannot follow."
NOTES = "A comment that is read tells more than a mark.\nThis line of the notes has nothing to do with it.\n"
INTERNAL = re.compile(r"\b[tdcnrpk]\d\b|\bFrame:|\bAbout [a-z]\d")
DIARY = "Nobody has to know what stands in my diary.\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Our own applications, and no model."""
    with serve(tmp_path_factory.mktemp("tutor"), graphs=None) as started:
        yield started


def panel(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Details")


def clause(page: Page, name: str) -> Locator:
    return panel(page).get_by_test_id(f"clause-{name}")


def asked(page: Page, words: str) -> Locator:
    """The card of the question that has these words."""
    expect(dock(page).get_by_role("heading", level=2)).to_contain_text(words)
    return dock(page)


def answer(page: Page, question: str, words: str) -> None:
    """By keyboard: text and Enter."""
    asked(page, question).get_by_role("textbox").fill(words)
    page.keyboard.press("Enter")


def choose(page: Page, question: str, role: str, name: str) -> None:
    """By keyboard: Space takes a choice, Enter sends it."""
    asked(page, question).get_by_role(role, name=name).focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")


def argue_until_the_objection(page: Page) -> None:
    answer(page, "What do you claim?", THESIS)
    answer(page, "How sure are you of your claim", "60")
    answer(page, "Which words", "marks")
    answer(page, "What do you mean by “marks”", "Numbers or letters that compare pupils with one another.")
    answer(page, "What is your best reason", f"{GROUND} (source: notes of a teacher)")


def no_id_is_read(page: Page) -> None:
    """Neither ids of clauses nor labels of phases, wherever a person looks."""
    assert INTERNAL.findall(page.locator("body").inner_text()) == []


class Sent:
    """What the page sends to the server."""

    def __init__(self, page: Page) -> None:
        self.bodies: list[str] = []
        page.on("request", self._note)

    def _note(self, request: Request) -> None:
        if request.post_data:
            self.bodies.append(request.post_data)

    def contents(self) -> list[dict[str, Any]]:
        """What answered the agent's questions to the device, where it has something of a file in it."""
        runs = [json.loads(body) for body in self.bodies if '"tool_results"' in body]
        answers = [answer for run in runs for answer in run["command"]["resume"].values()]
        results = [result for answer in answers for result in answer["tool_results"]]
        return [
            result["content"] for result in results if {"text", "matches", "hits", "files"} & set(result.get("content", {}))
        ]


def bring_files(page: Page) -> None:
    page.get_by_role("button", name="Project").first.click()
    files = [
        {"name": name, "mimeType": "", "buffer": text.encode()} for name, text in (("notes.md", NOTES), ("diary.md", DIARY))
    ]
    page.get_by_test_id("import-files").set_input_files(files)  # type: ignore[arg-type]
    expect(page.get_by_test_id("project-notice")).to_contain_text("2 files imported")
    expect(page.get_by_label("Agents may work on this project")).to_be_checked()
    page.keyboard.press("Escape")


def keeps_notes(page: Page) -> Locator:
    """The project's setting; the dialog stays open."""
    page.get_by_role("button", name="Project").first.click()
    return page.get_by_label("The tutor keeps its notes here")


def test_a_seminar_is_led_from_frame_to_close(page: Page, tmp_path: Path):
    """T1 to T6, T8, and point 26 of the page's acceptance."""
    sent = Sent(page)
    bring_files(page)
    ask(page, "deeptutor", "Search my files for comment")
    expect(last_answer(page)).to_contain_text("/notes.md:1: A comment that is read")
    expect(panel(page)).to_have_count(0)
    answer(page, "What question do you want to think through", QUESTION)
    asked(page, "May the tutor keep its notes in this project?")
    expect(dock(page).get_by_role("blockquote")).to_have_text(QUESTION)
    expect(dock(page).get_by_label("Change of /tutor/seminar.md")).to_be_hidden()
    dock(page).get_by_text("Show the files").click()
    expect(dock(page).get_by_label("Change of /tutor/seminar.md")).to_contain_text(f"# {QUESTION}")
    assert "/tutor/seminar.md" not in texts_of(page)
    assert violations(page) == []
    dock(page).get_by_role("button", name="Keep notes").click()
    asked(page, "What do you claim?")
    argue_until_the_objection(page)

    expect(panel(page).get_by_role("tab", name="Argument", selected=True)).to_be_visible()
    expect(clause(page, "t1")).to_contain_text(f"Your claim: {THESIS}")
    expect(clause(page, "t1")).to_contain_text("You are 60 % sure.")
    expect(clause(page, "c1")).to_contain_text("It supports your claim; why is still open.")
    now = panel(page).get_by_role("group").filter(has=page.get_by_text("now, 1 thing missing"))
    expect(now).to_contain_text("Why reason 1 supports your claim is missing.")
    asked(page, "Why does reason 1")
    no_id_is_read(page)
    panel(page).get_by_role("button", name="Give me hint 1").click()
    expect(last_answer(page)).to_contain_text("Hint 1 of 4")
    expect(receipts(page).filter(has_text="You asked for a hint.")).to_have_count(1)
    expect(panel(page).get_by_role("button", name="Give me hint 2")).to_be_enabled()
    answer(page, "Why does reason 1", "What keeps pupils from reading comments keeps them from learning.")

    answer(page, "What is the strongest thing", OBJECTION)
    choose(page, "speak against?", "radio", THESIS)
    answer(page, "Why would that tell against your claim", "Then those who could help cannot help in time.")
    expect(clause(page, "t1").get_by_test_id("clause-r1")).to_contain_text("speaks against your claim, because: Then those")
    expect(clause(page, "t1")).to_contain_text("an objection stands against it")
    answer(page, "would you give up", "That comments are enough for everybody. Not that marks do harm.")
    answer(page, "from what you have said already", "A comment that is read tells them more than a mark does.")
    choose(page, "What does reply 1", "checkbox", GROUND)
    choose(page, "what do you do with your claim?", "radio", "Change it")
    answer(page, "How does your claim read now?", f"{REVISED} 75")

    asked(page, "What is left at the end?")
    panel(page).get_by_role("button", name="Just tell me").click()
    expect(panel(page)).to_contain_text("The seminar is complete.")
    expect(clause(page, "k1")).to_contain_text("In the tutor’s words")
    change = panel(page).get_by_role("region", name="Your claim, from first to now")
    expect(change.locator("ins")).to_contain_text("and should write to parents instead.")
    expect(change).to_contain_text("60 % sure at the start, and are 75 % sure now")
    assert violations(page) == []
    no_id_is_read(page)

    page.reload()
    expect(clause(page, "r1").get_by_test_id("clause-p1")).to_contain_text("It replies to objection 1.")
    see_the_graph(page)
    take_every_form(page, tmp_path)
    assert REVISED in texts_of(page)["/tutor/seminar.md"]
    only_what_was_listed_has_left(page, sent)
    the_yes_is_remembered_and_can_be_taken_back(page)


def the_yes_is_remembered_and_can_be_taken_back(page: Page) -> None:
    """In the next conversation, after a reload; and a no keeps nothing and asks nothing."""
    ask(page, "deeptutor", "/objection Marks are cheap.")
    asked(page, "speak against?")
    assert "Marks are cheap." in texts_of(page)["/tutor/seminar.md"]
    setting = keeps_notes(page)
    expect(setting).to_be_checked()
    setting.uncheck()
    close_settings(page)
    ask(page, "deeptutor", "/objection Marks are fast.")
    asked(page, "speak against?")
    assert "Marks are fast." not in texts_of(page)["/tutor/seminar.md"]


def only_what_was_listed_has_left(page: Page, sent: Sent) -> None:
    listed = "\n".join(row["excerpt"] for row in rows_of(page, "departures"))
    left = [match["line_content"] for content in sent.contents() for match in content.get("matches", [])]
    assert left == [NOTES.splitlines()[0]]
    assert all(line in listed for line in left)
    assert all(content["text"][:500] in listed for content in sent.contents() if "text" in content)
    assert not any("nothing to do with it" in body or "my diary" in body for body in sent.bodies)
    open_settings(page, "This device")
    page.get_by_test_id("device").get_by_role("button", name="Show", exact=True).first.click()
    expect(page.get_by_test_id("departures")).to_contain_text("Lines with comment")
    close_settings(page)


def see_the_graph(page: Page) -> None:
    panel(page).get_by_role("button", name="Show the graph").click()
    dialog = page.get_by_role("dialog", name="The argument as a graph")
    expect(dialog.get_by_role("img", name="6 parts and 4 links")).to_be_visible()
    expect(dialog.get_by_role("listitem").filter(has_text="It rests on reason 1")).to_have_count(1)
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def take_every_form(page: Page, folder: Path) -> None:
    begins = {"Markdown": f"# {QUESTION}", "JSON": "{", "Argdown": "===", "Mermaid": "flowchart TD"}
    for form, begin in begins.items():
        panel(page).get_by_role("button", name="Export the argument").click()
        with page.expect_download() as saved:
            page.get_by_role("menuitem", name=form).click()
        file = folder / saved.value.suggested_filename
        saved.value.save_as(file)
        assert file.read_text().startswith(begin)
        assert "Your claim:" in file.read_text() if form == "Markdown" else "t1" in file.read_text()
    assert json.loads((folder / "argument.json").read_text())["nodes"]["t1"]["text"] == REVISED


def test_the_argument_breaks_no_rule_in_any_look(page: Page):
    page.goto("/new/deeptutor")
    expect(page.get_by_test_id("starter").first).to_contain_text("Examine a conviction")
    ask(page, "deeptutor", QUESTION)
    argue_until_the_objection(page)
    asked(page, "Why does reason 1")
    for scheme, size in (("dark", WIDE), ("light", PHONE)):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size(size)
        if size is PHONE:
            assert violations(page) == [], "the question on a phone"
            question = dock(page).get_by_role("heading", level=2).bounding_box()
            assert question is not None
            assert question["height"] < size["height"] / 4, "a question leaves room for the conversation"
            page.get_by_role("button", name="Details").click()
        expect(page.get_by_test_id("clause-c1")).to_be_visible()
        assert violations(page) == [], f"{scheme}, {size['width']} px"
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
