"""Whatever a report cites, the research that wrote it can be verified, also strictly, and exported in every format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.integration.research.conftest import StartResearch
from tests.integration.research.roles import Evidence, Roles, plan

from stepwell.demo.web import OfflineWorld
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.research.audit.bundle import BundleReader, write_bundle
from stepwell.research.audit.export import FORMATS, export_bundle
from stepwell.research.audit.signing import SigningKey
from stepwell.research.audit.story import evidence_of, story_of
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.commands.material import read_material

SURVEY = "Our own survey of the Zorkmid pier found 41 cracked beams in the spring."
NOTES = "The Zorkmid pier was closed for nine weeks after the survey."
SNIPPET: dict[str, Any] = {
    "id": "d1:4",
    "document_id": "d1",
    "label": "survey.pdf",
    "text": SURVEY,
    "start": 20,
    "end": 20 + len(SURVEY),
}
KINDS = ["html", "pdf", "text", "excerpt", "notes", "file", "all"]


async def _bring(kind: str, folder: Path) -> dict[str, Any]:
    """What comes along with the question."""
    brought: dict[str, Any] = {}
    if kind in ("excerpt", "all"):
        brought["snippets"] = [SNIPPET]
    if kind in ("notes", "all"):
        brought["knowledge_context"] = NOTES
    if kind == "file":
        file = folder / "survey.txt"
        file.write_text(SURVEY, encoding="utf-8")
        brought["snippets"] = await read_material([file], "What did the survey find?", LexicalEmbedder(), lambda line: None)
    return brought


def _cite_all(shown: Evidence) -> str:
    return "## Found\n\n" + "\n\n".join(f"{text.split('. ')[0].rstrip('.')} [{name}]." for name, text in shown.items())


@pytest.mark.parametrize("mode", ["extractive", "written"])
@pytest.mark.parametrize("kind", KINDS)
async def test_what_research_writes_verifies_and_exports(
    world: OfflineWorld, start: StartResearch, tmp_path: Path, kind: str, mode: str
) -> None:
    form = kind if kind in ("html", "pdf", "text") else "pdf" if kind == "all" else "html"
    page = next(page for page in world.pages if page.form == form)
    roles = Roles(plans=[plan(page.subject)], write=_cite_all)
    research = start(**({"models": roles.routes} if mode == "written" else {}))
    about = f"How long is the {page.subject}" + ("?" if form == kind else ", and what did the survey of the Zorkmid pier find?")
    await research.ask(about, **await _bring(kind, tmp_path))
    state = await research.answer(True)
    assert state["status"] == "complete", state.get("error_message")

    bundle, signer = tmp_path / "bundle.zip", SigningKey(tmp_path)
    await write_bundle(research.vault, bundle, signer)
    _check_cited(bundle, kind)
    plain, strict = verify_bundle(bundle), verify_bundle(bundle, key=signer.public_key(), strict=True)
    assert (plain.ok, strict.ok, strict.vouched) == (True, True, True), [*plain.problems, *strict.problems]
    for wanted in FORMATS:
        assert export_bundle(bundle, wanted), wanted


def _check_cited(bundle: Path, kind: str) -> None:
    """The kind of source is cited, or the test would show nothing."""
    with BundleReader(bundle) as opened:
        entries = opened.entries()
        report = opened.read("report.md").decode()
    evidence = evidence_of(entries, story_of(entries))
    cited = {evidence.quotes[each].source_id for claim in evidence.claims.values() for each in claim.evidence}
    sources = [evidence.sources[each] for each in cited]
    types = {"html": "text/html", "pdf": "application/pdf", "text": "text/plain"}
    if kind in types:
        assert any(source.kind == "web" and source.media_type == types[kind] for source in sources)
    else:
        assert any(source.kind == "device" for source in sources)
        assert "(from your device)" in report
    if kind in ("pdf", "all"):
        assert any(source.parts for source in sources)
        assert ", page 1, read " in report
