"""The two web tools of deep research, as they declare themselves."""

from __future__ import annotations

from pathlib import Path

from stepwell.demo.web import ScriptedWeb
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.research.deep.web_tools import DeepWeb
from stepwell.research.evidence.equipment import make_equipment
from stepwell.settings import Settings
from stepwell.tools.effects import effect_of


def test_both_web_tools_only_read(tmp_path: Path) -> None:
    equipment = make_equipment(Settings(data_dir=tmp_path), web=ScriptedWeb({}), embedder=LexicalEmbedder(), models=None)
    assert {tool.name: effect_of(tool) for tool in DeepWeb(equipment).tools()} == {"web_search": "read", "fetch_page": "read"}
