"""The receipt is true: what left, and apart from it what a rule kept from leaving."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepwell.research.audit.bundle import FORMAT, BundleReader, manifest_bytes, write_bundle
from stepwell.research.audit.canonical import sha256
from stepwell.research.audit.container import write_members
from stepwell.research.audit.exchanges.receipt import egress_receipt
from stepwell.research.audit.exchanges.recording import Outgoing, RecordedReply, Recorder
from stepwell.research.audit.exchanges.refusals import record_refusal
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.audit.trail import head
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.http.evidence_schemas import EgressResponse

from .conftest import Filling

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
    assert EgressResponse.model_validate(receipt).model_dump() == receipt, "the API's document describes all of it"


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


async def test_a_receipt_that_tells_of_a_refused_request_as_sent_is_found(filled: Filling, tmp_path: Path):
    vault, path = await filled(), tmp_path / "b.zip"
    await write_bundle(vault, path)
    assert verify_bundle(path).ok
    with BundleReader(path) as bundle:
        members = {name: bundle.read(name) for name in bundle.members if name != "manifest.json"}
    members["receipt.json"] = members["receipt.json"].replace(b"town1.test", b"town9.test")
    hashes = {name: (sha256(content), len(content)) for name, content in members.items()}
    members["manifest.json"] = manifest_bytes(hashes, head(await vault.entries()))
    with path.open("wb") as file:
        write_members(file, sorted(members.items()))
    assert {problem.where for problem in verify_bundle(path).problems} == {"receipt.json"}


@pytest.mark.parametrize("form", ["stepwell-bundle-1", "stepwell-bundle-2", "stepwell-bundle-3", "stepwell-bundle-9", ""])
async def test_a_bundle_of_another_format_is_not_judged(filled: Filling, tmp_path: Path, form: str):
    vault, path = await filled(), tmp_path / "b.zip"
    await write_bundle(vault, path)
    with BundleReader(path) as bundle:
        members = {name: bundle.read(name) for name in bundle.members}
    members["manifest.json"] = members["manifest.json"].replace(FORMAT.encode(), form.encode())
    with path.open("wb") as file:
        write_members(file, sorted(members.items()))
    checked = verify_bundle(path)
    assert not checked.ok
    (problem,) = checked.problems
    assert problem.where == "manifest.json"
    assert f"this version reads '{FORMAT}' and nothing else, so the bundle was not judged" in problem.fact
