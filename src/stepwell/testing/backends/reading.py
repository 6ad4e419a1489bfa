"""The part of the backend suite about the four verbs that only read: `read`, `ls_info`, `grep_raw` and `glob_info`."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime

import pytest

from stepwell.backends.protocol import BackendProtocol, ErrorText, GrepMatch
from stepwell.backends.text import MAX_LINE_CHARS
from stepwell.backends.tree import MAX_MATCHES
from stepwell.testing.backends.case import BackendCase, Verbs


class ReadingCases(BackendCase):
    """Reading returns what was written, line by line, and listings are correct."""

    def test_read_numbers_lines_from_one(self, files: Verbs) -> None:
        files.put(a_md="first\nsecond\n")
        lines = files.read("/a.md").split("\n")
        assert [line.split("\t") for line in lines] == [["     1", "first"], ["     2", "second"]]

    def test_read_of_an_empty_file_says_so(self, files: Verbs) -> None:
        files.put(a_md="")
        shown = files.read("/a.md")
        assert "empty" in shown
        assert not isinstance(shown, ErrorText)

    def test_read_keeps_a_last_line_without_newline(self, files: Verbs) -> None:
        files.put(a_md="one\ntwo")
        assert files.read("/a.md").endswith("\ttwo")
        assert files.holds("/a.md", "one\ntwo")

    def test_carriage_returns_are_kept(self, files: Verbs) -> None:
        files.put(a_md="one\r\ntwo\r\n")
        assert files.holds("/a.md", "one\r\ntwo\r\n")
        assert files.edit("/a.md", "one", "ONE").error is None
        assert files.holds("/a.md", "ONE\r\ntwo\r\n")

    def test_only_newlines_end_a_line(self, files: Verbs) -> None:
        content = "a\x0bb\x0cc\u2028d\x85e\rf"
        files.put(a_md=content)
        assert files.read("/a.md") == f"     1\t{content}"

    def test_text_of_all_planes_survives(self, files: Verbs) -> None:
        content = "naïve – 漢字 – 🏺 – e\u0301 – \u202e – \x00 – \ufeff\n"
        files.put(a_md=content)
        assert files.holds("/a.md", content)

    def test_a_long_line_is_cut_with_a_note(self, files: Verbs) -> None:
        files.put(a_md="x" * (MAX_LINE_CHARS + 1) + "\nshort\n")
        first, second = files.read("/a.md").split("\n")
        assert len(first) < MAX_LINE_CHARS + 100
        assert "cut" in first
        assert second.endswith("\tshort")

    def test_offset_and_limit_select_lines(self, files: Verbs) -> None:
        files.put(a_md="".join(f"line {number}\n" for number in range(1, 10_001)))
        shown = files.read("/a.md", 4_999, 2).split("\n")
        assert shown[:2] == ["  5000\tline 5000", "  5001\tline 5001"]
        assert "offset=5001" in shown[2]
        assert files.read("/a.md", 9_999, 50) == " 10000\tline 10000"

    def test_offset_behind_the_end_is_an_error(self, files: Verbs) -> None:
        files.put(a_md="one\n")
        for window in ((1, 10), (-1, 10), (0, 0), (0, -5)):
            assert isinstance(files.read("/a.md", *window), ErrorText)

    def test_read_of_a_missing_file_names_it_and_the_way_out(self, files: Verbs) -> None:
        shown = files.read("/nowhere/a.md")
        assert isinstance(shown, ErrorText)
        assert files.at("/nowhere/a.md") in shown
        assert "ls(" in shown

    def test_read_of_a_folder_says_that_it_is_one(self, files: Verbs) -> None:
        files.put(docs__a_md="one")
        shown = files.read("/docs")
        assert isinstance(shown, ErrorText)
        assert "folder" in shown
        assert files.at("/docs") in shown

    def test_read_below_a_file_is_an_error(self, files: Verbs) -> None:
        files.put(a_md="one")
        assert isinstance(files.read("/a.md/b.md"), ErrorText)

    def test_the_empty_root_lists_nothing(self, files: Verbs) -> None:
        rows = files.ls("/")
        assert list(rows) == []
        assert getattr(rows, "error", None) is None

    def test_ls_shows_direct_children_sorted_by_path(self, files: Verbs) -> None:
        files.put(b_md="1", a__x_md="1", a__deep__y_md="1", c__z_md="1", a_md="1")
        assert files.names(files.ls("/")) == ["/a.md", "/a/", "/b.md", "/c/"]
        assert files.names(files.ls("/a")) == ["/a/deep/", "/a/x.md"]
        assert files.names(files.ls("/a/")) == ["/a/deep/", "/a/x.md"]

    def test_rows_carry_kind_size_and_time(self, files: Verbs) -> None:
        files.put(docs__a_md="häß\n")
        (folder,) = files.ls("/")
        assert folder["is_dir"] is True
        assert folder["size"] == 0
        (row,) = files.ls("/docs")
        assert row["is_dir"] is False
        assert row["size"] == len("häß\n".encode())
        assert datetime.fromisoformat(row["modified_at"]).tzinfo is not None

    def test_ls_of_a_file_lists_the_file(self, files: Verbs) -> None:
        files.put(docs__a_md="one")
        assert files.names(files.ls("/docs/a.md")) == ["/docs/a.md"]

    def test_ls_of_a_missing_folder_is_an_error(self, files: Verbs) -> None:
        rows = files.ls("/nowhere")
        assert list(rows) == []
        assert files.at("/nowhere") in getattr(rows, "error", "")

    def test_sync_and_async_verbs_give_the_same(self, backend: BackendProtocol, runner: asyncio.Runner) -> None:
        one, other = (Verbs(self, backend, runner, form) for form in ("sync", "async"))
        one.put(a_md="one\ntwo\n", docs__b_md="two\n")
        for ask in (
            lambda files: (files.ls("/"), files.ls("/docs"), files.ls("/none").error),
            lambda files: (files.read("/a.md"), files.read("/a.md", 1, 1), files.read("/none.md"), files.read("/docs")),
            lambda files: (files.grep("two"), files.grep("t.o", "/docs", "*.md"), files.grep("(")),
            lambda files: (files.glob("**/*.md"), files.glob("*.md", "/docs"), files.glob("../*").error),
            lambda files: (files.write("/a.md", "x"), files.write("/docs", "x"), files.write("/../x", "x")),
            lambda files: (files.edit("/a.md", "none", "x"), files.edit("/none.md", "a", "b")),
        ):
            assert ask(one) == ask(other)


class SearchingCases(BackendCase):
    """Searches find everything, in order, and no pattern can do harm."""

    def test_grep_shows_path_line_and_position(self, files: Verbs) -> None:
        files.put(docs__a_md="first\nein Stück Käse\nlast\n")
        (row,) = _rows(files.grep("Käse"))
        assert row == {
            "path": files.at("/docs/a.md"),
            "line_number": 2,
            "line_content": "ein Stück Käse",
            "match_start": 10,
            "match_end": 14,
        }

    def test_grep_takes_regular_expressions(self, files: Verbs) -> None:
        files.put(a_md="alpha\nbeta 12\ngamma 345\n")
        assert [row["line_number"] for row in _rows(files.grep(r"\w+ \d{3}$"))] == [3]
        assert [row["line_number"] for row in _rows(files.grep("^(alpha|gamma)"))] == [1, 3]
        assert [row["line_number"] for row in _rows(files.grep("(?i)BETA"))] == [2]
        assert [row["line_number"] for row in _rows(files.grep(r"\Agamma"))] == [3]

    def test_grep_is_sorted_by_path_and_line(self, files: Verbs) -> None:
        files.put(b_md="x\nx\n", a__z_md="x\n", a_md="x\n", a__b__c_md="x\n")
        found = [(row["path"].removeprefix(self.base), row["line_number"]) for row in _rows(files.grep("x"))]
        assert found == [("/a.md", 1), ("/a/b/c.md", 1), ("/a/z.md", 1), ("/b.md", 1), ("/b.md", 2)]

    def test_grep_stays_below_its_path(self, files: Verbs) -> None:
        files.put(a__x_md="x", ab__x_md="x", c_md="x")
        assert [row["path"] for row in _rows(files.grep("x", "/a"))] == [files.at("/a/x.md")]

    def test_grep_can_start_at_a_file(self, files: Verbs) -> None:
        files.put(a__x_md="x", a__y_md="x")
        assert [row["path"] for row in _rows(files.grep("x", "/a/x.md"))] == [files.at("/a/x.md")]

    def test_grep_glob_without_slash_means_the_name(self, files: Verbs) -> None:
        files.put(a_py="x", deep__er__b_py="x", deep__c_md="x")
        found = [row["path"].removeprefix(self.base) for row in _rows(files.grep("x", "/", "*.py"))]
        assert found == ["/a.py", "/deep/er/b.py"]

    def test_grep_glob_with_slash_means_the_path(self, files: Verbs) -> None:
        files.put(a_py="x", deep__er__b_py="x", deep__c_py="x")
        found = [row["path"].removeprefix(self.base) for row in _rows(files.grep("x", "/", "deep/*.py"))]
        assert found == ["/deep/c.py"]

    def test_grep_does_not_count_what_follows_the_last_newline(self, files: Verbs) -> None:
        files.put(a_md="one\n\ntwo\n")
        assert [row["line_number"] for row in _rows(files.grep("^$"))] == [2]

    def test_grep_without_a_match_is_empty(self, files: Verbs) -> None:
        files.put(a_md="one\n", b_md="")
        assert list(_rows(files.grep("zebra"))) == []

    def test_grep_in_a_missing_place_is_an_error(self, files: Verbs) -> None:
        files.put(a_md="one\n")
        found = files.grep("one", "/nowhere")
        assert isinstance(found, ErrorText)
        assert files.at("/nowhere") in found

    def test_grep_shows_a_bounded_number_of_matches(self, files: Verbs) -> None:
        files.put(a_md="x\n" * (MAX_MATCHES + 5))
        found = files.grep("x")
        assert len(_rows(found)) == MAX_MATCHES
        assert f"{MAX_MATCHES:,}" in getattr(found, "note", "")

    @pytest.mark.parametrize("pattern", ["(", "[a", "(?=x)", r"(a)\1", "", "a\nb", "x" * 5_000, "a{5000}", "\ud800"])
    def test_grep_refuses_a_bad_pattern(self, files: Verbs, pattern: str) -> None:
        files.put(a_md="one\n")
        assert isinstance(files.grep(pattern), ErrorText)

    @pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(.*)*x", "(a|aa)+$", "a{0,30}a{0,30}$"])
    def test_grep_answers_a_hostile_pattern_at_once(self, files: Verbs, pattern: str) -> None:
        files.put(a_md="a" * 20_000 + "!\n")
        start = time.perf_counter()
        assert not isinstance(files.grep(pattern), ErrorText)
        assert time.perf_counter() - start < 5

    def test_glob_star_stays_in_a_folder(self, files: Verbs) -> None:
        files.put(a_md="1", b_txt="1", deep__c_md="1")
        assert files.names(files.glob("*.md")) == ["/a.md"]
        assert files.names(files.glob("*/*.md")) == ["/deep/c.md"]

    def test_glob_two_stars_cross_folders(self, files: Verbs) -> None:
        files.put(a_md="1", deep__b_md="1", deep__er__c_md="1", deep__er__d_txt="1")
        assert files.names(files.glob("**/*.md")) == ["/a.md", "/deep/b.md", "/deep/er/c.md"]
        assert files.names(files.glob("deep/**")) == ["/deep/b.md", "/deep/er/c.md", "/deep/er/d.txt"]
        assert files.names(files.glob("**/er/*")) == ["/deep/er/c.md", "/deep/er/d.txt"]

    def test_glob_knows_choices_and_classes(self, files: Verbs) -> None:
        files.put(a1_md="1", a2_txt="1", b1_py="1")
        assert files.names(files.glob("*.{md,txt}")) == ["/a1.md", "/a2.txt"]
        assert files.names(files.glob("[a]?.*")) == ["/a1.md", "/a2.txt"]
        assert files.names(files.glob("[!a]*")) == ["/b1.py"]

    def test_glob_is_relative_to_its_path(self, files: Verbs) -> None:
        files.put(deep__a_md="1", deep__er__b_md="1")
        assert files.names(files.glob("*.md", "/deep")) == ["/deep/a.md"]
        assert files.names(files.glob("/er/*.md", "/deep/")) == ["/deep/er/b.md"]
        assert files.names(files.glob("deep/*.md", "/deep")) == []

    def test_glob_shows_files_only(self, files: Verbs) -> None:
        files.put(deep__a_md="1")
        (row,) = files.glob("**")
        assert row["is_dir"] is False
        assert row["size"] == 1

    def test_glob_in_a_missing_folder_is_an_error(self, files: Verbs) -> None:
        assert files.at("/nowhere") in getattr(files.glob("*", "/nowhere"), "error", "")

    @pytest.mark.parametrize("pattern", ["", "../*", "a/../b", "\x00*", "..\\*", "x" * 5_000, "/", "[z-a]"])
    def test_glob_refuses_a_bad_pattern(self, files: Verbs, pattern: str) -> None:
        files.put(a_md="1")
        rows = files.glob(pattern)
        assert list(rows) == []
        assert getattr(rows, "error", None)

    def test_glob_answers_a_hostile_pattern_at_once(self, files: Verbs) -> None:
        files.write("/" + "a" * 200 + "/" + "a" * 200, "1")
        start = time.perf_counter()
        for pattern in ("*a" * 60 + "b", "**/" * 60 + "b", "{a,aa}" * 60 + "b", "**/*a*a*a*a*a*a*b"):
            assert files.names(files.glob(pattern)) == []
        assert time.perf_counter() - start < 5


def _rows(found: list[GrepMatch] | str) -> list[GrepMatch]:
    assert not isinstance(found, str), found
    return found
