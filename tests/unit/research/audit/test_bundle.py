"""A bundle is the same bytes for the same vault, and one byte changed anywhere is found."""

from __future__ import annotations

import io
import os
import random
import stat
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.research.audit.trails import QUESTION, RecordedJudge, ask, call_model, fetch, tell_report

from stepwell.errors import BundleError, EvidenceError, EvidenceMissingError
from stepwell.research.audit.bundle import BundleReader, manifest_bytes, write_bundle
from stepwell.research.audit.canonical import sha256
from stepwell.research.audit.checks import CHECKS_VERSION
from stepwell.research.audit.container import write_members
from stepwell.research.audit.evidence import Claim, Quote, Source
from stepwell.research.audit.exchanges.recording import Outgoing
from stepwell.research.audit.folder_vault import FolderVault
from stepwell.research.audit.ledger import record_claim, record_quote, record_source
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.audit.signing import SigningKey
from stepwell.research.audit.trail import NewEntry
from stepwell.research.audit.verification import Verification
from stepwell.research.audit.verify import NO_REPORT, verify_bundle


async def test_a_bundle_verifies(filled, tmp_path: Path):
    await write_bundle(await filled(), tmp_path / "b.zip")
    result = verify_bundle(tmp_path / "b.zip")
    assert result == Verification(True, (), result.head, 3, 3, 4)
    assert len(result.head) == 64


