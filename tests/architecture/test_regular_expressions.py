"""Every regular expression of the package takes time with the length of a text, whatever the text: most of them meet foreign text.

Each pattern is asked about texts that are made from its own pieces to be hard for it. A text of a thousand characters that takes
more than a moment, at its best of some tries, is held against one that is eight times as long (`tests/support/growth.py`).
"""

from __future__ import annotations

import ast
from functools import partial

import pytest
from tests.support.growth import MOST, TIMES, cpu_s

from .regular_expressions import Found, ask, hard_texts, patterns_in_calls, patterns_of_modules

MOMENT_S = 0.002
STEPS = (12, 18, 24, 100, 1000)
"""The short ones find patterns that double their time with each character, before they take an hour."""

# Patterns that only ever see so many characters, because the code cuts the text first.
BOUNDED = {"research.audit.sentences._LAST_WORD": 24}
# Patterns that are put together when they are used. Each says there why it is harmless.
MADE = {"research/audit/facts/words/directions.py", "tools/documents/visible.py"}


def is_slow(found: Found, before: str, again: str, end: str) -> bool:
    """Whether the time grows with more than the length."""

    def text(size: int) -> str:
        return before + again * (size // len(again)) + end

    for size in STEPS:
        if size > BOUNDED.get(found.where, size):
            return False
        taken = cpu_s(partial(ask, found), text(size))
        if taken > MOMENT_S and (taken := min(taken, *(cpu_s(partial(ask, found), text(size)) for _ in range(3)))) > MOMENT_S:
            return size < STEPS[-1] or all(cpu_s(partial(ask, found), text(TIMES * size)) > MOST * taken for _ in range(2))
    return False


@pytest.mark.prove
def test_no_pattern_is_slow_on_a_text_made_to_be_hard_for_it(root, package_trees: dict[str, ast.Module], effort):
    sources = {name: (root / "src" / "stepwell" / name).read_text(encoding="utf-8") for name in package_trees}
    patterns = patterns_of_modules(sources)
    for name, tree in package_trees.items():
        patterns += patterns_in_calls(name, tree)[0]
    assert len(patterns) > 150
    once = {(found.pattern.pattern, found.pattern.flags, found.ways): found for found in patterns}
    slow = {
        found.where: f"{found.pattern.pattern!r} on {before!r} + {again!r} * n + {end!r}"
        for found in once.values()
        for before, again, end in hard_texts(found.pattern, effort.cases(20, 1_000))
        if is_slow(found, before, again, end)
    }
    assert slow == {}


def test_patterns_are_written_down_and_not_put_together(package_trees: dict[str, ast.Module]):
    made = {place.rpartition(":")[0] for name, tree in package_trees.items() for place in patterns_in_calls(name, tree)[1]}
    assert made <= MADE


@pytest.mark.parametrize("pattern", [r"[ \t]+(?=\n)", r"\b[\w-]+\.com", r"(a+)+$", r"\s+x\s*", r"(?:<!--.{0,800}?-->)*<p"])
def test_a_slow_pattern_would_be_found(pattern: str):
    import re

    found = Found("here", re.compile(pattern, re.DOTALL), frozenset({"search"}))
    # Several times: other processes may slow down the shorter text.
    assert any(is_slow(found, *text) for _ in range(25) for text in hard_texts(found.pattern, 200))
