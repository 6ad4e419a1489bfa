"""An installation signs with one key, however many servers it has."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.errors import ConfigurationError, SigningKeyError
from stepwell.research.audit.signing import Signature, SigningKey
from stepwell.research.installation_key import InstallationKey, kept_key


def key_of(persistence: PostgresPersistence, folder: Path, chosen: Path | None = None) -> InstallationKey:
    return InstallationKey(lambda: persistence.database, SigningKey(folder, chosen))


async def test_servers_with_different_folders_sign_with_one_key(postgres_url: str, tmp_path: Path):
    async with PostgresPersistence(postgres_url) as one, PostgresPersistence(postgres_url) as other:
        keys = [key_of(one, tmp_path / "one"), key_of(other, tmp_path / "other")]
        for key in keys:
            await key.check()
        signed = await asyncio.gather(*(asyncio.to_thread(key.sign, b"x") for key in keys * 4))
        assert len({signature.key for signature in signed}) == 1
        assert all(signature.fits(b"x") for signature in signed)
        assert kept_key(postgres_url) == signed[0].key
        assert not (tmp_path / "one").exists(), "nothing is left on a machine that may go"


async def test_a_key_from_before_stays_the_installations(postgres_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    before = SigningKey(tmp_path / "one").sign(b"x").key
    SigningKey(tmp_path / "other").sign(b"x")
    async with PostgresPersistence(postgres_url) as server:
        assert (await asyncio.to_thread(key_of(server, tmp_path / "one").sign, b"x")).key == before
        other = key_of(server, tmp_path / "other")
        await other.check()
        assert (await asyncio.to_thread(other.sign, b"x")).key == before
    assert "is not used: bundles are signed with the installation's key" in caplog.text


async def test_of_two_that_begin_at_once_one_decides(postgres_url: str, tmp_path: Path):
    """One has a file, the other lets the database keep its key. Both looked before either has signed."""
    SigningKey(tmp_path / "chosen").sign(b"x")
    async with PostgresPersistence(postgres_url) as one, PostgresPersistence(postgres_url) as other:
        keys = [key_of(one, tmp_path / "one"), key_of(other, tmp_path, tmp_path / "chosen" / "signing.key")]
        told = await asyncio.gather(*(asyncio.to_thread(key.sign, b"x") for key in keys * 3), return_exceptions=True)
        signed = {signature.key for signature in told if isinstance(signature, Signature)}
        assert signed == {kept_key(postgres_url)}
        assert all(isinstance(each, Signature | SigningKeyError) for each in told)


async def test_a_server_that_would_sign_with_another_key_does_not_start(postgres_url: str, tmp_path: Path):
    files = [tmp_path / name / "signing.key" for name in ("one", "other")]
    for file in files:
        SigningKey(file.parent).sign(b"x")
    async with PostgresPersistence(postgres_url) as server:
        await key_of(server, tmp_path, files[0]).check()
        signed = await asyncio.to_thread(key_of(server, tmp_path, files[0]).sign, b"x")
        assert signed.key == SigningKey(files[0].parent).public_key() == kept_key(postgres_url)
        for key in (key_of(server, tmp_path, files[1]), key_of(server, tmp_path), key_of(server, tmp_path, tmp_path / "none")):
            with pytest.raises(ConfigurationError, match="sign"):
                await key.check()
    assert not (tmp_path / "none").exists()
