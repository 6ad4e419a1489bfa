"""What Stepwell stores is for its owner alone, whatever the umask is and whatever an earlier version left behind."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepwell.backends import FilesystemBackend
from stepwell.clock import SystemClock
from stepwell.database.sqlite.database import Database
from stepwell.private_files import close_to_others, make_private_folder, open_private, others_may_read
from stepwell.research.audit.folder_vault import FolderVault
from stepwell.workspace.places import InFolder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=["umask 000", "umask 022", "umask 077"], autouse=True)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes_below(folder: Path) -> dict[str, int]:
    return {str(each.relative_to(folder)): mode_of(each) for each in sorted(folder.rglob("*"))}


def is_private(folder: Path) -> bool:
    return all(mode in (0o700, 0o600) for mode in modes_below(folder).values())


def test_every_folder_that_is_made_on_the_way_is_private(tmp_path: Path):
    make_private_folder(tmp_path / "a" / "b" / "c")
    make_private_folder(tmp_path / "a" / "b" / "c")
    assert set(modes_below(tmp_path).values()) == {0o700}


def test_a_new_file_is_private_and_is_never_an_old_one(tmp_path: Path):
    with open_private(tmp_path / "a") as file:
        file.write(b"x")
    assert (mode_of(tmp_path / "a"), (tmp_path / "a").read_bytes()) == (0o600, b"x")
    with pytest.raises(FileExistsError):
        open_private(tmp_path / "a")


def test_a_file_that_others_may_read_is_told_from_a_private_one(tmp_path: Path):
    file = tmp_path / "a"
    file.write_text("x")
    found = [file.chmod(mode) or others_may_read(file) for mode in (0o600, 0o640, 0o604)]
    assert found == [False, True, True]


def test_what_exists_is_closed_to_others_and_what_everybody_shares_is_left_alone(tmp_path: Path):
    for name, mode in (("ours", 0o755), ("tight", 0o500), ("shared", 0o1777)):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(mode)
    (tmp_path / "file").write_text("x")
    (tmp_path / "file").chmod(0o664)
    (tmp_path / "link").symlink_to(tmp_path / "shared")
    for name in ("ours", "tight", "shared", "file", "link", "missing"):
        close_to_others(tmp_path / name)
    assert [mode_of(tmp_path / name) for name in ("ours", "tight", "shared", "file")] == [0o700, 0o500, 0o1777, 0o600]


def test_a_database_is_private_also_one_that_was_not(tmp_path: Path):
    file = tmp_path / "deep" / "stepwell.db"
    Database(file).close()
    file.chmod(0o644)
    opened = Database(file)
    try:
        assert is_private(tmp_path)
    finally:
        opened.close()


def test_files_of_a_workspace_are_private(tmp_path: Path):
    place = InFolder(tmp_path / "workspace")
    place.at("/company/workspace/").write("/notes/a.md", "text")
    place.at("/company/workspace/").edit("/notes/a.md", "text", "other")
    assert "workspace/company/workspace/notes/a.md" in modes_below(tmp_path)
    assert is_private(tmp_path)


async def test_files_that_are_uploaded_to_a_workspace_are_private(tmp_path: Path):
    source = tmp_path / "source"
    source.write_bytes(b"x")
    source.chmod(0o600)
    from stepwell.backends.whole_files import Base

    await InFolder(tmp_path / "workspace").whole_files().put("/company/workspace/", "/deep/a.bin", source, Base())
    assert is_private(tmp_path)


async def test_evidence_is_private(tmp_path: Path):
    vault = FolderVault(tmp_path / "research" / "1", SystemClock())
    await vault.put(b"a page")
    assert is_private(tmp_path)


@pytest.mark.parametrize("containment", ["auto", "walk", "portable"])
def test_a_new_file_is_as_open_as_its_folder_and_the_umask_allow(tmp_path: Path, containment):
    mask = os.umask(0o022)
    os.umask(mask)
    for mode in (0o755, 0o750, 0o700):
        root = tmp_path / oct(mode)
        root.mkdir()
        root.chmod(mode)
        FilesystemBackend(root, containment=containment).write("/sub/a.txt", "x")
        assert mode_of(root / "sub") == mode & ~mask
        assert mode_of(root / "sub" / "a.txt") == mode & 0o666 & ~mask
