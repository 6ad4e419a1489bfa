"""Another machine: somebody has the bundle and knows the author's public key, and has neither the server nor its data."""

from __future__ import annotations

import zipfile
from pathlib import Path

from tests.integration.served.process import environment
from tests.integration.served.warm import run_warm

from stepwell.research.audit.signing import SigningKey


def author_of(data: Path) -> str:
    """The public key of an installation, as `stepwell doctor` prints it there."""
    key = SigningKey(data).public_key()
    assert key is not None, "something was signed there"
    return key


def verify_elsewhere(bundle: bytes, key: str, folder: Path) -> tuple[int, str]:
    """`stepwell verify` in an empty data folder: exit code, and what it said."""
    home = folder / "elsewhere"
    home.mkdir(exist_ok=True)
    (home / "received.zip").write_bytes(bundle)
    ended = run_warm(
        ["verify", "received.zip", "--key", key], home, environment(STEPWELL_DATA_DIR=str(home / "data"), HOME=str(home))
    )
    return ended.returncode, ended.stdout + ended.stderr


def tampered(bundle: bytes, folder: Path, *, words: bytes, by: bytes) -> bytes:
    """The same bundle with other words in its report."""
    before, after = folder / "before.zip", folder / "after.zip"
    before.write_bytes(bundle)
    with zipfile.ZipFile(before) as old, zipfile.ZipFile(after, "w") as new:
        for member in old.infolist():
            content = old.read(member)
            if member.filename == "report.md":
                assert words in content
                content = content.replace(words, by)
            new.writestr(member.filename, content)
    return after.read_bytes()
