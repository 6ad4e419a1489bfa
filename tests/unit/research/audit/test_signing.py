"""Who vouches for a bundle: the key of an installation, its signature, and what is said where there is none."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from importlib.abc import MetaPathFinder
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from stepwell.errors import EvidenceError, MissingExtraError, SigningKeyError
from stepwell.research.audit.bundle import BundleReader, write_bundle
from stepwell.research.audit.container import write_members
from stepwell.research.audit.signing import KEY_FILE, SigningKey, read_public_key
from stepwell.research.audit.verify import UNCHECKED, UNSIGNED, verify_bundle

OTHER = "ed25519:" + "A" * 43 + "="


class NotInstalled(MetaPathFinder):
    """An installation without the package."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname == "cryptography":
            raise ModuleNotFoundError(f"No module named '{fullname}'", name=fullname)


async def signed(filled, folder: Path, key: SigningKey) -> Path:
    await write_bundle(await filled(2), folder / "b.zip", key)
    return folder / "b.zip"


async def test_a_signed_bundle_says_who_vouches_for_it(filled, tmp_path: Path):
    key = SigningKey(tmp_path / "data")
    bundle = await signed(filled, tmp_path, key)
    checked = verify_bundle(bundle)
    assert (checked.ok, checked.signed_by, checked.vouched) == (True, key.public_key(), None)
    assert UNSIGNED not in checked.lacks
    known = verify_bundle(bundle, key=key.public_key())
    assert (known.ok, known.vouched) == (True, True)


async def test_a_bundle_can_be_checked_by_hand(filled, tmp_path: Path):
    """With a zip reader, sha256 and Ed25519, and nothing of ours: as docs/explanation/evidence.md says it."""
    bundle = await signed(filled, tmp_path, SigningKey(tmp_path / "data"))
    with zipfile.ZipFile(bundle) as opened:
        members = {name: opened.read(name) for name in opened.namelist()}
    bodies = {name.partition("/")[2]: content for name, content in members.items() if "/" in name}
    assert {hashlib.sha256(content).hexdigest() for content in bodies.values()} == bodies.keys()
    entries = [json.loads(line) for line in members["trail.jsonl"].splitlines()]
    for entry in entries:
        hashed = json.dumps(
            {name: value for name, value in entry.items() if name != "hash"},
            sort_keys=True,
            separators=(",", ":"),
            ensure_ascii=False,
        )
        assert hashlib.sha256(hashed.encode()).hexdigest() == entry["hash"]
    quotes = [entry["data"] for entry in entries if entry["kind"] == "quote"]
    texts = {entry["data"]["source_id"]: entry["data"]["text_sha256"] for entry in entries if entry["kind"] == "source"}
    assert quotes
    for quote in quotes:
        text = members[f"texts/{texts[quote['source_id']]}"].decode()
        assert text[quote["start"] : quote["end"]] == quote["text"]
    signature = json.loads(members["signature.json"])
    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(signature["key"].removeprefix("ed25519:")))
    key.verify(base64.b64decode(signature["signature"]), b"stepwell bundle\n" + members["manifest.json"])


async def test_another_key_or_none_does_not_vouch(filled, tmp_path: Path):
    key = SigningKey(tmp_path / "data")
    checked = verify_bundle(await signed(filled, tmp_path, key), key=OTHER)
    assert (checked.ok, checked.vouched) == (False, False)
    assert "somebody else has sealed this bundle" in str(checked.problems[0])
    await write_bundle(await filled(2), tmp_path / "unsigned.zip")
    plain = verify_bundle(tmp_path / "unsigned.zip")
    assert plain.ok
    assert UNSIGNED in plain.lacks
    refused = verify_bundle(tmp_path / "unsigned.zip", key=OTHER)
    assert "is missing" in str(refused.problems[0])
    assert not verify_bundle(tmp_path / "unsigned.zip", strict=True).ok


async def test_the_key_is_made_once_for_its_owner_and_stands_in_no_bundle(filled, tmp_path: Path):
    key = SigningKey(tmp_path / "data")
    assert key.public_key() is None
    assert not key.file.exists(), "looking makes none"
    bundle = await signed(filled, tmp_path, key)
    private = key.file.read_bytes()
    assert stat.S_IMODE(os.stat(key.file).st_mode) == 0o600
    first = bundle.read_bytes()
    assert private.splitlines()[1] not in first
    assert (await signed(filled, tmp_path, SigningKey(tmp_path / "data"))).read_bytes() == first, "the same key, the same bytes"
    assert key.file.read_bytes() == private
    assert sorted(each.name for each in key.file.parent.iterdir()) == [KEY_FILE], "nothing is left aside"


