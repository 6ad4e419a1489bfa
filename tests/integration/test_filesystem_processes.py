"""`FilesystemBackend` against other processes and a failing disk."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stepwell.backends import messages
from stepwell.backends.filesystem import FilesystemBackend

SLOTS = 40

EDITOR = """
import sys
from stepwell.backends.filesystem import FilesystemBackend

root, first, step, slots = sys.argv[1], *map(int, sys.argv[2:])
backend = FilesystemBackend(root)
print("ready", flush=True)
sys.stdin.readline()  # all start together
for slot in range(first, slots, step):
    result = backend.edit("/shared.txt", f"<{slot:03}: open>", f"<{slot:03}: done>")
    print(slot, "ok" if result.error is None else result.error)
"""

PERMISSIONS = """
import os, sys
from pathlib import Path
from stepwell.backends import messages
from stepwell.backends.filesystem import FilesystemBackend

root = Path(sys.argv[1])
backend = FilesystemBackend(root)
backend.write("/warm.txt", "x")
backend.grep_raw("x")
(root / "warm.txt").unlink()
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)

for path in ("/closed/a.txt", "/readonly.txt", "/unreadable.txt"):
    assert backend.write(path, "secret").error is None
(root / "readonly.txt").chmod(0o444)
(root / "unreadable.txt").chmod(0)
(root / "closed").chmod(0)
try:
    for path in ("/closed/a.txt", "/unreadable.txt"):
        assert backend.read(path) == messages.forbidden(path)
    refusal = messages.forbidden("/closed")
    assert backend.ls_info("/closed").error == refusal
    assert backend.grep_raw("x", "/closed") == refusal
    assert backend.glob_info("*", "/closed").error == refusal
    assert [row["path"] for row in backend.grep_raw("secret")] == ["/readonly.txt"]
    assert backend.write("/readonly.txt", "x", overwrite=True).error == messages.forbidden("/readonly.txt")
    assert backend.edit("/readonly.txt", "secret", "x").error == messages.forbidden("/readonly.txt")
    (root / "closed").chmod(0o555)
    assert backend.edit("/closed/a.txt", "secret", "x").error == messages.forbidden("/closed/a.txt")
    for path in ("/closed/b.txt", "/closed/d/b.txt"):
        assert backend.write(path, "x").error == messages.forbidden(path)
finally:
    (root / "closed").chmod(0o755)
print("all refused")
"""

FULL_DISK = """
import resource, sys
from stepwell.backends.filesystem import FilesystemBackend

resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
backend = FilesystemBackend(sys.argv[1])
print(backend.write("/new/big.txt", "x" * 2000).error)
print(backend.write("/old.txt", "x" * 2000, overwrite=True).error)
print(backend.edit("/old.txt", "old", "x" * 2000).error)
"""


def run(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate("\n", timeout=60)
    assert process.returncode == 0, err
    return out


def make_slots(folder: Path, count: int = SLOTS) -> Path:
    (folder / "shared.txt").write_text("".join(f"<{slot:03}: open>\n" for slot in range(count)))
    return folder


@pytest.fixture
def slots(tmp_path: Path) -> Path:
    return make_slots(tmp_path)


def kept(root: Path) -> set[int]:
    return {int(line[1:4]) for line in (root / "shared.txt").read_text().splitlines() if line.endswith("done>")}


@pytest.mark.parametrize("containment", ["openat2", "walk", "portable"])
def test_parallel_edits_from_threads_are_all_kept(slots: Path, containment: str):
    """D13: 40 edits at once by one backend, and by several."""
    shared = FilesystemBackend(slots, containment=containment)
    start = threading.Barrier(SLOTS)

    def edit(slot: int) -> str | None:
        # The portable form locks within one backend only.
        backend = shared if containment == "portable" or slot % 2 else FilesystemBackend(slots, containment=containment)
        start.wait()
        return backend.edit("/shared.txt", f"<{slot:03}: open>", f"<{slot:03}: done>").error

    with ThreadPoolExecutor(SLOTS) as pool:
        assert list(pool.map(edit, range(SLOTS))) == [None] * SLOTS
    assert kept(slots) == set(range(SLOTS))
    assert os.listdir(slots) == ["shared.txt"]


@pytest.mark.prove
def test_parallel_edits_from_processes_are_all_kept(tmp_path: Path, effort):
    """D13: four processes edit one file; what was reported as done is there, and nothing else lies about."""
    slots = make_slots(tmp_path, count := effort.cases(200, 800))
    editors = [run(EDITOR, str(slots), str(first), "4", str(count)) for first in range(4)]
    for editor in editors:
        assert editor.stdout is not None
        assert editor.stdout.readline() == "ready\n"
    for editor in editors:
        assert editor.stdin is not None
        editor.stdin.write("\n")
        editor.stdin.flush()
    said = "".join(finish(editor) for editor in editors).splitlines()
    done = {int(line.split()[0]) for line in said if line.endswith(" ok")}
    assert done == set(range(count)), said
    assert kept(slots) == done
    assert os.listdir(slots) == ["shared.txt"]


def test_of_many_creators_one_wins(tmp_path: Path):
    """D13: a file that was created is not replaced by a second creator."""
    start = threading.Barrier(16)

    def create(number: int) -> str | None:
        backend = FilesystemBackend(tmp_path)
        start.wait()
        return backend.write("/d/new.txt", str(number)).error

    with ThreadPoolExecutor(16) as pool:
        errors = list(pool.map(create, range(16)))
    winners = [number for number, error in enumerate(errors) if error is None]
    assert len(winners) == 1
    assert (tmp_path / "d/new.txt").read_text() == str(winners[0])
    assert {error for error in errors if error} == {messages.exists("/d/new.txt")}


def test_a_lock_that_is_never_released_is_a_result(tmp_path: Path):
    """D13: somebody else's lock on the folder makes a writer give up, not hang."""
    fcntl = pytest.importorskip("fcntl")
    ticks = iter(range(0, 1000, 6))
    backend = FilesystemBackend(tmp_path, monotonic=lambda: float(next(ticks)))
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        assert "others keep writing" in (backend.write("/a.txt", "x").error or "")
    finally:
        os.close(folder)
    assert backend.write("/a.txt", "x").error is None


def test_a_full_disk_leaves_the_old_file_whole(tmp_path: Path):
    """D13: a write that cannot finish changes nothing and leaves nothing behind."""
    pytest.importorskip("resource")
    (tmp_path / "old.txt").write_text("old text\n")
    said = finish(run(FULL_DISK, str(tmp_path))).splitlines()
    assert len(said) == 3
    assert all("could not be reached: file too large" in line and str(tmp_path) not in line for line in said)
    assert (tmp_path / "old.txt").read_text() == "old text\n"
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["old.txt"]


@pytest.mark.skipif(os.name == "nt", reason="rights are another matter there")
def test_what_the_system_forbids_is_a_result():
    """D12: permission errors are results; run as a user without rights."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        assert finish(run(PERMISSIONS, folder)) == "all refused\n"


@pytest.mark.prove
def test_a_killed_writer_leaves_the_old_file_and_its_lock_ends(tmp_path: Path, effort):
    """D13: kill -9 at any moment leaves a whole file, old or new, and the next writer is not locked out."""
    script = """
import sys
from stepwell.backends.filesystem import FilesystemBackend
backend = FilesystemBackend(sys.argv[1])
print("ready", flush=True)
while True:
    for letter in "ab":
        backend.write("/big.txt", letter * 300_000, overwrite=True)
"""
    (tmp_path / "big.txt").write_text("a" * 300_000)
    backend = FilesystemBackend(tmp_path)
    for _ in range(effort.cases(2, 15)):
        writer = run(script, str(tmp_path))
        assert writer.stdout is not None
        writer.stdout.readline()
        threading.Event().wait(0.02)
        writer.kill()
        writer.communicate()
        assert (tmp_path / "big.txt").read_text() in ("a" * 300_000, "b" * 300_000)
        assert backend.write("/big.txt", "a" * 300_000, overwrite=True).error is None
        assert [row["path"] for row in backend.ls_info("/")] == ["/big.txt"]
