"""`FilesystemBackend`: what the six verbs mean on disk, whichever means of containment is used."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stepwell.backends import messages, text
from stepwell.backends.filesystem import FilesystemBackend
from stepwell.backends.protocol import BackendProtocol, ErrorText, Listing, Matches
from stepwell.errors import ConfigurationError


@pytest.fixture(params=["openat2", "walk", "portable"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> FilesystemBackend:
    return FilesystemBackend(tmp_path, containment=request.param)


class HeldClock:
    def now(self) -> datetime:
        return datetime(2030, 1, 2, 3, 4, 5, 678901, UTC)


def paths_of(rows: list) -> list[str]:
    return [row["path"] for row in rows]


def test_it_is_a_backend(tmp_path: Path):
    """D11: the disk speaks the same protocol as the others."""
    assert isinstance(FilesystemBackend(tmp_path), BackendProtocol)
    assert FilesystemBackend.blocking


@pytest.mark.parametrize("content", ["", "a", "a\n", "a\r\nb\r\n", "ä€😀\n\n", "\ufeffbom", "nul\x00 inside", "\n"])
def test_text_comes_back_to_the_byte(backend: FilesystemBackend, tmp_path: Path, content: str):
    """D11: carriage returns and a missing last newline stay as they are."""
    result = backend.write("/deep/er/a.txt", content)
    assert (result.error, result.path, result.version) == (None, "/deep/er/a.txt", text.version_of(content))
    assert (tmp_path / "deep/er/a.txt").read_bytes() == content.encode()


def test_read_numbers_lines_from_the_offset(backend: FilesystemBackend):
    backend.write("/a.txt", "one\ntwo\nthree\n")
    assert backend.read("/a.txt", 1, 1) == "     2\ttwo\n(1 more lines; go on with offset=2)"


def test_read_of_a_folder_or_of_nothing_says_so(backend: FilesystemBackend):
    backend.write("/d/a.txt", "x")
    assert backend.read("/d") == messages.is_folder("/d")
    assert backend.read("/d/b.txt") == messages.no_file("/d/b.txt")
    assert backend.read("/d/a.txt/b") == messages.no_file("/d/a.txt/b")
    assert isinstance(backend.read("/none/b.txt"), ErrorText)


def test_read_refuses_what_is_not_text(backend: FilesystemBackend, tmp_path: Path):
    (tmp_path / "a.bin").write_bytes(b"\xff\xfe\x00")
    assert backend.read("/a.bin") == messages.not_text("/a.bin")
    assert backend.edit("/a.bin", "a", "b").error == messages.not_text("/a.bin")


def test_large_files_are_refused_by_read_and_found_by_grep(tmp_path: Path):
    backend = FilesystemBackend(tmp_path, max_file_bytes=100)
    (tmp_path / "big.txt").write_text("x" * 150 + "\nneedle\n")
    assert backend.read("/big.txt") == messages.too_large("/big.txt", 158, 100)
    assert backend.edit("/big.txt", "needle", "pin").error == messages.too_large("/big.txt", 158, 100)
    assert [row["line_number"] for row in backend.grep_raw("needle")] == [2]
    assert "at most 100 fit" in (backend.write("/new.txt", "x" * 101).error or "")
    assert paths_of(backend.ls_info("/")) == ["/big.txt"]


def test_ls_sorts_rows_and_marks_folders(backend: FilesystemBackend):
    for path in ("/b.txt", "/a/x.txt", "/a.txt", "/ä.txt", "/a-b/y.txt"):
        backend.write(path, "ä")
    rows = backend.ls_info("/")
    assert paths_of(rows) == ["/a-b/", "/a.txt", "/a/", "/b.txt", "/ä.txt"]
    assert [(row["is_dir"], row["size"]) for row in rows] == [(True, 0), (False, 2), (True, 0), (False, 2), (False, 2)]


def test_ls_of_a_file_is_its_row_and_of_nothing_an_error(backend: FilesystemBackend):
    backend.write("/a.txt", "xyz")
    assert [(row["path"], row["size"]) for row in backend.ls_info("/a.txt/")] == [("/a.txt", 3)]
    for missing in ("/none", "/none/deeper", "/a.txt/b"):
        rows = backend.ls_info(missing)
        assert isinstance(rows, Listing)
        assert (list(rows), rows.error) == ([], messages.no_folder(missing))


def test_times_come_from_the_clock(tmp_path: Path):
    backend = FilesystemBackend(tmp_path, clock=HeldClock())
    backend.write("/a.txt", "x")
    assert backend.ls_info("/")[0]["modified_at"] == "2030-01-02T03:04:05.678901+00:00"
    os.utime(tmp_path / "a.txt", (0, 0))
    assert backend.ls_info("/")[0]["modified_at"] == "1970-01-01T00:00:00+00:00"


def test_write_refuses_an_existing_file_unless_told(backend: FilesystemBackend, tmp_path: Path):
    backend.write("/a.txt", "old")
    assert backend.write("/a.txt", "new").error == messages.exists("/a.txt")
    assert (tmp_path / "a.txt").read_text() == "old"
    assert backend.write("/a.txt", "new", overwrite=True).path == "/a.txt"
    assert (tmp_path / "a.txt").read_text() == "new"


def test_write_refuses_folders_and_places_below_files(backend: FilesystemBackend):
    backend.write("/d/a.txt", "x")
    assert backend.write("/d", "x", overwrite=True).error == messages.is_folder("/d")
    assert backend.write("/d/a.txt/b/c", "x").error == messages.below_file("/d/a.txt/b/c", "/d/a.txt")
    assert backend.edit("/d/a.txt/b", "x", "y").error == messages.below_file("/d/a.txt/b", "/d/a.txt")
    assert backend.edit("/d", "x", "y").error == messages.is_folder("/d")


def test_versions_tell_of_changes_in_between(backend: FilesystemBackend, tmp_path: Path):
    """D13: whoever hands back a version hears of what happened since."""
    first = backend.write("/a.txt", "one").version
    (tmp_path / "a.txt").write_text("two")
    assert backend.write("/a.txt", "x", overwrite=True, expected_version=first).error == messages.conflict("/a.txt")
    assert backend.edit("/a.txt", "two", "x", expected_version=first).error == messages.conflict("/a.txt")
    second = text.version_of("two")
    edited = backend.edit("/a.txt", "two", "three", expected_version=second)
    assert (edited.error, edited.occurrences, edited.version) == (None, 1, text.version_of("three"))
    assert backend.write("/a.txt", "four", overwrite=True, expected_version=edited.version).error is None


def test_a_version_of_a_file_that_is_gone_is_a_conflict(backend: FilesystemBackend, tmp_path: Path):
    for path in ("/a.txt", "/d/a.txt"):
        assert backend.write(path, "x", overwrite=True, expected_version="0").error == messages.conflict(path)
    assert list(tmp_path.iterdir()) == []


class MeddlingClock:
    """Tells the time, and changes a file while it is at it: after the backend has read it, before it is replaced."""

    def __init__(self, path: Path, times: int) -> None:
        self.path = path
        self.times = times

    def now(self) -> datetime:
        if self.times:
            self.times -= 1
            with self.path.open("a") as file:
                file.write("theirs\n")
        return datetime(2030, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("containment", ["openat2", "walk", "portable"])
def test_an_edit_starts_again_when_a_program_without_locks_interferes(tmp_path: Path, containment: str):
    """D13: both changes are kept."""
    file = tmp_path / "a.txt"
    file.write_text("ours: open\n")
    backend = FilesystemBackend(tmp_path, clock=MeddlingClock(file, times=4), containment=containment)
    result = backend.edit("/a.txt", "open", "done")
    assert result.error is None
    assert file.read_text() == "ours: done\n" + "theirs\n" * 4
    assert result.version == text.version_of(file.read_text())


def test_an_edit_that_never_comes_through_is_a_conflict(tmp_path: Path):
    """D13: after five tries the other program's changes stand, and the model hears of it."""
    file = tmp_path / "a.txt"
    file.write_text("ours: open\n")
    backend = FilesystemBackend(tmp_path, clock=MeddlingClock(file, times=99))
    assert backend.edit("/a.txt", "open", "done").error == messages.conflict("/a.txt")
    assert file.read_text() == "ours: open\n" + "theirs\n" * 5
    assert os.listdir(tmp_path) == ["a.txt"]


