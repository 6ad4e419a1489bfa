"""Deleting and moving on disk: links are never followed, and what is cut off is finished."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from stepwell.backends.disk.write import reserved_name
from stepwell.backends.filesystem import FilesystemBackend


@pytest.fixture(params=["openat2", "walk", "portable"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> FilesystemBackend:
    (tmp_path / "root").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept.md").write_text("kept")
    return FilesystemBackend(tmp_path / "root", containment=request.param)


def test_a_folder_is_deleted_without_following_links(files: FilesystemBackend, tmp_path: Path):
    """D12: a link to a folder or a file outside is removed as a link."""
    files.write("/docs/a.md", "one")
    os.symlink(tmp_path / "outside", tmp_path / "root/docs/link")
    os.symlink(tmp_path / "outside/kept.md", tmp_path / "root/docs/kept.md")
    os.link(tmp_path / "outside/kept.md", tmp_path / "root/docs/second-name.md")
    assert files.delete("/docs").error is None
    assert os.listdir(tmp_path / "root") == []
    assert (tmp_path / "outside/kept.md").read_text() == "kept"


def test_links_are_neither_deleted_nor_moved_by_name(files: FilesystemBackend, tmp_path: Path):
    files.write("/a.md", "one")
    os.symlink(tmp_path / "outside", tmp_path / "root/link")
    for result in (
        files.delete("/link"),
        files.delete("/link/kept.md"),
        files.move("/link", "/b"),
        files.move("/link/kept.md", "/b.md"),
        files.move("/a.md", "/link/a.md"),
        files.move("/a.md", "/link", overwrite=True),
    ):
        assert "not permitted" in str(result.error)
    assert os.listdir(tmp_path / "outside") == ["kept.md"]
    assert sorted(os.listdir(tmp_path / "root")) == ["a.md", "link"]


def test_a_moved_folder_keeps_its_links_as_links(files: FilesystemBackend, tmp_path: Path):
    files.write("/docs/a.md", "one")
    os.symlink(tmp_path / "outside", tmp_path / "root/docs/link")
    assert files.move("/docs", "/old").count == 1
    assert os.path.islink(tmp_path / "root/old/link")


def test_an_empty_folder_is_deleted(files: FilesystemBackend, tmp_path: Path):
    (tmp_path / "root/empty/deep").mkdir(parents=True)
    assert files.delete("/empty").count == 0
    assert os.listdir(tmp_path / "root") == []


def test_the_folder_of_a_deleted_file_stays(files: FilesystemBackend, tmp_path: Path):
    """A program may need it; and deleting is only what was asked for."""
    files.write("/docs/a.md", "one")
    assert files.delete("/docs/a.md").error is None
    assert os.listdir(tmp_path / "root") == ["docs"]


def test_a_deletion_that_was_cut_off_is_finished_by_the_next(files: FilesystemBackend, tmp_path: Path):
    """After kill -9 in the middle: nobody sees what is left, and it does not stay."""
    left = tmp_path / "root" / reserved_name() / "deep"
    left.mkdir(parents=True)
    (left / "a.md").write_text("left")
    files.write("/docs/a.md", "one")
    assert [row["path"] for row in files.ls_info("/")] == ["/docs/"]
    assert files.delete("/docs").count == 1
    assert os.listdir(tmp_path / "root") == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may change everything")
def test_a_read_only_file_keeps_its_folder(files: FilesystemBackend, tmp_path: Path):
    files.write("/docs/a.md", "one")
    files.write("/docs/b.md", "two")
    (tmp_path / "root/docs/b.md").chmod(0o444)
    assert "not permitted" in str(files.delete("/docs").error)
    assert len(files.glob_info("**")) == 2


def test_a_very_deep_folder_is_deleted(tmp_path: Path):
    """Deeper than a path can be long, as a shell can make it."""
    here = os.open(tmp_path, os.O_RDONLY)
    name = "f" * 40
    for _ in range(120):
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    assert FilesystemBackend(tmp_path).delete(f"/{name}").error is None
    assert os.listdir(tmp_path) == []


def test_one_of_many_who_move_a_file_wins(files: FilesystemBackend):
    """D13: the others are told, and the text is there once."""
    files.write("/a.md", "one")
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda number: files.move("/a.md", f"/to/{number % 3}.md"), range(8)))
    assert len([result for result in results if result.error is None]) == 1
    assert len(files.glob_info("**/*")) == 1


def test_moves_in_both_directions_do_not_wait_for_each_other(files: FilesystemBackend):
    for number in range(20):
        files.write(f"/one/{number}.md", "x")
        files.write(f"/two/x{number}.md", "x")

    def swap(number: int) -> Any:
        return files.move(f"/one/{number}.md", f"/two/{number}.md"), files.move(f"/two/x{number}.md", f"/one/x{number}.md")

    with ThreadPoolExecutor(8) as pool:
        results = [result for pair in pool.map(swap, range(20)) for result in pair]
    assert [result.error for result in results] == [None] * 40
