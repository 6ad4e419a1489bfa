"""Pure functions over files in memory. What they share with other backends is checked by the conformance suite."""

from __future__ import annotations

import pytest

from stepwell.backends import tree
from stepwell.backends.protocol import ErrorText, FileData
from stepwell.backends.tree import MAX_FOUND, MAX_MATCHES


def data(*lines: str) -> FileData:
    return {"content": list(lines), "created_at": "then", "modified_at": "now"}


FILES = {"/a.md": data("one", "two", ""), "/docs/b.md": data("zwei"), "/docs/deep/c.py": data("drei", "")}


def test_content_may_be_a_plain_string() -> None:
    files = {"/a.md": {"content": "one\ntwo\n", "created_at": "", "modified_at": ""}}
    assert tree.read_file(files, "/a.md", 0, 10) == tree.read_file({"/a.md": data("one", "two", "")}, "/a.md", 0, 10)
    assert tree.list_folder(files, "/")[0]["size"] == 8
    assert [row["line_number"] for row in tree.search(files, "t.o", "/")] == [2]


def test_a_folder_row_has_no_size_and_no_time() -> None:
    assert tree.list_folder(FILES, "/") == [
        {"path": "/a.md", "is_dir": False, "size": 8, "modified_at": "now"},
        {"path": "/docs/", "is_dir": True, "size": 0, "modified_at": ""},
    ]


def test_size_counts_bytes() -> None:
    assert tree.file_row("/x", data("ü", "🏺"))["size"] == len("ü\n🏺".encode())


def test_a_folder_is_not_its_namesake() -> None:
    files = {"/docs.md": data("x"), "/docsmore/a.md": data("x"), "/docs/a.md": data("x")}
    assert [row["path"] for row in tree.list_folder(files, "/docs")] == ["/docs/a.md"]
    assert [row["path"] for row in tree.find(files, "**", "/docs")] == ["/docs/a.md"]
    assert [row["path"] for row in tree.search(files, "x", "/docs")] == ["/docs/a.md"]


def test_placement_names_the_file_in_the_way() -> None:
    problem = tree.placement_problem(FILES, "/docs/b.md/x/y.md")
    assert problem is not None
    assert "'/docs/b.md' is a file" in problem


def test_placement_refuses_a_folder() -> None:
    assert "is a folder" in str(tree.placement_problem(FILES, "/docs/deep"))


def test_placement_allows_new_and_existing_files() -> None:
    assert tree.placement_problem(FILES, "/docs/new/er.md") is None
    assert tree.placement_problem(FILES, "/a.md") is None


def test_find_shows_a_bounded_number_of_files() -> None:
    files = {f"/f{number:05}": data("x") for number in range(MAX_FOUND + 1)}
    rows = tree.find(files, "*", "/")
    assert len(rows) == MAX_FOUND
    assert rows[-1]["path"] == f"/f{MAX_FOUND - 1:05}"
    assert "10,000" in str(rows.note)
    del files["/f00000"]
    assert tree.find(files, "*", "/").note is None


def test_search_cuts_in_path_order_whatever_the_order_of_the_files() -> None:
    files = {f"/f{number:04}": data("x") for number in reversed(range(MAX_MATCHES + 1))}
    rows = tree.search(files, "x", "/")
    assert not isinstance(rows, ErrorText)
    assert (rows[0]["path"], rows[-1]["path"], len(rows)) == ("/f0000", f"/f{MAX_MATCHES - 1:04}", MAX_MATCHES)
    assert "1,000" in str(rows.note)


def test_search_survives_half_characters_in_stored_text() -> None:
    rows = tree.search({"/a": data("\ud83d x end")}, "x e.d", "/")
    assert [(row["match_start"], row["match_end"]) for row in rows] == [(2, 7)]


@pytest.mark.parametrize(
    ("pattern", "lines", "hits"),
    [
        ("^b", ["a", "b"], [2]),
        ("a$", ["ba", "ab"], [1]),
        (r"\Ab", ["a", "b"], [2]),
        (r"b\z", ["ab", "ba"], [1]),
        ("(?-m:^b)", ["a", "b"], [2]),
        ("[^x]y", ["x", "y"], []),
        (r"a\s+b", ["a", "b", "a b"], [3]),
        ("(?s)a.b", ["a", "b"], []),
        ("^$", ["a", "", "b", ""], [2]),
        ("", ["a"], None),
    ],
)
def test_a_pattern_speaks_of_one_line(pattern: str, lines: list[str], hits: list[int] | None) -> None:
    rows = tree.search({"/a": data(*lines)}, pattern, "/")
    assert hits == (None if isinstance(rows, ErrorText) else [row["line_number"] for row in rows])
