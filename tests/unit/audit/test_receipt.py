"""The receipt is true: what left, and apart from it what a rule kept from leaving. Old bundles are checked as what they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stepwell.audit.bundle import FIRST_FORMAT, FORMAT, SECOND_FORMAT, BundleReader, manifest_bytes, write_bundle
from stepwell.audit.canonical import sha256
from stepwell.audit.container import write_members
from stepwell.audit.exchanges.receipt import egress_receipt, first_receipt_bytes
from stepwell.audit.exchanges.recording import Outgoing, RecordedReply, Recorder
from stepwell.audit.exchanges.refusals import record_refusal
from stepwell.audit.memory_vault import MemoryVault
from stepwell.audit.trail import head
from stepwell.audit.verify import verify_bundle

from .conftest import Filling

GOLDEN = Path(__file__).parents[2] / "fixtures" / "golden" / "research-bundle-1.zip"
INSIDE = Outgoing("k1", "web", "GET", "https://inside.test/secret", step="q1:a", why="page")
REFUSED = {"error": {"refused": True, "message": "'inside.test' leads inside.", "reason": "address", "status": None}}
FAILED = {"error": {"refused": False, "message": "It took too long.", "reason": "time", "status": None}}


async def _send(vault: MemoryVault, outgoing: Outgoing, data: dict[str, object]) -> None:
    async def send() -> RecordedReply:
        return RecordedReply(data)

    await Recorder(vault).once(outgoing, send)


async def test_a_request_that_the_transport_refused_did_not_leave():
    vault = MemoryVault()
    await _send(vault, INSIDE, REFUSED)
    await _send(vault, Outgoing("k2", "web", "GET", "https://a.test/", step="q1:a", why="page"), {"status": 200})
    receipt = egress_receipt(await vault.entries())
    assert [request["url"] for request in receipt["requests"]] == ["https://a.test/"]
    (refused,) = receipt["refused"]
    assert (refused["url"], refused["rule"], refused["reason"]) == (INSIDE.url, "address", "'inside.test' leads inside.")
    assert receipt["totals"] == {"requests": 1, "resends": 0, "bytes": 15, "hosts": {"a.test": 1}, "refused": 1}


async def test_a_request_that_failed_on_its_way_left_and_has_no_answer():
    vault = MemoryVault()
    await _send(vault, INSIDE, FAILED)
    receipt = egress_receipt(await vault.entries())
    assert [(each["url"], each["answered"]) for each in receipt["requests"]] == [(INSIDE.url, False)]
    assert receipt["refused"] == []


async def test_of_a_request_that_was_lost_and_then_refused_only_the_second_did_not_leave():
    vault = MemoryVault()

    async def die() -> RecordedReply:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await Recorder(vault).once(INSIDE, die)
    await _send(vault, INSIDE, REFUSED)
    receipt = egress_receipt(await vault.entries())
    assert [each["resend"] for each in receipt["requests"]] == [0]
    assert len(receipt["refused"]) == 1


async def test_what_a_rule_stopped_before_it_was_a_request_is_listed_once_with_its_rule():
    vault = MemoryVault()
    await _send(vault, INSIDE, REFUSED)
    for url, rule in (
        (INSIDE.url, "address"),
        ("https://b.test/?key=hush", "robots"),
        ("http://[bad", "url"),
        (None, "outgoing"),
    ):
        await record_refusal(vault, f"r:{rule}", url=url, step="q1:a", rule=rule, reason="No.")
    refused = egress_receipt(await vault.entries())["refused"]
    assert [(each["url"], each["rule"]) for each in refused] == [
        (INSIDE.url, "address"),
        ("https://b.test/?key=REDACTED", "robots"),
        (None, "url"),
        (None, "outgoing"),
    ]


async def test_the_receipt_names_the_model_and_where_it_is():
    vault = MemoryVault()
    asked = Outgoing("m", "model", "ASK", "model:writer", b"prompt", host="api.test", model="maker:large")
    await _send(vault, asked, {"model": "maker:large"})
    (request,) = egress_receipt(await vault.entries())["requests"]
    assert (request["host"], request["model"], request["url"]) == ("api.test", "maker:large", "model:writer")


def test_a_bundle_of_the_first_format_still_verifies_and_its_receipt_can_be_made_true():
    checked = verify_bundle(GOLDEN)
    assert checked.ok, checked.problems
    with BundleReader(GOLDEN) as bundle:
        assert json.loads(bundle.read("manifest.json"))["format"] == FIRST_FORMAT
        entries, told = bundle.entries(), json.loads(bundle.read("receipt.json"))
    assert "inside.example" in {request["host"] for request in told["requests"]}
    receipt = egress_receipt(entries)
    assert "inside.example" not in receipt["totals"]["hosts"]
    assert [each["host"] for each in receipt["refused"]] == ["inside.example"]


@pytest.mark.parametrize("form", [FORMAT, FIRST_FORMAT])
async def test_a_receipt_must_be_the_one_of_its_format(filled: Filling, tmp_path: Path, form: str):
    """The untrue receipt of the first format does not pass in a new bundle, nor the other way round."""
    vault = await filled()
    await _send(vault, INSIDE, REFUSED)
    path = tmp_path / "b.zip"
    await write_bundle(vault, path)
    assert verify_bundle(path).ok
    with BundleReader(path) as bundle:
        members = {name: bundle.read(name) for name in bundle.members if name != "manifest.json"}
    entries = await vault.entries()
    if form == FORMAT:
        members["receipt.json"] = first_receipt_bytes(entries)
    else:
        del members["story.json"]
    hashes = {name: (sha256(content), len(content)) for name, content in members.items()}
    members["manifest.json"] = manifest_bytes(hashes, head(entries), form)
    with path.open("wb") as file:
        write_members(file, sorted(members.items()))
    problems = verify_bundle(path).problems
    assert {problem.where for problem in problems} == {"receipt.json"}, problems


async def test_a_bundle_of_the_second_format_verifies(filled: Filling, tmp_path: Path):
    """It has no story; with one, it is not what it says."""
    vault, path = await filled(), tmp_path / "b.zip"
    await write_bundle(vault, path)
    with BundleReader(path) as bundle:
        members = {name: bundle.read(name) for name in bundle.members if name != "manifest.json"}
    for has_story in (True, False):
        if not has_story:
            del members["story.json"]
        hashes = {name: (sha256(content), len(content)) for name, content in members.items()}
        packed = {**members, "manifest.json": manifest_bytes(hashes, head(await vault.entries()), SECOND_FORMAT)}
        with path.open("wb") as file:
            write_members(file, sorted(packed.items()))
        assert [problem.where for problem in verify_bundle(path).problems] == (["story.json"] if has_story else [])


async def test_a_bundle_of_an_unknown_format_is_named(filled: Filling, tmp_path: Path):
    vault, path = await filled(), tmp_path / "b.zip"
    await write_bundle(vault, path)
    with BundleReader(path) as bundle:
        members = {name: bundle.read(name) for name in bundle.members}
    members["manifest.json"] = members["manifest.json"].replace(FORMAT.encode(), b"stepwell-bundle-9")
    with path.open("wb") as file:
        write_members(file, sorted(members.items()))
    told = [problem.fact for problem in verify_bundle(path).problems]
    assert "names the format 'stepwell-bundle-9', which this version does not know" in told