async def test_any_zip_tool_can_open_it(filled, tmp_path: Path):
    await write_bundle(await filled(), tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert "How many wells?" in archive.read("trail.jsonl").decode()
        assert archive.read("report.md").decode().startswith("# Wells")
        assert archive.read("policy.md").decode().startswith("# Policy")
    assert names == sorted(names)
    plain = {name for name in names if "/" not in name}
    assert plain == {
        *(
            "manifest.json",
            "trail.jsonl",
            "report.md",
            "claims.json",
            "plan.json",
            "policy.md",
            "receipt.json",
            "recording.jsonl",
            "story.json",
        )
    }


async def test_the_same_vault_gives_the_same_bytes(filled, tmp_path: Path):
    vault = await filled()
    await write_bundle(vault, tmp_path / "a.zip")
    await write_bundle(vault, tmp_path / "b.zip")
    await write_bundle(await filled(), tmp_path / "c.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes() == (tmp_path / "c.zip").read_bytes()


async def test_nothing_of_the_machine_is_in_it(filled, tmp_path: Path):
    vault = FolderVault(tmp_path / "evidence")
    for entry in await (await filled(1)).entries():
        await vault.append(NewEntry(entry.kind, entry.key, entry.data))
    source = await filled(1)
    for entry in await source.entries():
        for name in ("sha256", "policy_sha256", "bytes_sha256", "text_sha256", "body_sha256", "asked_sha256"):
            if entry.data.get(name) and (name != "sha256" or entry.kind == "report"):
                await vault.put(await source.get(entry.data[name]))
    await write_bundle(vault, tmp_path / "b.zip")
    content = (tmp_path / "b.zip").read_bytes()
    assert verify_bundle(tmp_path / "b.zip").ok
    for private in (str(tmp_path), Path.home().name, "b.zip", "evidence/"):
        assert private.encode() not in content


async def test_a_source_from_the_device_keeps_only_its_name(tmp_path: Path):
    vault = MemoryVault()
    page = await vault.put(b"x")
    made = Source("s1", "device", None, None, "/home/user/secret/notes.txt", "text/plain", None, "2026-01-01", page, page)
    assert (await record_source(vault, made)).data["title"] == "notes.txt"
    for url in ("file:///home/user/x", "https://a.test/"):
        with pytest.raises(EvidenceError, match="came from a device and has an address on the web"):
            await record_source(vault, Source("s2", "device", url, None, "x", "text/plain", None, "", page, page))
    with pytest.raises(EvidenceError, match="does not begin with http"):
        await record_source(vault, Source("s2", "web", "file:///x", "file:///x", "x", "text/plain", 200, "", page, page))


async def test_every_byte_of_every_member_counts(filled, tmp_path: Path):
    """Bad input: a bundle with one byte changed. The member is named."""
    await write_bundle(await filled(2), tmp_path / "b.zip")
    original = (tmp_path / "b.zip").read_bytes()
    with BundleReader(tmp_path / "b.zip") as bundle:
        members = list(bundle.members.values())
    chance = random.Random(1)
    changed = tmp_path / "changed.zip"
    for member in members:
        for place in {0, member.size - 1, *(chance.randrange(member.size) for _ in range(6))} if member.size else ():
            at = member.offset + place
            changed.write_bytes(original[:at] + bytes([original[at] ^ (1 << chance.randrange(8))]) + original[at + 1 :])
            result = verify_bundle(changed)
            assert not result.ok, (member.name, place)
            assert any(problem.where == member.name for problem in result.problems), (member.name, place, result.problems)


async def test_every_byte_between_the_members_counts(filled, tmp_path: Path):
    await write_bundle(await filled(1), tmp_path / "b.zip")
    original = (tmp_path / "b.zip").read_bytes()
    with BundleReader(tmp_path / "b.zip") as bundle:
        inside = {at for member in bundle.members.values() for at in range(member.offset, member.offset + member.size)}
    changed = tmp_path / "changed.zip"
    for at in set(range(len(original))) - inside:
        changed.write_bytes(original[:at] + bytes([original[at] ^ (1 << at % 8)]) + original[at + 1 :])
        result = verify_bundle(changed)
        assert not result.ok, at
        assert str(result.problems[0])
    for cut in (original[:-1], original + b"\0", b"\0" + original, original[: len(original) // 2], b"", b"PK\5\6" + b"\0" * 18):
        changed.write_bytes(cut)
        assert not verify_bundle(changed).ok


async def rewritten(filled, tmp_path: Path, change) -> Verification:
    """Verify a bundle whose members somebody has changed, with a container that fits."""
    await write_bundle(await filled(2), tmp_path / "b.zip")
    with BundleReader(tmp_path / "b.zip") as bundle:
        members = {name: bundle.read(name) for name in bundle.members}
    change(members)
    with (tmp_path / "c.zip").open("wb") as file:
        write_members(file, sorted(members.items()))
    return verify_bundle(tmp_path / "c.zip")


@pytest.mark.parametrize(
    "name", ["trail.jsonl", "manifest.json", "report.md", "claims.json", "plan.json", "policy.md", "receipt.json"]
)
async def test_a_missing_member_is_named(filled, tmp_path: Path, name: str):
    result = await rewritten(filled, tmp_path, lambda members: members.pop(name))
    assert any(problem.where == name for problem in result.problems)


async def test_a_missing_page_is_named(filled, tmp_path: Path):
    def drop(members: dict) -> None:
        del members[next(name for name in members if name.startswith("texts/"))]

    result = await rewritten(filled, tmp_path, drop)
    assert any(problem.where.startswith("texts/") and "missing" in problem.fact for problem in result.problems)


async def test_an_added_member_is_named(filled, tmp_path: Path):
    added = f"sources/{sha256(b'new')}"
    result = await rewritten(filled, tmp_path, lambda members: members.update({added: b"new"}))
    assert any(problem.where == added and "nothing that the trail speaks of" in problem.fact for problem in result.problems)


async def test_the_last_entries_cannot_be_cut_off(filled, tmp_path: Path):
    def cut(members: dict) -> None:
        members["trail.jsonl"] = b"".join(members["trail.jsonl"].splitlines(keepends=True)[:-1])

    assert not (await rewritten(filled, tmp_path, cut)).ok


async def sealed(
    tmp_path: Path, quote: Quote, claim: Claim, report: str | None = None, *, signer: SigningKey | None = None
) -> list[str]:
    """The problems of a bundle that was sealed correctly with wrong contents. Without a report, of evidence alone."""
    vault = MemoryVault()
    text, url = "The well is 15 m deep.", "https://a.test/"
    if report is not None:
        await ask(vault, [url])
        await fetch(vault, 1, url, b"<p>")
        await call_model(vault, "write:1", f"The question:\n{QUESTION}", f"{claim.text[:-1]} [e1].")
        await RecordedJudge(vault).judge(claim.text, [quote])
    page, body = await vault.put(text.encode()), await vault.put(b"<p>")
    at = "2026-01-01T00:00:00+00:00"
    source = Source("s1", "web", url, url, "A", "text/html", 200, at, body, page)
    await record_source(vault, source)
    await record_quote(vault, quote)
    await record_claim(vault, claim)
    if report is not None:
        await tell_report(vault, report, [claim], {"e1": quote}, {"s1": source})
    await write_bundle(vault, tmp_path / "b.zip", signer)
    return [str(problem) for problem in verify_bundle(tmp_path / "b.zip").problems]


GOOD_QUOTE = Quote("e1", "s1", 0, 22, "The well is 15 m deep.")
GOOD_CLAIM = Claim("c1", "The well is 15 m deep.", ("e1",), "verbatim", (), CHECKS_VERSION)
GOOD_REPORT = (
    "The well is 15 m deep [1].\n\n## Sources\n\n"
    f"1. [A](https://a.test/), read 1 January 2026, 00:00 UTC, sha256 {sha256(b'<p>')[:12]}\n"
)


@pytest.mark.parametrize("report", [None, GOOD_REPORT])
async def test_right_contents_have_no_problem(tmp_path: Path, report: str | None):
    assert await sealed(tmp_path, GOOD_QUOTE, GOOD_CLAIM, report) == []


async def test_evidence_without_a_report_holds_and_says_so(tmp_path: Path):
    assert await sealed(tmp_path, GOOD_QUOTE, GOOD_CLAIM) == []
    assert NO_REPORT in verify_bundle(tmp_path / "b.zip").lacks
    assert not verify_bundle(tmp_path / "b.zip", strict=True).ok


@pytest.mark.parametrize(
    ("quote", "fact"),
    [
        (Quote("e1", "s1", 0, 22, "The well is 16 m deep."), "does not stand at 0 to 22"),
        (Quote("e1", "s1", 1, 23, "The well is 15 m deep."), "does not stand"),
        (Quote("e1", "s1", 13, 22, "5 m deep."), "inside a word or a number"),
        (Quote("e1", "s1", 5, 5, "x"), "does not stand"),
        (Quote("e1", "s9", 0, 22, "The well is 15 m deep."), "source s9, which is not there"),
    ],
)
async def test_a_wrong_quote_is_named(tmp_path: Path, quote: Quote, fact: str):
    problems = await sealed(tmp_path, quote, GOOD_CLAIM)
    assert any("e1" in problem and fact in problem for problem in problems)


@pytest.mark.parametrize(
    ("claim", "fact"),
    [
        (Claim("c1", "x", ("e1", "e9"), "supported"), "supported by e9, which is not there"),
        (Claim("c1", "x", ("e1", "e9"), "verbatim"), "verbatim by e9, which is not there"),
        (Claim("c1", "x", (), "supported"), "cites nothing"),
        (Claim("c1", "x", (), "verbatim"), "cites nothing"),
        (Claim("c1", "x", ("e9",), "partial"), "cites nothing"),
    ],
)
async def test_a_claim_without_its_evidence_is_named(tmp_path: Path, claim: Claim, fact: str):
    assert any("c1" in problem and fact in problem for problem in await sealed(tmp_path, GOOD_QUOTE, claim))


async def test_a_verdict_above_what_the_checks_allow_is_refused_whatever_their_number(tmp_path: Path):
    """And a number that never was is refused."""
    wrong = Claim("c1", "The well is 16 m deep.", ("e1",), "supported", (), CHECKS_VERSION)
    for number in (CHECKS_VERSION, CHECKS_VERSION - 1):
        problems = await sealed(tmp_path, GOOD_QUOTE, replace(wrong, checks=number))
        assert any("c1 is called supported; the checks give contradicted" in each for each in problems), number
    for number in (0, CHECKS_VERSION + 1):
        problems = await sealed(tmp_path, GOOD_QUOTE, replace(GOOD_CLAIM, checks=number))
        assert any(f"passed checks {number}, and this version knows those from 1" in each for each in problems), number
    hidden = replace(GOOD_CLAIM, verdict="contradicted")
    assert await sealed(tmp_path, GOOD_QUOTE, hidden) == [], "who judged it, and how, is not in this trail"


async def test_a_verdict_of_older_checks_is_believed_of_the_key_that_is_asked_for_and_listed(tmp_path: Path):
    older = Claim("c1", "The well is 16 m deep.", ("e1",), "supported", (), CHECKS_VERSION - 1)
    signer = SigningKey(tmp_path / "data")
    assert await sealed(tmp_path, GOOD_QUOTE, older, signer=signer) != [], "anybody can sign"
    known = verify_bundle(tmp_path / "b.zip", key=signer.public_key())
    assert known.ok, known.problems
    assert ["c1 is called supported" in listed.fact for listed in known.marked_today] == [True]
    assert not verify_bundle(tmp_path / "b.zip", key=signer.public_key(), strict=True).ok


@pytest.mark.parametrize(
    "report", ["Deep [1].\n", "See https://evil.test/ now.\n", "x\n\n## Sources\n\n1. [A](https://evil.test/)\n"]
)
async def test_a_report_with_other_references_is_named(tmp_path: Path, report: str):
    problems = await sealed(tmp_path, GOOD_QUOTE, GOOD_CLAIM, report)
    assert problems
    assert any(problem.startswith("report.md") for problem in problems)


@pytest.mark.parametrize(
    "entry",
    [
        NewEntry("source", "source:s1", {"source_id": "s1"}),
        NewEntry("quote", "quote:e1", {"quote_id": [], "source_id": "s1", "start": "0", "end": 1, "text": "x"}),
        NewEntry(
            "claim", "c", {"claim_id": "c1", "text": "x", "evidence": [{}], "verdict": "supported", "reasons": [], "checks": 1}
        ),
        NewEntry("claim", "c", {"claim_id": "c1", "text": "x", "evidence": [], "verdict": "true", "reasons": [], "checks": 1}),
        NewEntry("report", "r", {"sha256": "../x"}),
        NewEntry("question", "q", {"policy_sha256": 5}),
    ],
)
async def test_entries_of_another_form_are_refused_when_bundled(tmp_path: Path, entry: NewEntry):
    vault = MemoryVault()
    await vault.append(entry)
    with pytest.raises(EvidenceError, match="entry 1"):
        await write_bundle(vault, tmp_path / "b.zip")
    assert os.listdir(tmp_path) == []


async def test_bytes_the_vault_has_lost_are_named_and_no_file_is_left(tmp_path: Path):
    vault = MemoryVault()
    await vault.append(NewEntry("report", "report", {"sha256": "0" * 64}))
    with pytest.raises(EvidenceMissingError):
        await write_bundle(vault, tmp_path / "b.zip")
    assert os.listdir(tmp_path) == []


def zipped(*members: tuple[str, bytes], compression: int = zipfile.ZIP_STORED, mode: int = stat.S_IFREG | 0o644) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = mode << 16
            info.compress_type = compression
            archive.writestr(info, content)
    return made.getvalue()


HOSTILE = {
    "a path that climbs": zipped(("../../etc/passwd", b"x")),
    "an absolute path": zipped(("/etc/passwd", b"x")),
    "a folder that climbs": zipped(("sources/../x", b"x")),
    "a bomb": zipped(("trail.jsonl", b"\0" * 50_000_000), compression=zipfile.ZIP_DEFLATED),
    "a link": zipped(("trail.jsonl", b"/etc/passwd"), mode=stat.S_IFLNK | 0o777),
    "an unknown member": zipped(("setup.py", b"x")),
    "many members": zipped(*((f"sources/{n:064x}", b"") for n in range(20_002))),
    "no zip": b"MZ" + b"\0" * 100,
    "empty": b"",
    "deep nesting": zipped(("trail.jsonl", b"[" * 100_000 + b"\n")),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_with_a_sentence(tmp_path: Path, name: str):
    (tmp_path / "b.zip").write_bytes(HOSTILE[name])
    result = verify_bundle(tmp_path / "b.zip")
    assert not result.ok
    assert len(str(result.problems[0])) > 20
    assert [path.name for path in tmp_path.iterdir()] == ["b.zip"]


def test_a_member_twice_is_refused(tmp_path: Path):
    with (tmp_path / "b.zip").open("wb") as file:
        write_members(file, [("trail.jsonl", b"a"), ("trail.jsonl", b"b")])
    assert "twice" in str(verify_bundle(tmp_path / "b.zip").problems[0])


def test_a_well_packed_trail_of_rubbish_is_refused(tmp_path: Path):
    for trail in (b"[" * 100_000 + b"\n", b"{}\n", b"\xff\n", b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"\n"):
        with (tmp_path / "b.zip").open("wb") as file:
            write_members(file, [("manifest.json", manifest_bytes({}, "")), ("trail.jsonl", trail)])
        assert verify_bundle(tmp_path / "b.zip").problems[0].where == "trail.jsonl"


def test_a_file_that_is_not_there_is_named_without_its_place(tmp_path: Path):
    problem = verify_bundle(tmp_path / "none.zip").problems[0]
    assert "none.zip" in problem.fact
    assert str(tmp_path) not in problem.fact
    assert not verify_bundle(tmp_path).ok


async def test_a_bundle_answers_a_replay(filled, tmp_path: Path):
    await write_bundle(await filled(2), tmp_path / "b.zip")
    with BundleReader(tmp_path / "b.zip") as bundle:
        replay = bundle.replay()
        answer = await replay.answer(Outgoing("other", "web", "GET", "https://town1.test/wells"))
        assert answer.body.startswith(b"<p>Town 1")
        assert [entry.data["query"] for entry in bundle.entries() if entry.kind == "question"] == ["How many wells?"]
        with pytest.raises(BundleError, match="no member"):
            bundle.read("policy.txt")


async def test_a_bundle_of_200_sources_is_verified(filled, tmp_path: Path, record_property):
    """How fast is a figure of `make bench`."""
    await write_bundle(await filled(200, 100_000), tmp_path / "b.zip")
    started = time.perf_counter()
    result = verify_bundle(tmp_path / "b.zip")
    took = time.perf_counter() - started
    record_property("verify_200_sources_s", round(took, 3))
    record_property("bundle_mb", round((tmp_path / "b.zip").stat().st_size / 1e6, 1))
    assert (result.ok, result.sources) == (True, 200)
