"""What a SKILL.md says about itself: the rules of the specification, and files that break them."""

from __future__ import annotations

import logging

import pytest

from stepwell.middleware.skills.frontmatter import MAX_FRONTMATTER_CHARS, SkillError, name_problem, parse_skill, split

PATH = "/skills/web-research/SKILL.md"


def skill(*lines: str, body: str = "Do it.") -> str:
    return "\n".join(["---", "name: web-research", "description: Research a topic.", *lines, "---", body])


def test_all_fields_are_read():
    text = skill(
        "license: MIT",
        "compatibility: Python 3.11",
        "metadata:",
        "  author: Ada",
        "  include_tools: [a, b]",
        "allowed-tools: ls grep",
    )
    assert parse_skill(text, PATH) == {
        "path": PATH,
        "name": "web-research",
        "description": "Research a topic.",
        "license": "MIT",
        "compatibility": "Python 3.11",
        "metadata": {"author": "Ada", "include_tools": "a b"},
        "allowed_tools": ["ls", "grep"],
    }


def test_optional_fields_may_be_missing():
    found = parse_skill(skill(), PATH)
    assert (found["license"], found["compatibility"], found["metadata"], found["allowed_tools"]) == (None, None, {}, [])


@pytest.mark.parametrize(
    "text", ["\r\n".join(skill().split("\n")), skill().replace("---\n", "---  \n")], ids=["CRLF", "spaces"]
)
def test_line_ends_and_spaces_after_the_marks_do_not_matter(text: str):
    assert parse_skill(text, PATH)["description"] == "Research a topic."
    assert split(text)[1] == "Do it."


@pytest.mark.parametrize(
    ("given", "read"),
    [("ls grep", ["ls", "grep"]), ("ls,  grep", ["ls", "grep"]), ("[ls, 7, ' grep ']", ["ls", "grep"]), ("7", []), ("", [])],
)
def test_allowed_tools_are_a_text_or_a_list(given: str, read: list[str]):
    assert parse_skill(skill(f"allowed-tools: {given}"), PATH)["allowed_tools"] == read


@pytest.mark.parametrize("name", ["a", "web-research", "v2", "café", "über-tool", "a" * 64])
def test_good_names(name: str):
    assert name_problem(name, name) is None


@pytest.mark.parametrize(
    "name", ["", "A", "-a", "a-", "a--b", "a_b", "a b", "a" * 65, "a\nb", "中文", "tool-😀", "../etc", "</skill>"]
)
def test_names_that_break_a_rule(name: str):
    assert name_problem(name, name)


def test_name_must_be_the_folder_s():
    assert name_problem("a", "b") == "name 'a' must match directory name 'b'"


def test_a_name_that_breaks_a_rule_is_reported_and_works(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        assert parse_skill(skill(), "/skills/research/SKILL.md")["name"] == "web-research"
    assert "must match directory name 'research'" in caplog.text


@pytest.mark.parametrize(("key", "most"), [("description", 1024), ("compatibility", 500)])
def test_long_texts_are_cut(key: str, most: int, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        assert len(parse_skill(skill(f"{key}: {'x' * 2000}"), PATH)[key]) == most
    assert f"'{key}' in {PATH} has 2000 characters; the model sees the first {most}" in caplog.text


UNUSABLE = {
    "nothing": ("", "no frontmatter"),
    "no frontmatter": ("# Web research", "no frontmatter"),
    "not closed": ("---\nname: a\ndescription: b\n", "does not end"),
    "not closed in time": (skill(f"x: {'y' * MAX_FRONTMATTER_CHARS}"), "does not end"),
    "a list": ("---\n- a\n---\n", "not a list of keys"),
    "no name": ("---\ndescription: b\n---\n", "lacks name or description"),
    "no description": ("---\nname: a\n---\n", "lacks name or description"),
    "an empty description": ("---\nname: a\ndescription: '  '\n---\n", "lacks name or description"),
    "broken": ("---\nname: a\ndescription: [b\n---\n", "not valid YAML"),
    "a Python object": ("---\nname: !!python/object/apply:os.system ['true']\ndescription: b\n---\n", "not valid YAML"),
    "an alias": (skill("x: &x [1]", "y: [*x, *x]"), "an alias"),
    "a merge": (skill("x: &x {a: 1}", "y: {<<: *x}"), "an alias"),
    "deep flow": (skill(f"x: {'[' * 1500}{']' * 1500}"), "nested too deep"),
    "deep blocks": (skill(f"x:\n  {'- ' * 1500}1"), "nested too deep"),
    "a number without end": (skill(f"metadata: {{x: 0x{'f' * 3800}}}"), "too many digits"),
    "no such day": (skill("x: 2026-02-31"), "not valid YAML"),
    "control characters": (skill("x: \x07"), "not valid YAML"),
    "too long": (skill(body="x" * 1_000_001), "1,000,000 are read"),
}


@pytest.mark.parametrize(("text", "why"), UNUSABLE.values(), ids=list(UNUSABLE))
def test_a_file_that_cannot_be_used_says_why(text: str, why: str):
    with pytest.raises(SkillError, match=why):
        parse_skill(text, PATH)


def test_an_alias_bomb_is_refused_before_it_is_expanded():
    """Nine lines that stand for a billion texts."""
    bomb = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    bomb += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(SkillError, match="an alias"):
        parse_skill(skill("metadata:", *(f"  {line}" for line in bomb)), PATH)