def test_an_overwrite_at_a_version_notices_a_change_at_the_last_moment(tmp_path: Path):
    """D13: between the check of the version and the rename, too."""
    file = tmp_path / "a.txt"
    file.write_text("old\n")
    backend = FilesystemBackend(tmp_path, clock=MeddlingClock(file, times=1))
    result = backend.write("/a.txt", "new", overwrite=True, expected_version=text.version_of("old\n"))
    assert result.error == messages.conflict("/a.txt")
    assert file.read_text() == "old\ntheirs\n"


@pytest.mark.parametrize("containment", ["openat2", "walk", "portable"])
def test_a_file_created_at_the_last_moment_is_not_replaced(tmp_path: Path, containment: str):
    """D13: creating never replaces, whoever was faster."""
    file = tmp_path / "a.txt"
    backend = FilesystemBackend(tmp_path, clock=MeddlingClock(file, times=1), containment=containment)
    assert backend.write("/a.txt", "ours").error == messages.exists("/a.txt")
    assert file.read_text() == "theirs\n"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_edit_refuses_no_match_and_two_matches(backend: FilesystemBackend, tmp_path: Path):
    backend.write("/a.txt", "x y x\r\n")
    assert "does not occur" in (backend.edit("/a.txt", "z", "q").error or "")
    assert "occurs 2 times" in (backend.edit("/a.txt", "x", "q").error or "")
    assert backend.edit("/a.txt", "x", "q", replace_all=True).occurrences == 2
    assert (tmp_path / "a.txt").read_bytes() == b"q y q\r\n"
    assert backend.edit("/none.txt", "x", "q").error == messages.no_file("/none.txt")


