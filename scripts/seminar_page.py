"""Writes docs/explanation/a-seminar.md: two whole seminars as they stand on the screen, one with a model's voice and one without a model.

`python scripts/seminar_page.py` plays both and writes the page; tests/unit/tutor/test_chat.py plays them again and compares.
"""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from tempfile import TemporaryDirectory

from langgraph.checkpoint.memory import InMemorySaver

from stepwell.terminal.dialogue.terminal import Terminal
from stepwell.tutor.agent import build
from stepwell.tutor.chat import play_person
from stepwell.tutor.demo import PERSON, REQUEST, build_demo_tutor

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "a-seminar.md"

ALONE = (
    "Help me with my argument",
    "Should schools give marks?",
    "Schools should not give marks before the age of ten.",
    "60",
    "marks",
    "Numbers or letters that compare pupils with one another.",
    "Pupils read a comment less often when there is a mark beside it (source: notes of a teacher)",
    "/hint",
    "What keeps pupils from reading comments keeps them from learning.",
    "Without marks, parents learn too late that a child cannot follow.",
    "your claim",
    "Then those who could help cannot help in time.",
    "I would have to give up that comments are enough for everybody. Not that marks do harm.",
    "A study of 40 schools shows that parents do not mind.",
    "A comment that is read tells them more than a mark does.",
    "reason 1",
    "revised",
    "Schools should not give marks before the age of ten, and should write to parents instead. 75",
    "just tell me",
)
"""What a person types who has no model: one answer is refused, one hint is asked for, one answer is left to the tutor."""

HEAD = """# A seminar, from frame to close

Two seminars as they appear on the screen. `python scripts/seminar_page.py` writes this page, and a test replays it. The person's input is
scripted; every question of the method, every refusal and every file is the tutor's own work.

[Use the tutor](../how-to/use-the-tutor.md) explains the method, and which rules the code enforces.
"""
WITH_MODEL = """## With a model

The model's lines are scripted too (`stepwell chat tutor --demo`); the tools' responses are real. An arrow to the right is a tool call by
the model, an arrow to the left is its result.
"""
WITHOUT_MODEL = """## Without a model

Here the questions come from the exit tests of the phases and from the lint. The person asks for a hint, has a reply refused because it
brings new evidence, and at the end asks the tutor for the conclusion.
"""


def page() -> str:
    """The whole page."""
    first, _ = play(build_demo_tutor(InMemorySaver()), (REQUEST, *PERSON))
    second, folder = play(build(None, checkpointer=InMemorySaver()), ALONE)
    parts = [HEAD, WITH_MODEL, _fence(first, "text"), WITHOUT_MODEL, _fence(second, "text")]
    parts += [
        "Afterwards the notes are in the folder `tutor`. `seminar.md` is the file to edit; its ids show which note refers to which:\n"
    ]
    parts += [_fence(folder["seminar.md"], "markdown")]
    parts += ["And the log of moves, `log.md`:\n", _fence(folder["log.md"], "markdown")]
    return "\n".join(parts)


def play(tutor: object, lines: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """What stood on the screen, and what is in the folder afterwards."""
    screen = io.StringIO()
    with TemporaryDirectory() as place, asyncio.Runner() as runner:
        folder = Path(place) / "project"
        folder.mkdir()
        code = play_person(runner, Terminal(io.StringIO(), screen), tutor, folder, lines)
        if code:
            raise RuntimeError(f"The seminar ended with {code}:\n{screen.getvalue()}")
        return screen.getvalue().replace("   (scripted)", ""), {
            file.name: file.read_text() for file in (folder / "tutor").iterdir()
        }


def _fence(text: str, kind: str) -> str:
    return f"````{kind}\n{text.rstrip()}\n````\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
