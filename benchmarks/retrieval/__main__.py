"""`python -m benchmarks.retrieval FOLDER` prints how much of the known evidence is found, in percent, beside BM25."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path

from benchmarks.retrieval.data import Question, Task, figures_of, fixed_passages, read_questions, read_tasks, words_of
from stepwell.models.embedding.embedder import Embedder, choose_embedder
from stepwell.research.evidence.selecting import select_quotes
from stepwell.research.finding.blocks import cut_blocks
from stepwell.research.finding.passages import Document, choose_passages
from stepwell.research.finding.terms import terms_of
from stepwell.settings import Settings
from stepwell.tools.documents.reader_pool import usual_readers
from stepwell.word_scores import WordScores

Quotes = list[tuple[str, str]]
"""Chosen texts, each with the name of its paragraph or file."""
PASSAGES, CHARACTERS = 40, 24_000
BUDGETS = {"hotpot": (5, 4), "musique": (8, 6)}
"""The most quotes, and the most paragraphs they may come from."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retrieval", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder with hotpot*.jsonl, musique*.jsonl or drbench/")
    folder = parser.parse_args(arguments).folder
    embedder = choose_embedder(Settings.load())
    print(f"Embedder: {embedder.describe()}\n")
    files = [file for name in BUDGETS for file in sorted(folder.glob(f"{name}*.jsonl"))]
    tasks = read_tasks(folder / "drbench") if (folder / "drbench").is_dir() else []
    if not files and not tasks:
        print(f"There is nothing to measure in '{folder}': no hotpot*.jsonl, no musique*.jsonl, no drbench/.", file=sys.stderr)
        return 1
    for file in files:
        print(asyncio.run(measure_questions(file, embedder)))
    if tasks:
        print(asyncio.run(measure_tasks(tasks, embedder)))
    return 0


async def measure_questions(file: Path, embedder: Embedder) -> str:
    most, paragraphs = next(budget for name, budget in BUDGETS.items() if file.name.startswith(name))
    questions = read_questions(file)
    rows = {
        "BM25": lambda question: _by_words(question, most, paragraphs),
        "one round": lambda question: _ours(question, embedder, most, paragraphs, follow=False),
        "two rounds": lambda question: _ours(question, embedder, most, paragraphs, follow=True),
    }
    title = f"{file.stem}: {len(questions)} questions, {most} quotes from at most {paragraphs} paragraphs"
    lines = [await _score(name, choose, questions, most, paragraphs) for name, choose in rows.items()]
    return _table(title, ["", "all supporting", "answer inside", "characters", "CPU, ms"], lines)


async def _score(
    name: str, choose: Callable[[Question], Awaitable[Quotes]], questions: Sequence[Question], most: int, paragraphs: int
) -> list[str]:
    found = answered = asked = characters = 0
    began = time.process_time()
    for question in questions:
        quotes = await choose(question)
        assert len(quotes) <= most
        assert len({source for source, _ in quotes}) <= paragraphs
        found += question.supporting <= {source for source, _ in quotes}
        characters += sum(len(text) for _, text in quotes)
        if not question.is_yes_or_no:
            asked += 1
            answered += words_of(question.answer) in words_of(" ".join(text for _, text in quotes))
    spent = 1000 * (time.process_time() - began) / len(questions)
    return [name, _share(found, len(questions)), _share(answered, asked), f"{characters // len(questions):,}", f"{spent:.0f}"]


async def _ours(question: Question, embedder: Embedder, most: int, paragraphs: int, *, follow: bool) -> Quotes:
    quotes = await select_quotes(
        question.text,
        question.texts,
        embedder,
        titles=question.titles,
        most=most,
        sources=paragraphs,
        follow=follow,
    )
    return [(quote.source_id, quote.text) for quote in quotes]