def test_edit_and_overwrite_keep_the_mode(backend: FilesystemBackend, tmp_path: Path):
    script = tmp_path / "run.sh"
    script.write_text("echo a\n")
    script.chmod(0o4750)
    backend.edit("/run.sh", "a", "b")
    assert script.stat().st_mode & 0o7777 == 0o750
    backend.write("/run.sh", "echo c\n", overwrite=True)
    assert script.stat().st_mode & 0o7777 == 0o750


def test_what_is_not_text_is_refused_as_argument(backend: FilesystemBackend, tmp_path: Path):
    """D12: whatever a model sends, the answer is a result."""
    backend.write("/a.txt", "x")
    for odd in (None, 7, b"x", ["x"], "\ud83d"):
        assert backend.write("/b.txt", odd).error
        assert backend.edit("/a.txt", odd, "y").error
        assert backend.edit("/a.txt", "x", odd).error
        assert backend.write(odd, "x").error
        assert isinstance(backend.read(odd), ErrorText)
        assert backend.ls_info(odd).error
        assert isinstance(backend.grep_raw("x", 7), ErrorText)
        assert backend.glob_info(odd).error
        assert isinstance(backend.grep_raw(odd), ErrorText)
    assert paths_of(backend.ls_info("/")) == ["/a.txt"]


def test_grep_finds_lines_with_columns(backend: FilesystemBackend):
    backend.write("/d/a.md", "nichts\näh needle\r\n")
    backend.write("/b.md", "needle")
    rows = backend.grep_raw("needle")
    assert isinstance(rows, Matches)
    assert rows.note is None
    assert [(r["path"], r["line_number"], r["line_content"], r["match_start"], r["match_end"]) for r in rows] == [
        ("/b.md", 1, "needle", 0, 6),
        ("/d/a.md", 2, "äh needle\r", 3, 9),
    ]


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("^b", [2, 4]),
        ("c$", [3]),
        ("^$", [5]),
        (r"\Ab", [2, 4]),
        (r"b\z", [1, 2]),
        ("(?i)B+", [1, 2, 4]),
        (r"(?-m)^b$", [2]),
        (r"a[^x]*c", []),
        (r"b\s+x", [4]),
        ("x*", [1, 2, 3, 4, 5, 6]),
        ("ä.", [6]),
        ("(?s)a.b", []),
    ],
)
def test_grep_looks_at_lines_one_by_one(backend: FilesystemBackend, pattern: str, lines: list[int]):
    backend.write("/a.txt", "ab\nb\nc\nb x\n\näö\n")
    assert [row["line_number"] for row in backend.grep_raw(pattern)] == lines


def test_grep_starts_at_a_folder_or_file_and_filters_by_glob(backend: FilesystemBackend):
    for path in ("/a.md", "/d/a.md", "/d/b.txt", "/d/e/c.md"):
        backend.write(path, "needle")
    assert paths_of(backend.grep_raw("needle", "/d")) == ["/d/a.md", "/d/b.txt", "/d/e/c.md"]
    assert paths_of(backend.grep_raw("needle", "/d", "*.md")) == ["/d/a.md", "/d/e/c.md"]
    assert paths_of(backend.grep_raw("needle", "/d", "e/*.md")) == ["/d/e/c.md"]
    assert paths_of(backend.grep_raw("needle", "/d/b.txt")) == ["/d/b.txt"]
    assert backend.grep_raw("needle", "/d/b.txt", "*.md") == []
    assert backend.grep_raw("needle", "/none") == messages.no_folder("/none")
    assert isinstance(backend.grep_raw("(", "/"), ErrorText)
    assert isinstance(backend.grep_raw("a", "/", "../*"), ErrorText)


