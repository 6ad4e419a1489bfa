"""Every row of the mission has a test that names it, and docs/mission.md lists them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def load_table():
    spec = importlib.util.spec_from_file_location("mission_table", ROOT / "scripts" / "mission_table.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_row_has_a_test():
    missing = [row for row, tests in load_table().tests_by_row().items() if not tests]
    assert missing == []


def test_the_page_lists_the_tests_there_are():
    table = load_table()
    assert table.PAGE.read_text(encoding="utf-8") == table.page(), "run: python scripts/mission_table.py"