async def _by_words(question: Question, most: int, paragraphs: int) -> Quotes:
    """BM25 over the same passages: the best sentences, from the first paragraphs that they come from."""
    from stepwell.research.evidence.quotable import quotable

    passages = [(name, passage.text) for name, text in question.texts.items() for passage in quotable(text)]
    terms = [terms_of(f"{question.titles[name]} {text}") for name, text in passages]
    scores = WordScores(terms).score(terms_of(question.text))
    chosen: Quotes = []
    for at in sorted(range(len(passages)), key=lambda each: -scores[each]):
        sources = {name for name, _ in chosen}
        if len(chosen) < most and (passages[at][0] in sources or len(sources) < paragraphs):
            chosen.append(passages[at])
    return chosen


async def measure_tasks(tasks: Sequence[Task], embedder: Embedder) -> str:
    read = [await _read(task) for task in tasks]
    ways: dict[str, Callable[[Task, Sequence[Document]], Awaitable[Quotes]]] = {
        "BM25, passages of 600 characters": _fixed_by_words,
        "BM25, our blocks": _blocks_by_words,
        "one round": lambda task, documents: _passages(task, documents, embedder, follow=False),
        "two rounds": lambda task, documents: _passages(task, documents, embedder, follow=True),
    }
    facts = sum(len(task.facts) for task in tasks)
    there = sum(
        any(fact.figures <= figures_of(document.text) for document in documents if document.name in fact.files)
        for task, documents in zip(tasks, read, strict=True)
        for fact in task.facts
    )
    title = (
        f"DRBench: {len(tasks)} tasks, {facts} facts with figures (the figures of {there} stand in their file at all), "
        f"{PASSAGES} passages and {CHARACTERS:,} characters a task"
    )
    lines = [await _score_tasks(name, way, tasks, read) for name, way in ways.items()]
    return _table(title, ["", "fact found", "file reached", "characters", "CPU, ms"], lines)


async def _score_tasks(
    name: str,
    way: Callable[[Task, Sequence[Document]], Awaitable[Quotes]],
    tasks: Sequence[Task],
    read: Sequence[Sequence[Document]],
) -> list[str]:
    found = reached = characters = 0
    began = time.process_time()
    for task, documents in zip(tasks, read, strict=True):
        chosen = await way(task, documents)
        used = sum(len(text) for _, text in chosen)
        assert len(chosen) <= PASSAGES
        assert used <= CHARACTERS
        characters += used
        for fact in task.facts:
            own = [text for file, text in chosen if file in fact.files]
            reached += bool(own)
            found += any(fact.figures <= figures_of(text) for text in own)
    facts = sum(len(task.facts) for task in tasks)
    spent = 1000 * (time.process_time() - began) / len(tasks)
    return [name, _share(found, facts), _share(reached, facts), f"{characters // len(tasks):,}", f"{spent:.0f}"]


async def _read(task: Task) -> list[Document]:
    pages = [(file, await usual_readers().read_file(file.read_bytes(), file.name)) for file in task.files]
    return [Document(file.name, page.text, page.title or file.stem, page.parts) for file, page in pages]


async def _passages(task: Task, documents: Sequence[Document], embedder: Embedder, *, follow: bool) -> Quotes:
    chosen = await choose_passages([task.question], documents, embedder, most=PASSAGES, characters=CHARACTERS, follow=follow)
    return [(block.source_id, block.text) for block in chosen]


async def _fixed_by_words(task: Task, documents: Sequence[Document]) -> Quotes:
    size = CHARACTERS // PASSAGES
    return _best(task.question, ((each.name, text) for each in documents for text in fixed_passages(each.text, size)))


async def _blocks_by_words(task: Task, documents: Sequence[Document]) -> Quotes:
    blocks = (block for each in documents for block in cut_blocks(each.name, each.text, parts=each.parts))
    return _best(task.question, ((block.source_id, block.text) for block in blocks))


def _best(question: str, passages: Iterable[tuple[str, str]]) -> Quotes:
    every = list(passages)
    scores = WordScores([terms_of(text) for _, text in every]).score(terms_of(question))
    chosen: Quotes = []
    room = CHARACTERS
    for at in sorted(range(len(every)), key=lambda each: -scores[each]):
        if len(chosen) < PASSAGES and len(every[at][1]) <= room:
            chosen.append(every[at])
            room -= len(every[at][1])
    return chosen


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return f"{title}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
