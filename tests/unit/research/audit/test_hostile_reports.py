"""A stranger's report is checked in time that grows with its length, whatever it says, and each of its faults is a finding."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.growth import TIMES, assert_linear

from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.checks import CHECKS_VERSION
from stepwell.research.audit.container import write_members
from stepwell.research.audit.evidence import Claim, Quote, Source
from stepwell.research.audit.ledger import record_claim, record_quote, record_source
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.audit.sentences import passages
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.audit.writing.links import strip_links
from stepwell.research.audit.writing.references import check_references

SIZE = 20_000


def repeated(piece: str, before: str = "", after: str = "") -> Callable[[int], str]:
    return lambda size: before + piece * (size // len(piece)) + after


HOSTILE = {
    "hyphens": repeated("a-"),
    "dots": repeated("a."),
    "full stops": repeated(".", after="x"),
    "spaces": repeated(" ", after="x"),
    "plus signs": repeated("a+", after="://"),
    "escapes of escapes": repeated("amp;", "&", "lt;"),
    "brackets in brackets": lambda size: "[" * (size // 6) + "a](b)" * (size // 6),
    "tags in tags": lambda size: "<" * (size // 2) + "a>" * (size // 4),
    "open links": repeated("[]("),
    "open references": repeated("[a]["),
    "open citations": repeated("[1, "),
    "addresses": repeated("ab.cd/ "),
    "slashes": repeated("/"),
    "many lists": repeated("\n## Sources\n"),
    "a list of nothing": repeated("1. x sha256 0123456789ab\n", "\n## Sources\n"),
    "a number of many digits": repeated("1", "[", "]"),
}


@pytest.mark.parametrize("report", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize(
    "check", [lambda text: check_references(text, {}), strip_links, passages], ids=["check", "strip", "split"]
)
def test_the_time_to_check_a_report_grows_with_its_length(check: Callable[[str], object], report: Callable[[int], str]):
    assert_linear(check, report, SIZE)


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


@pytest.mark.parametrize("name", ["hyphens", "a number of many digits", "escapes of escapes"])
async def test_a_bundle_with_such_a_report_has_a_finding_and_no_crash(filled, tmp_path: Path, name: str):
    await write_bundle(await filled(), tmp_path / "b.zip")

    def forged(size: int) -> Path:
        forge_report(tmp_path / "b.zip", tmp_path / f"{size}.zip", HOSTILE[name](size))
        return tmp_path / f"{size}.zip"

    assert_linear(verify_bundle, forged, SIZE)
    checked = verify_bundle(forged(SIZE))
    assert not checked.ok
    assert any(problem.where == "report.md" for problem in checked.problems)


def forge_report(bundle: Path, forged: Path, report: str) -> None:
    with zipfile.ZipFile(bundle) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with forged.open("wb") as file:
        write_members(file, sorted({**members, "report.md": report.encode()}.items()))


LONGEST_CLAIM = 3_200


@pytest.mark.parametrize("piece", ["a-", "1.2,", "Ab ", "not ", "(", "1890 "])
async def test_a_long_claim_does_not_keep_a_reader_busy(tmp_path: Path, piece: str):
    """A reader who checks a bundle repeats the checks of its claims, and anyone can have written those."""
    sizes = (LONGEST_CLAIM // TIMES, LONGEST_CLAIM)
    bundles = {size: await bundle_of_claims(piece * (size // len(piece)), tmp_path / f"{size}.zip") for size in sizes}
    assert_linear(verify_bundle, bundles.__getitem__, sizes[0])


async def test_a_claim_longer_than_any_that_we_write_is_a_finding(tmp_path: Path):
    checked = verify_bundle(await bundle_of_claims("a-" * (LONGEST_CLAIM // 2), tmp_path / "b.zip"))
    assert any("longer than any that we write" in str(problem) for problem in checked.problems)


async def bundle_of_claims(text: str, path: Path) -> Path:
    vault = MemoryVault()
    page = await vault.put(text.encode())
    at = "2026-01-01T00:00:00+00:00"
    await record_source(vault, Source("s1", "web", "https://a.test/", "https://a.test/", "A", "text/html", 200, at, page, page))
    await record_quote(vault, Quote("e1", "s1", 0, len(text), text))
    for number in range(2):
        claim = Claim(f"c{number}", text[::-1] + str(number), ("e1",), "supported", checks=CHECKS_VERSION)
        await record_claim(vault, claim)
    await record_claim(vault, Claim("c9", text * 4, ("e1",), "supported", checks=CHECKS_VERSION))
    await write_bundle(vault, path)
    return path
