"""What `stepwell verify` says about who vouches for a bundle."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.research.audit.trails import fill

from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.audit.signing import SigningKey
from stepwell.research.commands import verify


@pytest.fixture
async def bundle(tmp_path: Path) -> Path:
    vault = MemoryVault()
    await fill(vault)
    await write_bundle(vault, tmp_path / "b.zip", SigningKey(tmp_path))
    return tmp_path / "b.zip"


def test_a_signature_is_named_and_said_to_prove_nothing_alone(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify.run(bundle) == 0
    told = capsys.readouterr().out
    assert f"Signed by {SigningKey(bundle.parent).public_key()}. Anybody can create a key" in told


def test_the_key_is_given_as_it_is_printed_or_as_a_file(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = SigningKey(bundle.parent).public_key()
    assert printed is not None
    (bundle.parent / "ada.key").write_text(printed + "\n")
    for given in (printed, str(bundle.parent / "ada.key")):
        assert verify.run(bundle, key=given) == 0
        assert f"Vouched for by {printed}, the key you named." in capsys.readouterr().out


def test_another_key_or_head_is_a_problem_and_rubbish_is_a_mistake(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify.run(bundle, key="ed25519:" + "A" * 43 + "=") == 1
    assert "somebody else has sealed this bundle" in capsys.readouterr().err
    assert verify.run(bundle, head="0" * 64) == 1
    for wrong in ({"key": "nowhere.key"}, {"key": "ed25519:x"}, {"head": "12"}, {"key": str(bundle.parent / "signing.key")}):
        assert verify.run(bundle, **wrong) == 2
        assert "PRIVATE" not in capsys.readouterr().err
