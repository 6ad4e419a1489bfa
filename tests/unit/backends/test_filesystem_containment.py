"""What lies in the tree but may not be used: links, second names, special files, odd names, and what the system forbids."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path

import pytest

from stepwell.backends import messages
from stepwell.backends.filesystem import FilesystemBackend
from stepwell.backends.protocol import ErrorText


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("secret\n")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "inside").mkdir(parents=True)
    (folder / "inside" / "plain.txt").write_text("secret too\n")
    return folder


@pytest.fixture(params=["openat2", "walk", "portable"])
def backend(request: pytest.FixtureRequest, root: Path) -> FilesystemBackend:
    return FilesystemBackend(root, containment=request.param)


def assert_refused(backend: FilesystemBackend, path: str, *, hides: str = "secret\n") -> None:
    """Every verb refuses the path with a result."""
    refusal = messages.forbidden(path)
    assert backend.read(path) == refusal
    assert backend.write(path, "x", overwrite=True).error == refusal
    assert backend.edit(path, "secret", "x").error == refusal
    assert backend.ls_info(path).error == refusal
    assert backend.grep_raw("secret", path) == refusal
    assert backend.glob_info("**", path).error == refusal


def assert_unseen(backend: FilesystemBackend) -> None:
    """Listings and searches show only what is plainly inside."""
    assert [row["path"] for row in backend.ls_info("/")] == ["/inside/"]
    assert [row["path"] for row in backend.glob_info("**")] == ["/inside/plain.txt"]
    assert [row["path"] for row in backend.grep_raw("secret")] == ["/inside/plain.txt"]


def test_a_link_to_a_file_is_refused(backend: FilesystemBackend, root: Path, outside: Path):
    """D12: symlinks are refused with a result."""
    (root / "link").symlink_to(outside / "secret.txt")
    assert_refused(backend, "/link")
    assert_unseen(backend)
    assert (outside / "secret.txt").read_text() == "secret\n"


def test_a_link_to_a_folder_is_refused_anywhere_on_the_way(backend: FilesystemBackend, root: Path, outside: Path):
    """D12: also in the middle of a path, also when a new file would be made behind it."""
    (root / "link").symlink_to(outside)
    assert_refused(backend, "/link")
    assert_refused(backend, "/link/secret.txt")
    assert backend.write("/link/new.txt", "x").error == messages.forbidden("/link/new.txt")
    assert backend.write("/link/new/deep.txt", "x").error == messages.forbidden("/link/new/deep.txt")
    assert_unseen(backend)
    assert [path.name for path in outside.iterdir()] == ["secret.txt"]


def test_links_that_stay_inside_are_refused_too(backend: FilesystemBackend, root: Path):
    """D12: where a link points is not asked, because that can change."""
    (root / "link").symlink_to("inside")
    (root / "inside" / "self").symlink_to("plain.txt")
    (root / "broken").symlink_to("nowhere")
    assert_refused(backend, "/link/plain.txt")
    assert_refused(backend, "/inside/self")
    assert_refused(backend, "/broken")
    assert_unseen(backend)
    assert not (root / "nowhere").exists()


def test_magic_links_are_refused(backend: FilesystemBackend, root: Path):
    """D12: the kernel's own links out of a tree are links as well."""
    (root / "proc").symlink_to("/proc/self/root")
    assert_refused(backend, "/proc/etc")
    assert_unseen(backend)


def test_a_second_name_of_a_file_is_refused(backend: FilesystemBackend, root: Path, outside: Path):
    """D12: a hard link reads and writes a file outside without leaving the tree."""
    os.link(outside / "secret.txt", root / "hard.txt")
    assert_refused(backend, "/hard.txt")
    assert_unseen(backend)
    assert (outside / "secret.txt").read_text() == "secret\n"


def test_special_files_are_refused_and_never_waited_for(
    backend: FilesystemBackend, root: Path, monkeypatch: pytest.MonkeyPatch
):
    """D12: a pipe without a writer would hang a plain open."""
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for path in ("/pipe", "/socket"):
            assert_refused(backend, path)
            assert backend.write(f"{path}/x", "x").error == messages.forbidden(f"{path}/x")
        assert_unseen(backend)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device")
def test_devices_are_refused(backend: FilesystemBackend, root: Path):
    """D12: endless files too."""
    try:
        os.mknod(root / "zero", 0o20666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("this sandbox forbids devices")
    assert_refused(backend, "/zero")
    assert_unseen(backend)


@pytest.mark.parametrize(
    "path",
    [
        "/../outside/secret.txt",
        "../outside/secret.txt",
        "/inside/../../outside/secret.txt",
        "/inside/..",
        "/%2e%2e/outside/secret.txt",
        "/..%2foutside/secret.txt",
        "/\uff0e\uff0e/outside/secret.txt",
        "/a\x00b",
        "C:\\secret.txt",
        "C:/secret.txt",
        "\\\\host\\share",
        "~/secret.txt",
        "file:///etc/passwd",
        "/\u202etxt.exe",
        "/\ud800",
        "/" + "x" * 300,
        "/" + "x/" * 600,
    ],
)
def test_nasty_paths_are_results(backend: FilesystemBackend, root: Path, tmp_path: Path, path: str):
    """D12: traversal, NUL, Windows drives: a result, never an exception or an escape."""
    answers = [
        backend.read(path),
        backend.write(path, "x", overwrite=True).error,
        backend.edit(path, "secret", "x").error,
        backend.ls_info(path).error,
        backend.glob_info("**", path).error,
        backend.grep_raw("secret", path),
    ]
    assert all(str(answer).startswith("Error: ") and str(tmp_path) not in str(answer) for answer in answers)
    assert sorted(child.name for child in root.iterdir()) == ["inside"]


def test_names_that_cannot_be_typed_are_not_shown(backend: FilesystemBackend, root: Path):
    for name in (b"bad\xff.txt", b"new\nline.txt", b"back\\slash.txt", b"%2e%2e"):
        os.close(os.open(os.path.join(os.fsencode(root), name), os.O_CREAT | os.O_WRONLY))
    (root / "with space.txt").write_text("secret")
    (root / ".hidden").write_text("secret")
    assert [row["path"] for row in backend.ls_info("/")] == ["/.hidden", "/inside/", "/with space.txt"]
    assert [row["path"] for row in backend.grep_raw("secret")] == ["/.hidden", "/inside/plain.txt", "/with space.txt"]


def test_unfinished_writes_are_neither_shown_nor_usable(backend: FilesystemBackend, root: Path):
    name = f".stepwell-{secrets.token_hex(8)}.tmp"
    (root / name).write_text("secret")
    assert_refused(backend, f"/{name}")
    assert_unseen(backend)
    assert backend.write("/.stepwell-notes", "x").path == "/.stepwell-notes"


def test_no_answer_names_the_host(backend: FilesystemBackend, root: Path, tmp_path: Path):
    """D12: whatever goes wrong, the root's own path stays unknown."""
    (root / "link").symlink_to(tmp_path)
    for path in ("/link/x", "/none/x", "/inside", "/inside/plain.txt/x", "/" + "é" * 127 + "x"):
        answers = [
            backend.read(path),
            backend.write(path, "x").error,
            backend.edit(path, "a", "b").error,
            backend.ls_info(path).error,
            backend.grep_raw("zzz", path),
        ]
        assert not any(str(tmp_path) in str(answer) for answer in answers)
    assert isinstance(backend.read("/link/x"), ErrorText)
