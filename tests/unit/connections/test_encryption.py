"""Keys at rest."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path

import pytest

from stepwell.connections.encryption import FILE, Keyring, SealedKeyError
from stepwell.errors import ConfigurationError
from stepwell.settings import Secret

KEY = Secret("sk-recognisable")
ROW = ("connection", "ada")


def new_key() -> str:
    return base64.b64encode(os.urandom(32)).decode()


def test_a_key_is_sealed_and_opened_again_only_for_its_own_row(tmp_path: Path):
    ring = Keyring(None, tmp_path / "data" / FILE)
    sealed = ring.seal(KEY, ROW)
    assert b"recognisable" not in sealed
    assert ring.seal(KEY, ROW) != sealed
    assert ring.open(sealed, ROW) == KEY
    for other in (("connection", "ben"), ("another", "ada"), ("connectionada", "")):
        with pytest.raises(SealedKeyError):
            ring.open(sealed, other)
    with pytest.raises(SealedKeyError):
        ring.open(sealed[:-1] + bytes([sealed[-1] ^ 1]), ROW)
    with pytest.raises(SealedKeyError):
        ring.open(b"", ROW)


def test_the_file_is_made_on_first_need_for_its_owner_alone(tmp_path: Path):
    file = tmp_path / "data" / FILE
    ring = Keyring(None, file)
    assert ring.why_not is None
    assert not file.exists()
    sealed = ring.seal(KEY, ROW)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o644)
    assert Keyring(None, file).open(sealed, ROW) == KEY
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    moved = Keyring(Secret(file.read_text()), None)  # the file's key can be given to the servers of a Postgres database
    assert moved.open(sealed, ROW) == KEY


def test_the_first_of_several_keys_seals_and_all_of_them_open():
    old, new = new_key(), new_key()
    sealed = Keyring(Secret(old), None).seal(KEY, ROW)
    both = Keyring(Secret(f"{new}, {old}"), None)
    assert both.open(sealed, ROW) == KEY
    assert not both.sealed_by_first(sealed)
    again = both.seal(KEY, ROW)
    assert both.sealed_by_first(again)
    assert Keyring(Secret(new), None).open(again, ROW) == KEY
    with pytest.raises(SealedKeyError, match="another STEPWELL_SECRETS_KEY"):
        Keyring(Secret(new), None).open(sealed, ROW)


def test_without_a_place_for_the_installations_key_nothing_is_sealed():
    ring = Keyring(None, None)
    assert ring.why_not is not None
    assert "STEPWELL_SECRETS_KEY" in ring.why_not
    with pytest.raises(ConfigurationError, match="STEPWELL_SECRETS_KEY"):
        ring.seal(KEY, ROW)


@pytest.mark.parametrize("text", ["short", "not base64 at all!", base64.b64encode(b"x" * 31).decode()])
def test_a_wrong_installation_key_is_refused_without_showing_it(text: str):
    with pytest.raises(ConfigurationError, match="openssl rand") as refused:
        Keyring(Secret(text), None)
    assert text not in str(refused.value)
