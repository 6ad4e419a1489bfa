"""No file of the project names a package index, a place on somebody's machine, or a document that readers do not have."""

from __future__ import annotations

import re

import pytest

# Put together from parts, so that this file does not hold what it looks for.
INDEX = re.compile(
    "|".join(
        [
            r"pypi\." + "org",
            r"python" + r"hosted\.org",
            r"registry\.npm" + r"js\.",
            r"registry\.yarn" + r"pkg\.",
            r"(?:^|\s)--?(?:extra-)?index" + r"-url[ =]+\S*:/",
            r"(?:index|registry)\s*=\s*[\"']?" + r"https?://",
        ]
    ),
    re.MULTILINE,
)
# Homes of real accounts, version managers, and absolute paths into an environment. `user` and the like are examples.
MACHINE = re.compile(
    r"/(?:home|Users)/(?!user\b|you\b|me\b|alice\b|bob\b|\*|<|\{)[\w.-]+/"
    + r"|/root/\.\w"
    + r"|\.pyenv/" + r"versions"
    + r"|/\w[\w./-]*/(?:site|dist)-packages/"
    + r"|[A-Z]:\\\\?Users\\\\?(?!user\b|you\b|me\b)\w+\\"
)  # fmt: skip

ELSEWHERE = re.compile(r"\bdocument " + r"00\d|\bfaults" + r"\.md\b|\bfield[ -]" + r"notes\b", re.IGNORECASE)


def places(texts: dict[str, str], pattern: re.Pattern[str]) -> list[str]:
    """Where a pattern occurs, as `path: what was found`."""
    return [f"{name}: {match.group().strip()}" for name, text in texts.items() for match in pattern.finditer(text)]


def test_no_file_names_a_package_index(project_texts: dict[str, str]):
    assert places(project_texts, INDEX) == []


def test_no_file_names_a_place_on_a_machine(project_texts: dict[str, str]):
    assert places(project_texts, MACHINE) == []


def test_no_file_names_a_document_that_is_not_here(project_texts: dict[str, str]):
    assert places(project_texts, ELSEWHERE) == []


def test_the_scan_covers_the_project(project_texts: dict[str, str]):
    assert {"pyproject.toml", "requirements.lock", "Makefile", "src/stepwell/errors.py"} <= project_texts.keys()
    assert "uv.lock" not in project_texts


@pytest.mark.parametrize("line", ["--index" + "-url https://mirror.test/simple", "index = " + '"https://mirror.test/simple"'])
def test_an_index_would_be_seen(line: str):
    assert places({"a": line}, INDEX)


@pytest.mark.parametrize("line", ["/home/" + "jdoe/src", "/usr/lib/python3/dist" + "-packages/x.py"])
def test_a_machine_path_would_be_seen(line: str):
    assert places({"a": line}, MACHINE)
