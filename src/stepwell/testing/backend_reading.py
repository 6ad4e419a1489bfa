"""The part of the backend suite about `read` and `ls_info`."""

from __future__ import annotations

import asyncio
from datetime import datetime

from stepwell.backends.protocol import BackendProtocol, ErrorText
from stepwell.backends.text import MAX_LINE_CHARS
from stepwell.testing.backend_case import BackendCase, Verbs


class ReadingCases(BackendCase):
    """What is read is what was written, line by line, and listings tell the truth about it."""

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

    def test_both_colours_give_the_same(self, backend: BackendProtocol, runner: asyncio.Runner) -> None:
        one, other = (Verbs(self, backend, runner, colour) for colour in ("sync", "async"))
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
