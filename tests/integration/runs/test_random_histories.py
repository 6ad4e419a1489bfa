"""Whatever happens in whatever order, no promise is broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Effort

from .random_history import History

_SEED = 4_000


@pytest.mark.prove
@pytest.mark.timeout(3600)
async def test_no_history_breaks_a_promise(
    tmp_path: Path, effort: Effort, record_property: Callable[[str, object], None]
) -> None:
    happened: Counter[str] = Counter()
    for seed in range(_SEED, _SEED + effort.cases(5, 1000)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        history = History(folder, seed)
        try:
            await history.live(30)
            await history.settle()
            assert await history.wrong() == [], f"seed {seed}"
            await history.answer_everything()
            assert await history.wrong() == [], f"seed {seed}, after all was answered"
        finally:
            await history.stop()
        happened += history.happened
        happened["payments"] += history.payments
        happened["outcomes unknown"] += history.unknown
    assert happened.total() > 20, "hardly anything was tried"
    if effort.long:
        wanted = (
            "kill",
            "restart",
            "delete",
            "answer",
            "approve",
            "copy",
            "edit",
            "go back",
            "cancel rollback",
            "say rollback",
        )
        assert all(happened[what] for what in (*wanted, "payments", "outcomes unknown")), happened
    for what, times in happened.items():
        record_property(what, times)