def test_those_who_begin_at_once_use_one_key(tmp_path: Path):
    with ThreadPoolExecutor(8) as pool:
        made = {signature.key for signature in pool.map(lambda _: SigningKey(tmp_path).sign(b"x"), range(32))}
    assert made == {SigningKey(tmp_path).public_key()}


@pytest.mark.skipif(os.name != "posix", reason="needs a folder that is a file")
def test_a_key_that_cannot_be_made_or_read_is_a_sentence(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(SigningKeyError, match="STEPWELL_DATA_DIR"):
        SigningKey(tmp_path / "file").sign(b"x")
    (tmp_path / KEY_FILE).write_text("rubbish")
    with pytest.raises(SigningKeyError, match="not a readable private key"):
        SigningKey(tmp_path).sign(b"x")


def test_a_key_is_read_as_it_is_printed_and_from_files(tmp_path: Path):
    printed = SigningKey(tmp_path).sign(b"x").key
    (tmp_path / "key.txt").write_text(printed + "\n")
    raw = base64.b64decode(printed.removeprefix("ed25519:"))
    pem = Ed25519PublicKey.from_public_bytes(raw).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "key.pem").write_bytes(pem)
    for given in (printed, f" {printed}\n", pem.decode(), tmp_path / "key.txt", tmp_path / "key.pem"):
        assert read_public_key(given) == printed


@pytest.mark.parametrize("given", ["", "ed25519:", "ed25519:AAAA", OTHER + "=", OTHER[:-2] + "B=", "/etc/passwd", Path("none")])
def test_what_is_no_key_is_refused_and_a_text_is_no_path(given: str | Path):
    with pytest.raises(EvidenceError):
        read_public_key(given)


def test_a_private_key_is_not_taken_for_a_public_one(tmp_path: Path):
    SigningKey(tmp_path).sign(b"x")
    with pytest.raises(EvidenceError, match="private key") as refused:
        read_public_key(tmp_path / KEY_FILE)
    assert "BEGIN" not in str(refused.value)


async def test_a_signature_of_another_bundle_does_not_fit(filled, tmp_path: Path):
    key = SigningKey(tmp_path / "data")
    bundle = await signed(filled, tmp_path, key)
    await write_bundle(await filled(3), tmp_path / "other.zip", key)
    with BundleReader(bundle) as first, BundleReader(tmp_path / "other.zip") as second:
        members = {name: second.read(name) for name in second.members}
        members["signature.json"] = first.read("signature.json")
    with (tmp_path / "c.zip").open("wb") as file:
        write_members(file, sorted(members.items()))
    checked = verify_bundle(tmp_path / "c.zip")
    assert [problem.where for problem in checked.problems] == ["signature.json"]
    assert checked.signed_by is None


async def test_every_byte_of_a_signature_counts(filled, tmp_path: Path):
    bundle = await signed(filled, tmp_path, SigningKey(tmp_path / "data"))
    original = bundle.read_bytes()
    with BundleReader(bundle) as opened:
        member = opened.members["signature.json"]
    for at in range(member.offset, member.offset + member.size):
        bundle.write_bytes(original[:at] + bytes([original[at] ^ 1]) + original[at + 1 :])
        assert any(problem.where == "signature.json" for problem in verify_bundle(bundle).problems), at - member.offset


async def test_without_the_package_a_bundle_is_checked_and_what_was_not_is_said(
    filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    bundle = await signed(filled, tmp_path, SigningKey(tmp_path / "data"))
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [NotInstalled(), *sys.meta_path])
    checked = verify_bundle(bundle)
    assert (checked.ok, checked.signed_by) == (True, None)
    assert UNCHECKED in checked.lacks
    with pytest.raises(MissingExtraError, match="research"):
        verify_bundle(bundle, key=OTHER)


async def test_a_head_that_was_noted_is_compared(filled, tmp_path: Path):
    await write_bundle(await filled(2), tmp_path / "b.zip")
    head = verify_bundle(tmp_path / "b.zip").head
    in_groups = " ".join(head[at : at + 4] for at in range(0, 24, 4)) + " …"
    for noted in (head, head.upper(), head[:16], in_groups):
        assert verify_bundle(tmp_path / "b.zip", head=noted).ok
    other = verify_bundle(tmp_path / "b.zip", head="0" * 64)
    assert "written anew" in str(other.problems[0])
    for rubbish in ("", head[:15], "xyz" * 10, head + "0"):
        with pytest.raises(EvidenceError, match="not the head"):
            verify_bundle(tmp_path / "b.zip", head=rubbish)
