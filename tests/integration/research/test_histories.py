"""Whatever happens to a research thread, its trail, plan, report and bundle agree with one another and with what the thread shows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Effort

from stepwell.demo.web import OfflineWorld

from .conftest import MakeEquipment
from .random_research import ResearchHistory, models_about


@pytest.mark.prove
async def test_in_every_history_trail_plan_report_and_bundle_agree(
    world: OfflineWorld, equipment_for: MakeEquipment, tmp_path: Path, effort: Effort, record_property: Any
) -> None:
    subjects = [world.pages[number].subject for number in (0, 1, 80, 120)]
    happened: Counter[str] = Counter()
    many = effort.cases(10, 500)
    for seed in range(many):
        folder = tmp_path / str(seed)
        folder.mkdir()
        models = models_about(subjects) if seed % 2 else None
        history = ResearchHistory(folder, seed, equipment_for(models=models, pages_per_step=1), subjects)
        await history.live(steps=4 if not effort.long else 4 + seed % 8)
        assert not history.wrong, (seed, history.happened, history.wrong)
        happened += history.happened
    record_property("histories", many)
    record_property("happened", ", ".join(f"{name} {count}" for name, count in happened.most_common()))
    assert happened["ended complete"] >= many * 0.8
