"""What a graph is made of: engines that remember how they were asked, and a policy that was really found."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepwell.demo.web import ScriptedWeb, answer
from stepwell.errors import ConfigurationError
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.research.evidence.equipment import make_equipment
from stepwell.settings import SearchSettings, Settings
from stepwell.tools.web.search.outcomes import Blocked

SEARCH = "https://html.duckduckgo.com/html/"


async def test_steps_share_what_is_known_of_an_engine(tmp_path: Path) -> None:
    """Each step has a chain of its own, that records; "come again in 30 s" holds for all of them."""
    web = ScriptedWeb({SEARCH: answer("later", 429, retry_after="30")})
    settings = Settings(data_dir=tmp_path, search=SearchSettings(engines="duckduckgo"))
    equipment = make_equipment(settings, web=web, embedder=LexicalEmbedder(), models=None)
    first = await equipment.search(web).search("bridges")
    second = await equipment.search(web).search("comets")
    assert isinstance(first.outcome, Blocked)
    assert isinstance(second.outcome, Blocked)
    assert len(web.requests) == 1


def test_a_policy_that_is_named_and_missing_stops_the_start(tmp_path: Path) -> None:
    """Known defect: policy file silently not found."""
    settings = Settings.load({"STEPWELL_POLICY": str(tmp_path / "mine.md"), "STEPWELL_DATA_DIR": str(tmp_path)})
    with pytest.raises(ConfigurationError, match=r"mine\.md"):
        make_equipment(settings, web=ScriptedWeb({}), embedder=LexicalEmbedder(), models=None)
