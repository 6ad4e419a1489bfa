"""A folder is swapped for a link to the outside, over and over, while the verbs go on: nothing may come from or land outside.

Resolving a path first and opening it afterwards loses this race within a second.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stepwell.backends.filesystem import FilesystemBackend

# Let a folder and a link (and a file and a link) change places in one step, as fast as the system can: the names are never free.
SWAPPER = """
import ctypes, os, sys
root, outside = sys.argv[1:]
os.symlink(outside, os.path.join(root, "link"))
os.symlink(os.path.join(outside, "file.txt"), os.path.join(root, "file-link.txt"))
folder, link, file, file_link = (
    os.fsencode(os.path.join(root, name)) for name in ("folder", "link", "file.txt", "file-link.txt")
)
exchange = ctypes.CDLL(None, use_errno=True).renameat2
here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
assert exchange(here, folder, here, link, swap) == 0, os.strerror(ctypes.get_errno())
print("ready", flush=True)
while exchange(here, folder, here, link, swap) == 0:
    assert exchange(here, file, here, file_link, swap) == 0
"""


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "file.txt").write_text("OUTSIDE\n")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "folder").mkdir(parents=True)
    (folder / "folder" / "file.txt").write_text("inside\n")
    (folder / "file.txt").write_text("inside\n")
    return folder


@pytest.fixture
def swapping(root: Path, outside: Path):
    process = subprocess.Popen([sys.executable, "-c", SWAPPER, str(root), str(outside)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    if process.stdout.readline() != b"ready\n":
        process.communicate()
        pytest.skip("this file system cannot exchange two names")
    yield process
    process.kill()
    process.communicate()


@pytest.mark.prove
@pytest.mark.skipif(sys.platform != "linux", reason="the strong means of containment are POSIX; proven on Linux")
@pytest.mark.parametrize("containment", ["openat2", "walk"])
def test_no_verb_escapes_while_a_folder_is_swapped_for_a_link(
    root: Path, outside: Path, swapping: subprocess.Popen[bytes], containment: str, effort, record_property
):
    """D12: 0 escapes."""
    backend = FilesystemBackend(root, containment=containment)
    end = time.monotonic() + effort.seconds(1, 15)
    escapes: list[str] = []
    rounds = reached = refused = 0
    while time.monotonic() < end:
        rounds += 1
        shown = [
            backend.read("/folder/file.txt"),
            backend.read("/file.txt"),
            str(backend.grep_raw("OUTSIDE|inside", "/file.txt")),
            str(backend.grep_raw("OUTSIDE|inside")),
            str(backend.grep_raw("OUTSIDE|inside", "/folder")),
            str(backend.ls_info("/folder")),
            str(backend.glob_info("**/*.txt")),
        ]
        escapes += [text for text in shown if "OUTSIDE" in text]
        written = [
            backend.write(f"/folder/new-{rounds % 7}.txt", "x", overwrite=True).error,
            backend.write(f"/folder/deep/{rounds % 7}/new.txt", "x", overwrite=True).error,
            backend.edit("/folder/file.txt", "inside\n", "inside\n\n").error,
            backend.edit("/folder/file.txt", "inside\n\n", "inside\n").error,
        ]
        reached += sum(error is None for error in written) + shown[0].endswith("inside")
        refused += sum("not permitted" in (error or "") for error in written) + ("not permitted" in shown[0])
    assert swapping.poll() is None, "the swapper died, so nothing was proven"
    record_property("rounds", rounds)
    record_property("reached", reached)
    record_property("refused", refused)
    assert escapes == []
    assert os.listdir(outside) == ["file.txt"]
    assert (outside / "file.txt").read_text() == "OUTSIDE\n"
    # The race was a race: both sides were met.
    assert reached > 0
    assert refused > 0
