"""The part of the backend suite about `write` and `edit`: a change happens completely or not at all, and no work is silently lost."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from stepwell.backends.protocol import BackendProtocol, ErrorText
from stepwell.backends.text import MAX_FILE_CHARS
from stepwell.testing.backends.case import BackendCase, Verbs


class ChangingCases(BackendCase):
    """One writer at a time."""

    def test_write_creates_a_file_and_its_folders(self, files: Verbs) -> None:
        result = files.write("/new/er/a.md", "one\n")
        assert (result.error, result.path) == (None, files.at("/new/er/a.md"))
        assert files.holds("/new/er/a.md", "one\n")

    def test_write_refuses_an_existing_file_and_names_the_way_out(self, files: Verbs) -> None:
        files.put(a_md="one")
        result = files.write("/a.md", "two")
        assert result.path is None
        assert "edit_file" in str(result.error)
        assert files.at("/a.md") in str(result.error)
        assert files.holds("/a.md", "one")

    def test_write_replaces_when_told_to(self, files: Verbs) -> None:
        files.put(a_md="one, which was longer")
        assert files.write("/a.md", "two", overwrite=True).error is None
        assert files.holds("/a.md", "two")

    def test_write_refuses_a_folder(self, files: Verbs) -> None:
        files.put(docs__a_md="one")
        for overwrite in (False, True):
            result = files.write("/docs", "x", overwrite=overwrite)
            assert "folder" in str(result.error)
        assert files.names(files.ls("/")) == ["/docs/"]

    def test_write_refuses_a_place_below_a_file(self, files: Verbs) -> None:
        files.put(a_md="one")
        for path in ("/a.md/b.md", "/a.md/deep/er/b.md"):
            result = files.write(path, "x")
            assert files.at("/a.md") in str(result.error)
        assert files.names(files.ls("/")) == ["/a.md"]

    @pytest.mark.parametrize("content", ["half \ud83d", "\udc80", "x" * (MAX_FILE_CHARS + 1), 7, None, b"bytes"])
    def test_write_refuses_what_is_not_text(self, files: Verbs, content: str) -> None:
        result = files.write("/a.md", content)
        assert isinstance(result.error, ErrorText)
        assert list(files.glob("**")) == []

    def test_a_version_guards_a_write(self, files: Verbs) -> None:
        first = files.write("/a.md", "one")
        assert first.version
        second = files.write("/a.md", "two", overwrite=True, expected_version=first.version)
        assert second.error is None
        assert second.version != first.version
        third = files.write("/a.md", "three", overwrite=True, expected_version=first.version)
        assert "conflict" in str(third.error)
        assert files.holds("/a.md", "two")

    def test_a_version_of_a_missing_file_is_a_conflict(self, files: Verbs) -> None:
        assert "conflict" in str(files.write("/a.md", "x", overwrite=True, expected_version="123").error)
        assert list(files.glob("**")) == []

    def test_a_version_guards_an_edit(self, files: Verbs) -> None:
        first = files.write("/a.md", "one")
        second = files.edit("/a.md", "one", "two", expected_version=first.version)
        assert second.error is None
        assert "conflict" in str(files.edit("/a.md", "two", "three", expected_version=first.version).error)
        assert files.edit("/a.md", "two", "three", expected_version=second.version).error is None
        assert files.holds("/a.md", "three")

    def test_edit_changes_nothing_but_the_match(self, files: Verbs) -> None:
        files.put(a_md="α\r\nold\n\nβ")
        result = files.edit("/a.md", "old", "new\nlines")
        assert (result.error, result.path, result.occurrences) == (None, files.at("/a.md"), 1)
        assert files.holds("/a.md", "α\r\nnew\nlines\n\nβ")

    def test_edit_matches_across_lines(self, files: Verbs) -> None:
        files.put(a_md="one\ntwo\nthree\n")
        assert files.edit("/a.md", "one\ntwo", "1\n2").error is None
        assert files.holds("/a.md", "1\n2\nthree\n")

    def test_edit_refuses_two_matches(self, files: Verbs) -> None:
        files.put(a_md="x y x")
        result = files.edit("/a.md", "x", "z")
        assert "2 times" in str(result.error)
        assert files.holds("/a.md", "x y x")

    def test_edit_replaces_all_when_told_to(self, files: Verbs) -> None:
        files.put(a_md="x y x")
        assert files.edit("/a.md", "x", "z", replace_all=True).occurrences == 2
        assert files.holds("/a.md", "z y z")

    @pytest.mark.parametrize(("old", "new"), [("zebra", "x"), ("", "x"), ("one", "one"), ("one", "\ud83d")])
    def test_edit_refuses_what_does_not_fit(self, files: Verbs, old: str, new: str) -> None:
        files.put(a_md="one")
        result = files.edit("/a.md", old, new)
        assert isinstance(result.error, ErrorText)
        assert result.path is None
        assert files.holds("/a.md", "one")

    def test_edit_refuses_to_grow_without_bound(self, files: Verbs) -> None:
        files.put(a_md="a" * 50_000)
        assert isinstance(files.edit("/a.md", "a", "b" * 50_000, replace_all=True).error, ErrorText)

    def test_edit_of_a_missing_file_is_an_error(self, files: Verbs) -> None:
        files.put(docs__a_md="one")
        assert files.at("/none.md") in str(files.edit("/none.md", "a", "b").error)
        assert "folder" in str(files.edit("/docs", "a", "b").error)
        assert isinstance(files.edit("/docs/a.md/b.md", "a", "b").error, ErrorText)


class RacingCases(BackendCase):
    """Several writers at once."""

    def test_edits_from_threads_are_kept_or_reported(self, backend: BackendProtocol, runner: asyncio.Runner) -> None:
        """D13: no edit that reported success is missing afterwards."""
        files = Verbs(self, backend, runner, "sync")
        files.put(a_md="".join(f"<{number}>\n" for number in range(40)))
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda number: files.edit("/a.md", f"<{number}>", f"[{number}]"), range(40)))
        self._check_edits(files, [result.error for result in results])

    def test_edits_from_tasks_are_kept_or_reported(self, backend: BackendProtocol, runner: asyncio.Runner) -> None:
        """D13: the same, for edits by tasks of one event loop."""
        files = Verbs(self, backend, runner, "async")
        files.put(a_md="".join(f"<{number}>\n" for number in range(40)))

        async def edit_all() -> list[str | None]:
            jobs = (self.arun(backend, "edit", files.at("/a.md"), f"<{number}>", f"[{number}]") for number in range(40))
            return [result.error for result in await asyncio.gather(*jobs)]

        self._check_edits(files, runner.run(edit_all()))

    def _check_edits(self, files: Verbs, errors: list[str | None]) -> None:
        shown = files.read("/a.md")
        for number, error in enumerate(errors):
            assert error is None or "conflict" in error, error
            assert (f"[{number}]" in shown) == (error is None), f"edit {number} got lost"

    def test_one_of_many_creators_wins(self, backend: BackendProtocol, runner: asyncio.Runner) -> None:
        """D13: all other creators get the error that the file exists."""
        if not self.creates_are_exclusive:
            pytest.skip("this backend keeps the losers' versions beside the file")
        files = Verbs(self, backend, runner, "sync")
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda number: files.write("/a.md", f"by {number}"), range(8)))
        winners = [number for number, result in enumerate(results) if result.error is None]
        assert len(winners) == 1
        assert files.holds("/a.md", f"by {winners[0]}")

    def test_readers_never_see_half_a_write(self, backend: BackendProtocol, runner: asyncio.Runner) -> None:
        """D13: a write happens completely or not at all."""
        files = Verbs(self, backend, runner, "sync")
        whole = ["a\n" * 2_000, "b\n" * 1_500]
        files.put(a_md=whole[0])
        views = set()
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(lambda: [files.write("/a.md", whole[n % 2], overwrite=True).error for n in range(40)])
            while not writing.done():
                lines = files.read("/a.md", 0, 5_000).split("\n")
                views.add((len(lines), lines[0][-1], lines[-1][-1]))
        assert set(writing.result()) == {None}
        assert views <= {(2_000, "a", "a"), (1_500, "b", "b")}
