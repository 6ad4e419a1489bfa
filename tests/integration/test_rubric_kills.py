"""A process that is killed while an answer is checked: the next one goes on, and no grader that has answered is asked again."""

from __future__ import annotations

import json
import multiprocessing
import random
import time
from pathlib import Path
from typing import Any

import pytest
from tests.integration import rubric_child
from tests.support.waiting import wait_until

FIRST, SECOND = rubric_child.ANSWERS
EVERYTHING = sorted(
    [f"{step} {answer}" for step in ("model", "source", "length") for answer in (FIRST, SECOND)]
    + ["judge False", "look", "judge True"]
)


@pytest.fixture(scope="module")
def processes() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.integration.rubric_child"])
    return context


def start(processes: Any, folder: Path, at: int, is_async: bool) -> Any:
    process = processes.Process(target=rubric_child.work, args=(str(folder), at, is_async))
    process.start()
    return process


def lines(folder: Path, kind: str) -> list[str]:
    log = folder / "log"
    told = log.read_text().splitlines() if log.exists() else []
    return [line.partition(" ")[2] for line in told if line.startswith(f"{kind} ")]


def finish(processes: Any, folder: Path, is_async: bool) -> dict[str, Any]:
    process = start(processes, folder, 0, is_async)
    process.join(120)
    assert process.exitcode == 0
    return dict(json.loads((folder / "result.json").read_text()))


def check_result(result: dict[str, Any]) -> None:
    assert [text for text in result["messages"] if not text.startswith("[")] == ["How old is the bridge?", FIRST, SECOND]
    assert len(result["messages"]) == 4
    assert [each["result"] for each in result["checks"]] == ["needs_revision", "satisfied"]
    assert [each["name"] for each in result["checks"][1]["criteria"]] == ["source", "length", "right"]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("at", range(1, rubric_child.STEPS + 1))
def test_no_grader_is_asked_twice(processes: Any, tmp_path: Path, at: int, is_async: bool) -> None:
    process = start(processes, tmp_path, at, is_async)
    wait_until(lambda: lines(tmp_path, "still"), f"the process has not come to step {at}")
    answered = [line for line in lines(tmp_path, "end") if line.startswith(("source", "length"))]
    wait_until(lambda: rubric_child.count_stored(tmp_path) >= len(answered), "the results are not stored")
    process.kill()
    process.join()
    check_result(finish(processes, tmp_path, is_async))
    assert sorted(lines(tmp_path, "end")) == EVERYTHING


@pytest.mark.prove
def test_kills_at_any_instant(processes: Any, tmp_path: Path, effort: Any, record_property: Any) -> None:
    """Whenever it happens, the end is the same. Only what was answered in the moment of the kill may be asked again."""
    rng = random.Random(7)
    took = 0.0
    for name in ("first", "second"):  # the first one also waits for the server that forks
        (tmp_path / name).mkdir()
        begun = time.monotonic()
        finish(processes, tmp_path / name, False)
        took = time.monotonic() - begun
    kills = again = 0
    for number in range(effort.cases(6, 150)):
        folder = tmp_path / str(number)
        folder.mkdir()
        for _ in range(3):
            process = start(processes, folder, 0, number % 2 == 1)
            process.join(rng.uniform(0, took))
            kills += process.is_alive()
            process.kill()
            process.join()
        check_result(finish(processes, folder, number % 2 == 1))
        again += len(lines(folder, "end")) - len(EVERYTHING)
    record_property("kills", kills)
    record_property("asked again", again)
    assert again <= kills
