"""`stepwell doctor` prints the public key that signs bundles here, and never makes one."""

from __future__ import annotations

from pathlib import Path

from stepwell.cli.operator.doctor import describe_evidence_key
from stepwell.research.audit.signing import KEY_FILE, SigningKey
from stepwell.settings import Settings


def test_doctor_tells_the_key_that_signs_bundles_and_never_makes_one(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    assert describe_evidence_key(settings).startswith("none yet")
    assert not (tmp_path / KEY_FILE).exists()
    printed = SigningKey(tmp_path).sign(b"x").key
    assert describe_evidence_key(settings) == printed
    (tmp_path / KEY_FILE).chmod(0o644)
    assert "chmod 600" in describe_evidence_key(settings)
    (tmp_path / KEY_FILE).write_text("rubbish")
    assert "not a readable private key" in describe_evidence_key(settings)
