"""A folder of evidence shared by processes, some of which are killed."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stepwell.research.audit.folder_vault import FolderVault
from stepwell.research.audit.trail import check_chain

CHILD = Path(__file__).parent / "vault_child.py"


def start(folder: Path, who: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, str(CHILD), str(folder), who, str(count)], stdout=subprocess.PIPE, text=True)


async def check(folder: Path, acknowledged: list[str]) -> None:
    vault = FolderVault(folder)
    entries = await vault.entries()
    assert check_chain(entries) == []
    assert set(acknowledged) <= {entry.key for entry in entries}
    for entry in entries:
        await vault.get(entry.data["body"])


async def test_two_processes_make_one_chain(tmp_path: Path):
    writers = [start(tmp_path, who, 40) for who in ("a", "b")]
    said = [writer.communicate(timeout=60)[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    await check(tmp_path, [key for keys in said for key in keys])
    assert len(await FolderVault(tmp_path).entries()) == 80


@pytest.mark.prove
async def test_what_was_acknowledged_outlives_kill_9(tmp_path: Path, effort):
    chance = random.Random(5)
    acknowledged: list[str] = []
    for round_ in range(effort.cases(6, 200)):
        writers = [start(tmp_path, f"{who}{round_}", 100_000) for who in ("a", "b")]
        for writer in writers:  # at work before it is killed
            assert writer.stdout is not None
            acknowledged.append(writer.stdout.readline().strip())
        await asyncio.sleep(chance.uniform(0, 0.1))
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
        for writer in writers:
            acknowledged += [line for line in writer.communicate(timeout=60)[0].splitlines(keepends=False) if line]
        await check(tmp_path, [key for key in acknowledged if key])
