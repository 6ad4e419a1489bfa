"""The vault in memory and the vault in a folder keep the rules of every vault."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.contract.suites.vault import VaultConformance

from stepwell.errors import EvidenceDamagedError, EvidenceError
from stepwell.research.audit.folder_vault import FolderVault
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.audit.trail import NewEntry


class TestMemoryVault(VaultConformance):
    @pytest.fixture
    def open_vault(self) -> Callable[[], MemoryVault]:
        vault = MemoryVault()
        return lambda: vault


class TestFolderVault(VaultConformance):
    @pytest.fixture
    def open_vault(self, tmp_path: Path) -> Callable[[], FolderVault]:
        return lambda: FolderVault(tmp_path / "evidence")


def note(key: str) -> NewEntry:
    return NewEntry("request", key, {"url": "https://example.test"})


async def written(folder: Path, count: int = 3) -> list[bytes]:
    vault = FolderVault(folder)
    for n in range(count):
        await vault.append(note(f"k{n}"))
    return (folder / "trail.jsonl").read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize("left", [1, 20, -1])
async def test_a_torn_last_line_is_cut(tmp_path: Path, left: int):
    lines = await written(tmp_path)
    (tmp_path / "trail.jsonl").write_bytes(b"".join(lines[:2]) + lines[2][:left])
    vault = FolderVault(tmp_path)
    assert [entry.key for entry in await vault.entries()] == ["k0", "k1"]
    assert (await vault.append(note("next"))).seq == 3
    assert [entry.key for entry in await FolderVault(tmp_path).entries()] == ["k0", "k1", "next"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: [lines[0], lines[1].replace(b"example", b"exbmple"), lines[2]],
        lambda lines: [lines[0], lines[2]],
        lambda lines: [lines[1], lines[0], lines[2]],
        lambda lines: [*lines, lines[2]],
        lambda lines: [lines[0], b"\n", *lines[1:]],
        lambda lines: [b"{}\n", *lines],
        lambda lines: [*lines[:2], lines[2][:-2] + b"\n"],
    ],
)
async def test_a_changed_trail_is_reported_and_not_mended(tmp_path: Path, damage):
    trail = tmp_path / "trail.jsonl"
    damaged = b"".join(damage(await written(tmp_path)))
    trail.write_bytes(damaged)
    with pytest.raises(EvidenceDamagedError, match="Line"):
        await FolderVault(tmp_path).append(note("next"))
    assert trail.read_bytes() == damaged


async def test_entries_removed_under_an_open_vault_are_noticed(tmp_path: Path):
    lines = await written(tmp_path)
    vault = FolderVault(tmp_path)
    await vault.entries()
    (tmp_path / "trail.jsonl").write_bytes(lines[0])
    with pytest.raises(EvidenceDamagedError, match="shorter"):
        await vault.append(note("next"))
    (tmp_path / "trail.jsonl").unlink()
    with pytest.raises(EvidenceDamagedError, match="gone"):
        await vault.entries()


async def test_changed_bytes_are_not_given_out(tmp_path: Path):
    vault = FolderVault(tmp_path)
    name = await vault.put(b"as it was")
    (tmp_path / "blobs" / name[:2] / name).write_bytes(b"as it is now")
    with pytest.raises(EvidenceDamagedError, match=name):
        await vault.get(name)


async def test_what_a_dead_writer_left_aside_does_not_matter(tmp_path: Path):
    vault = FolderVault(tmp_path)
    await vault.put(b"first")
    (tmp_path / "blobs" / "unfinished").write_bytes(b"half a p")
    assert await vault.get(await vault.put(b"a page")) == b"a page"
    assert not (tmp_path / "blobs" / "unfinished").exists()


async def test_a_folder_that_cannot_be_made_is_named_without_its_place(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EvidenceError) as refused:
        await FolderVault(tmp_path / "file" / "evidence").put(b"x")
    assert "evidence" in str(refused.value)
    assert str(tmp_path) not in str(refused.value)
