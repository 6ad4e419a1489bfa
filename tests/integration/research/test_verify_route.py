"""A server checks a bundle in a process of its own, which ends when its time is over: no request holds a thread for minutes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.integration.research.forging import owner_of, take_apart
from tests.integration.research.talking import serving

from stepwell.errors import EvidenceError
from stepwell.research.audit.checking_process import BundleChecker
from stepwell.research.audit.checks import CHECKS_VERSION
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.demo import demo_equipment
from stepwell.research.graph.graph import build_graph


@pytest.mark.parametrize("mode", ["extractive", "written"])
async def test_a_check_apart_gives_what_a_check_here_gives(bundles: dict[str, Path], tmp_path: Path, mode: str) -> None:
    key = owner_of(bundles[mode]).public_key()
    checker = BundleChecker()
    apart = await checker.check(bundles[mode], key=key, strict=True)
    here = await asyncio.to_thread(verify_bundle, bundles[mode], key=key, strict=True)
    assert (apart, apart.parts, apart.signed_by, apart.vouched) == (here, here.parts, key, True)
    (tmp_path / "broken.zip").write_bytes(bundles[mode].read_bytes()[:-1])
    broken = await checker.check(tmp_path / "broken.zip")
    assert broken == await asyncio.to_thread(verify_bundle, tmp_path / "broken.zip")
    with pytest.raises(EvidenceError):
        await checker.check(bundles[mode], head="no head")


def _make_slow(bundle: Path, file: Path) -> Path:
    """Claims whose checks take all the work that a claim can cost, many times over."""
    forgery = take_apart(bundle)
    text = " ".join(f"Not w{number}x is not v{number}y." for number in range(400))[:7_900]
    source = forgery.of_kind("source")[0]
    source.data["text_sha256"] = forgery.put(text.encode())
    quote = {
        "quote_id": "e900",
        "source_id": source.data["source_id"],
        "start": 0,
        "end": text.rindex("."),
        "text": text[: text.rindex(".")],
    }
    forgery.insert_after(source, "quote", "quote:e900", quote)
    last = forgery.of_kind("quote")[-1]
    for number in range(300):
        said = " ".join(f"not u{number}w{each}x" for each in range(110))[:1_450]
        claim = {"claim_id": f"c{900 + number}", "text": said, "evidence": ["e900"], "verdict": "partial", "reasons": []}
        forgery.insert_after(last, "claim", f"claim:c{900 + number}", {**claim, "checks": CHECKS_VERSION})
    return forgery.seal(file)


async def test_a_bundle_that_would_take_minutes_is_given_up_with_a_sentence(bundles: dict[str, Path], tmp_path: Path) -> None:
    """Made to be slow: by its limit of time it is not judged, and the process is gone."""
    slow = await asyncio.to_thread(_make_slow, bundles["extractive"], tmp_path / "slow.zip")
    checked = await BundleChecker(limit_s=0.5).check(slow)
    assert not checked.ok
    assert "so it was not judged" in str(checked.problems[0])


async def test_a_bundle_that_is_sent_is_checked_and_its_reader_told(bundles: dict[str, Path], tmp_path: Path) -> None:
    key = owner_of(bundles["extractive"]).public_key()
    forged = tmp_path / "forged.zip"
    forgery = await asyncio.to_thread(take_apart, bundles["extractive"])
    del forgery.of_kind("report")[-1].data["claims"]
    await asyncio.to_thread(forgery.seal, forged)
    async with serving(tmp_path, {"research": build_graph(demo_equipment())}) as http:
        query, kind = {"key": key, "strict": "true"}, {"Content-Type": "application/zip"}
        sent = await http.post(
            "/api/research/verify", params=query, content=bundles["extractive"].read_bytes(), headers=kind, timeout=120
        )
        told = sent.json()
        assert (sent.status_code, told["ok"], told["vouched"], told["notes"]) == (200, True, True, [])
        refused = (await http.post("/api/research/verify", content=forged.read_bytes(), headers=kind, timeout=120)).json()
    assert not refused["ok"]
    assert "claims: Field required" in str(refused["parts"])