def test_grep_passes_over_files_that_are_not_text(backend: FilesystemBackend, tmp_path: Path):
    (tmp_path / "a.bin").write_bytes(b"needle\n\xff")
    assert backend.grep_raw("needle") == []
    assert backend.grep_raw("needle", "/a.bin") == []


def test_grep_counts_lines_across_the_blocks_of_a_large_file(tmp_path: Path):
    backend = FilesystemBackend(tmp_path)
    line = "x" * 99 + "\n"
    (tmp_path / "big.txt").write_text(line * 100_000 + "needle\n" + line * 10)
    assert [row["line_number"] for row in backend.grep_raw("needle")] == [100_001]
    assert [row["line_number"] for row in backend.grep_raw("^n.*e$")] == [100_001]


def test_grep_shows_a_thousand_rows_and_says_so(backend: FilesystemBackend):
    backend.write("/a.txt", "needle\n" * 700)
    backend.write("/b.txt", "needle\n" * 700)
    rows = backend.grep_raw("needle")
    assert (len(rows), rows[-1]["path"], rows[-1]["line_number"]) == (1000, "/b.txt", 300)
    assert "1,000" in (rows.note or "")
    assert len(backend.grep_raw("needle", "/a.txt")) == 700


def test_glob_is_relative_to_its_folder_and_shows_files_only(backend: FilesystemBackend):
    for path in ("/a.md", "/d/a.md", "/d/b.txt", "/d/e/c.md", "/d.md/x.txt"):
        backend.write(path, "x")
    assert paths_of(backend.glob_info("**/*.md")) == ["/a.md", "/d/a.md", "/d/e/c.md"]
    assert paths_of(backend.glob_info("*.md")) == ["/a.md"]
    assert paths_of(backend.glob_info("*.md", "/d")) == ["/d/a.md"]
    assert paths_of(backend.glob_info("{e/c,a}.md", "/d")) == ["/d/a.md", "/d/e/c.md"]
    assert paths_of(backend.glob_info("**")) == ["/a.md", "/d.md/x.txt", "/d/a.md", "/d/b.txt", "/d/e/c.md"]
    assert backend.glob_info("*", "/none").error == messages.no_folder("/none")
    assert backend.glob_info("*", "/a.md").error == messages.no_folder("/a.md")
    assert backend.glob_info("../*").error


def test_glob_shows_ten_thousand_files_and_says_so(tmp_path: Path):
    for number in range(10_001):
        os.close(os.open(tmp_path / f"{number:05}", os.O_CREAT | os.O_WRONLY))
    rows = FilesystemBackend(tmp_path).glob_info("*")
    assert (len(rows), rows[-1]["path"]) == (10_000, "/09999")
    assert "10,000" in (rows.note or "")


def test_searches_stop_when_their_time_is_up(tmp_path: Path):
    ticks = iter(range(0, 10_000, 4))
    backend = FilesystemBackend(tmp_path, monotonic=lambda: float(next(ticks)))
    for number in range(20):
        (tmp_path / f"d{number:02}").mkdir()
        (tmp_path / f"d{number:02}/a.txt").write_text("needle")
    found = backend.grep_raw("needle")
    assert 0 < len(found) < 20
    assert "stopped after 10 s" in (found.note or "")
    listed = backend.glob_info("**")
    assert 0 < len(listed) < 20
    assert "stopped after 10 s" in (listed.note or "")


def test_deep_trees_need_few_descriptors(tmp_path: Path):
    import resource

    backend = FilesystemBackend(tmp_path)
    path = "/d" * 200
    assert backend.write(f"{path}/a.txt", "needle").error is None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    spare = os.dup(0)
    os.close(spare)
    resource.setrlimit(resource.RLIMIT_NOFILE, (spare + 12, hard))
    try:
        assert paths_of(backend.grep_raw("needle")) == [f"{path}/a.txt"]
        assert paths_of(backend.glob_info("**/*.txt")) == [f"{path}/a.txt"]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_descriptors_are_given_back(backend: FilesystemBackend, tmp_path: Path):
    backend.write("/d/a.txt", "x")
    (tmp_path / "link").symlink_to(tmp_path)

    def all_verbs() -> None:
        for path in ("/d/a.txt", "/d", "/none", "/d/a.txt/b", "/link/d/a.txt", "/../x"):
            backend.read(path), backend.ls_info(path), backend.grep_raw("x", path), backend.glob_info("**", path)
            backend.write(path, "x"), backend.edit(path, "x", "x!"), backend.edit(path, "x!", "x")

    all_verbs()
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    all_verbs()
    assert (len(os.listdir("/proc/self/fd")) if before else 0) == before


