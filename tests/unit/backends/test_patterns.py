"""Patterns from a model: one meaning, and no way to make them slow."""

from __future__ import annotations

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st
from tests.support.growth import assert_linear

from stepwell.backends.patterns import compile_glob, compile_text, translate_glob
from stepwell.backends.protocol import ErrorText

PATHS = ["a.md", "b.txt", "deep/a.md", "deep/er/a.md", "deep/er/b.txt", ".md", "deep/.md", "a.mdx", "md", "x/md", "a,b", "{a}"]


@pytest.mark.parametrize(
    ("pattern", "hits"),
    [
        ("*.md", ["a.md", ".md"]),
        ("**/*.md", ["a.md", "deep/a.md", "deep/er/a.md", ".md", "deep/.md"]),
        ("**/*.{md,txt}", ["a.md", "b.txt", "deep/a.md", "deep/er/a.md", "deep/er/b.txt", ".md", "deep/.md"]),
        ("deep/**", ["deep/a.md", "deep/er/a.md", "deep/er/b.txt", "deep/.md"]),
        ("deep/**/a.md", ["deep/a.md", "deep/er/a.md"]),
        ("**/er/**", ["deep/er/a.md", "deep/er/b.txt"]),
        ("*/er/?.md", ["deep/er/a.md"]),
        ("/a.md", ["a.md"]),
        ("./a.md", ["a.md"]),
        ("[ab].*", ["a.md", "b.txt", "a.mdx"]),
        ("[!a].*", ["b.txt"]),
        ("a,b", ["a,b"]),
        ("**/*", PATHS),
        ("**", PATHS),
        ("none*", []),
    ],
)
def test_a_glob_means_what_it_says(pattern: str, hits: list[str]) -> None:
    matches = compile_glob(pattern)
    assert not isinstance(matches, ErrorText)
    assert [path for path in PATHS if matches(path)] == hits


def test_anywhere_holds_a_bare_name_against_the_last_segment() -> None:
    matches = compile_glob("*.md", anywhere=True)
    assert not isinstance(matches, ErrorText)
    assert [path for path in PATHS if matches(path)] == ["a.md", "deep/a.md", "deep/er/a.md", ".md", "deep/.md"]


@given(
    st.lists(st.sampled_from(["*", "**", "?", "/", "a", "b", ".md", "{a,b}", "{", "}", ",", "x"]), min_size=1, max_size=8).map(
        "".join
    ),
    st.lists(st.sampled_from(["a", "b", "ab", "x.md", "a.md", "{", ","]), min_size=1, max_size=4).map("/".join),
    st.booleans(),
)
def test_the_fast_tests_agree_with_re2(pattern: str, path: str, anywhere: bool) -> None:
    """Globs are held against suffixes or given to `re` where that is safe; the meaning must not change."""
    matches = compile_glob(pattern, anywhere=anywhere)
    if isinstance(matches, ErrorText):
        return
    normal = "/".join(part for part in pattern.split("/") if part not in ("", "."))
    source = translate_glob(normal)
    if anywhere and "/" not in normal:
        source = "(?:.*/)?" + source
    assert matches(path) == (re2.fullmatch(f"(?s:{source})", path) is not None)


@pytest.mark.parametrize(
    "pattern", ["*a" * 40 + "b", "**/" * 40 + "b", "{a,aa}" * 40 + "b", "*" * 200 + "b", "**/*a*a*a*a*b", "a*/" * 40]
)
def test_no_glob_is_slow(pattern: str) -> None:
    matches = compile_glob(pattern)
    assert not isinstance(matches, ErrorText)
    assert_linear(matches, lambda size: "a" * size + "/" + "a" * size, 100)
    assert_linear(matches, lambda size: "/".join("a" * size), 100)


def test_a_literal_is_found_without_an_expression() -> None:
    wanted = compile_text("two words")
    assert not isinstance(wanted, ErrorText)
    assert wanted.literal == "two words"
    assert wanted.find("these two words") == (6, 15)
    assert wanted.find("none") is None


@given(
    st.sampled_from(["^a", "a$", "^$", "a.b", r"a\s*b", "[^a]b", r"\Aa", r"b\z", "(?s)a.b", r"\bab\b", "a|^b$"]),
    st.text("ab \n", max_size=12),
)
def test_a_look_at_the_whole_text_misses_no_line(pattern: str, content: str) -> None:
    wanted = compile_text(pattern)
    assert not isinstance(wanted, ErrorText)
    if any(wanted.find(line) for line in content.split("\n")):
        assert wanted.may_occur_in(content)
