"""A file from a stranger is looked at for as long as somebody waits and no longer, and no part of it is larger than what we read."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.research.audit.conftest import Filling

from stepwell.research.audit import limits
from stepwell.research.audit.bundle import BundleReader, manifest_bytes, write_bundle
from stepwell.research.audit.canonical import sha256
from stepwell.research.audit.container import write_members
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.audit.trail import GENESIS, NewEntry
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.commands import verify


async def test_a_check_that_takes_too_long_ends_with_a_sentence(filled: Filling, tmp_path: Path) -> None:
    await write_bundle(await filled(), tmp_path / "b.zip")
    checked = verify_bundle(tmp_path / "b.zip", limit_s=0)
    assert not checked.ok
    assert "took longer than 0 seconds, so it was not judged" in str(checked.problems[0])
    assert verify_bundle(tmp_path / "b.zip").ok


async def test_the_command_gives_up_after_the_seconds_it_is_given(
    filled: Filling, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await write_bundle(await filled(), tmp_path / "b.zip")
    assert verify.run(tmp_path / "b.zip", seconds=1e-9) == 1
    assert "so it was not judged" in capsys.readouterr().err
    assert verify.run(tmp_path / "b.zip", seconds=-1) == 2
    assert verify.run(tmp_path / "b.zip", seconds=600) == 0


@pytest.mark.parametrize(("name", "most"), [("report.md", limits.MAX_REPORT_BYTES), ("trail.jsonl", limits.MAX_TRAIL_BYTES)])
async def test_a_member_that_is_too_large_is_not_read(filled: Filling, tmp_path: Path, name: str, most: int) -> None:
    await write_bundle(await filled(), tmp_path / "b.zip")
    with BundleReader(tmp_path / "b.zip") as bundle:
        members = {each: bundle.read(each) for each in bundle.members}
    members[name] = b"a" * (most + 1)
    with (tmp_path / "b.zip").open("wb") as file:
        write_members(file, sorted(members.items()))
    (problem,) = verify_bundle(tmp_path / "b.zip").problems
    assert f"'{name}' has {most + 1:,} bytes; at most {most:,} are checked" in problem.fact


def _pack(file: Path, trail: bytes) -> None:
    hashes = {"trail.jsonl": (sha256(trail), len(trail))}
    with file.open("wb") as opened:
        write_members(opened, [("manifest.json", manifest_bytes(hashes, GENESIS)), ("trail.jsonl", trail)])


def test_a_trail_of_too_many_entries_is_not_read(tmp_path: Path) -> None:
    _pack(tmp_path / "b.zip", b"{}\n" * (limits.MAX_ENTRIES + 1))
    assert f"at most {limits.MAX_ENTRIES:,} are checked" in verify_bundle(tmp_path / "b.zip").problems[0].fact


async def test_too_many_claims_are_not_checked(tmp_path: Path) -> None:
    vault = MemoryVault()
    claim = {"text": "x", "evidence": [], "verdict": "unsupported", "reasons": ["it cites no evidence"], "checks": 3}
    for number in range(limits.MAX_CLAIMS + 1):
        await vault.append(NewEntry("claim", f"claim:c{number}", {**claim, "claim_id": f"c{number}"}))
    await write_bundle(vault, tmp_path / "b.zip")
    assert any(
        f"at most {limits.MAX_CLAIMS:,} are checked" in problem.fact for problem in verify_bundle(tmp_path / "b.zip").problems
    )