async def test_the_async_verbs_do_the_same(backend: FilesystemBackend):
    assert (await backend.awrite("/d/a.txt", "x")).path == "/d/a.txt"
    assert (await backend.aedit("/d/a.txt", "x", "y")).occurrences == 1
    assert await backend.aread("/d/a.txt") == "     1\ty"
    assert paths_of(await backend.als_info("/d")) == ["/d/a.txt"]
    assert paths_of(await backend.aglob_info("**")) == ["/d/a.txt"]
    assert paths_of(await backend.agrep_raw("y")) == ["/d/a.txt"]


def test_only_allowed_prefixes_are_open(tmp_path: Path):
    """D11: prefixes narrow a backend further."""
    backend = FilesystemBackend(tmp_path, allowed_prefixes=["/docs/"])
    assert backend.write("/docs/a.md", "x").path == "/docs/a.md"
    assert "outside the places" in (backend.write("/docs2/a.md", "x").error or "")
    assert "outside the places" in backend.read("/secret")
    assert backend.ls_info("/").error
    assert paths_of(backend.glob_info("**", "/docs")) == ["/docs/a.md"]
    with pytest.raises(ConfigurationError, match="allowed_prefixes"):
        FilesystemBackend(tmp_path, allowed_prefixes=["../up"])


def test_a_root_that_is_no_folder_is_refused_when_built(tmp_path: Path):
    (tmp_path / "file").write_text("")
    for root in (tmp_path / "none", tmp_path / "file"):
        with pytest.raises(ConfigurationError, match=r"root_dir .* is not a folder\. Create it first"):
            FilesystemBackend(root)


def test_the_current_folder_is_the_default_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    backend = FilesystemBackend()
    monkeypatch.chdir("/")
    backend.write("/a.txt", "x")
    assert (tmp_path / "a.txt").read_text() == "x"


def test_a_root_that_vanishes_is_a_result(backend: FilesystemBackend, tmp_path: Path):
    tmp_path.rename(tmp_path.with_name("elsewhere"))
    said = [backend.ls_info("/").error, backend.read("/a"), backend.grep_raw("x"), backend.write("/a", "x").error]
    assert all(said)
    assert not any(str(tmp_path) in str(line) for line in said)


def test_host_paths_are_shown_as_typed_when_not_virtual(tmp_path: Path):
    """D11: the other mode takes the host's own paths, below the root only."""
    backend = FilesystemBackend(tmp_path, virtual_mode=False)
    host = f"{tmp_path}/d/a.txt"
    assert backend.write(host, "needle").path == host
    assert paths_of(backend.ls_info(str(tmp_path))) == paths_of(backend.ls_info("/")) == [f"{tmp_path}/d/"]
    assert paths_of(backend.grep_raw("needle")) == paths_of(backend.glob_info("**/*.txt")) == [host]
    assert backend.edit("d/a.txt", "needle", "pin").path == host
    assert backend.read(host) == "     1\tpin"
    assert backend.write(f"{host}/x", "").error == messages.below_file(f"{host}/x", host)
    for outside in ("/etc/passwd", f"{tmp_path}-2/a", str(tmp_path.parent)):
        assert "outside the places" in backend.read(outside)
        assert backend.write(outside, "x", overwrite=True).error
    assert backend.read(f"{tmp_path}/../x").startswith("Error")
    assert backend.read(str(tmp_path)) == messages.is_folder(str(tmp_path))


def test_a_root_behind_a_link_answers_to_both_names(tmp_path: Path):
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "alias").symlink_to(real)
    backend = FilesystemBackend(tmp_path / "alias", virtual_mode=False)
    backend.write(f"{tmp_path}/alias/a.txt", "x")
    assert backend.read(f"{real}/a.txt") == "     1\tx"
    assert paths_of(backend.ls_info("/")) == [f"{tmp_path}/alias/a.txt"]
