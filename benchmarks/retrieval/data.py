"""Reads the sets of questions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class Question:
    """A question over some paragraphs, of which those in `supporting` hold the evidence."""

    text: str
    answer: str
    titles: dict[str, str]
    texts: dict[str, str]
    supporting: frozenset[str]

    @property
    def is_yes_or_no(self) -> bool:
        return self.answer.casefold() in ("yes", "no")


@dataclass(frozen=True)
class Fact:
    """A fact of a task: its figures, and the files in which it stands."""

    figures: frozenset[str]
    files: frozenset[str]


@dataclass(frozen=True)
class Task:
    """An analyst's task: a question over a folder of files, and the facts that a good report contains."""

    question: str
    files: tuple[Path, ...]
    facts: tuple[Fact, ...]


def read_questions(file: Path) -> list[Question]:
    with file.open(encoding="utf-8") as lines:
        return [_question(json.loads(line)) for line in lines if line.strip()]


def _question(row: dict[str, object]) -> Question:
    paragraphs = row["paragraphs"]
    assert isinstance(paragraphs, list)
    named = {f"s{number}": each for number, each in enumerate(paragraphs, 1)}
    return Question(
        str(row["question"]),
        str(row["answer"]),
        {name: each["title"] for name, each in named.items()},
        {name: each["text"] for name, each in named.items()},
        frozenset(name for name, each in named.items() if each["supporting"]),
    )


def read_tasks(folder: Path) -> list[Task]:
    """The tasks in a folder, without facts that have no figures."""
    return [_task(each) for each in sorted(folder.iterdir()) if (each / "task.json").is_file()]


def _task(folder: Path) -> Task:
    row = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    facts = (Fact(figures_of(each["answer"]), frozenset(each["files"])) for each in row["facts"])
    files = tuple(sorted((folder / "files").iterdir()))
    return Task(row["question"], files, tuple(fact for fact in facts if fact.figures))


def figures_of(text: str) -> frozenset[str]:
    return frozenset(each.replace(",", "") for each in FIGURE.findall(text))


def words_of(text: str) -> str:
    """The words of a text alone, for comparing."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def fixed_passages(text: str, size: int) -> Iterator[str]:
    """A text in passages of one size, as somebody would cut it who knows nothing about it: at spaces."""
    start = 0
    while start < len(text):
        end = min(len(text), start + size)
        if end < len(text) and (space := text.rfind(" ", start, end)) > start:
            end = space
        yield text[start:end]
        start = end
