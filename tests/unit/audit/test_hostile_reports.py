"""A report of a stranger's is checked to its end, whatever stands in it, and what is wrong with it is a finding."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from stepwell.audit.bundle import write_bundle
from stepwell.audit.checks import CHECKS_VERSION
from stepwell.audit.container import write_members
from stepwell.audit.evidence import Claim, Quote, Source
from stepwell.audit.ledger import record_claim, record_quote, record_source
from stepwell.audit.memory_vault import MemoryVault
from stepwell.audit.sentences import passages
from stepwell.audit.verify import verify_bundle
from stepwell.audit.writing.links import strip_links
from stepwell.audit.writing.references import check_references

SIZE = 300_000


def repeated(piece: str) -> str:
    return piece * (SIZE // len(piece))


HOSTILE = {
    "hyphens": repeated("a-"),
    "dots": repeated("a."),
    "full stops": repeated(".") + "x",
    "spaces": repeated(" ") + "x",
    "plus signs": repeated("a+") + "://",
    "escapes of escapes": "&" + repeated("amp;") + "lt;",
    "brackets in brackets": "[" * 1_000 + "a](b)" * 1_000,
    "tags in tags": "<" * (SIZE // 2) + "a>" * (SIZE // 4),
    "open links": repeated("[]("),
    "open references": repeated("[a]["),
    "open citations": repeated("[1, "),
    "addresses": repeated("ab.cd/ "),
    "slashes": repeated("/"),
    "many lists": repeated("\n## Sources\n"),
    "a list of nothing": "\n## Sources\n" + repeated("1. x sha256 0123456789ab\n"),
    "a number of five thousand digits": "[" + "1" * 5_000 + "]",
}


@pytest.mark.parametrize("report", HOSTILE.values(), ids=HOSTILE.keys())
def test_references_are_checked_and_links_stripped_to_the_end(report: str):
    for check in (lambda text: check_references(text, {}), strip_links, passages):
        check(report)


def test_a_number_that_is_too_long_is_a_citation_of_nothing():
    (fault,) = check_references("[" + "1" * 5_000 + "]", {})
    assert fault == "cites [11111111111111111111], which is not in its list of sources"


@pytest.mark.parametrize("depth", [3, 50, 2_000])
def test_a_link_hidden_in_links_is_not_left_over(depth: int):
    for text in ("&" + "amp;" * depth + "lt;a href=//evil.example/x&gt;", "[" * depth + "a" + "](//evil.example/x)" * depth):
        stripped = strip_links(text)
        assert "//" not in stripped.text
        assert "](" not in stripped.text
        assert strip_links(stripped.text).text == stripped.text


@pytest.mark.parametrize("name", ["hyphens", "a number of five thousand digits", "escapes of escapes"])
async def test_a_bundle_with_such_a_report_has_a_finding_and_no_crash(filled, tmp_path: Path, name: str):
    await write_bundle(await filled(), tmp_path / "b.zip")
    forge_report(tmp_path / "b.zip", tmp_path / "forged.zip", HOSTILE[name])
    checked = verify_bundle(tmp_path / "forged.zip")
    assert not checked.ok
    assert any(problem.where == "report.md" for problem in checked.problems)


def forge_report(bundle: Path, forged: Path, report: str) -> None:
    with zipfile.ZipFile(bundle) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with forged.open("wb") as file:
        write_members(file, sorted({**members, "report.md": report.encode()}.items()))


@pytest.mark.parametrize(
    "text", ["a-" * 1600, "1.2," * 800, "Ab " * 1000, "not " * 800, "(" * 3200, "1890 " * 640], ids=range(6)
)
async def test_a_long_claim_does_not_keep_a_reader_busy(tmp_path: Path, text: str):
    """Whoever checks a bundle runs the checks again, on claims of whoever made it."""
    vault = MemoryVault()
    page = await vault.put(text.encode())
    at = "2026-01-01T00:00:00+00:00"
    await record_source(vault, Source("s1", "web", "https://a.test/", "https://a.test/", "A", "text/html", 200, at, page, page))
    await record_quote(vault, Quote("e1", "s1", 0, len(text), text))
    for number in range(2):
        claim = Claim(f"c{number}", text[::-1] + str(number), ("e1",), "supported", checks=CHECKS_VERSION)
        await record_claim(vault, claim)
    await record_claim(vault, Claim("c9", text * 4, ("e1",), "supported", checks=CHECKS_VERSION))
    await write_bundle(vault, tmp_path / "b.zip")
    checked = verify_bundle(tmp_path / "b.zip")
    assert any("longer than any that we write" in str(problem) for problem in checked.problems)
