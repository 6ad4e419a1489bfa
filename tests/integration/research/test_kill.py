"""`kill -9` at every state of the graph, on the engine: the same report, each request's intent recorded first, resends marked and
counted. Mission R7, R14.

The short form dies once before a write of each kind; the long one before every single write of the run, and twice in a row.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Effort

from stepwell.demo.web import OfflineWorld

ROOT = Path(__file__).parents[3]
ENOUGH = 40


@dataclass
class Lives:
    """Researchers on one world, one after the other."""

    world: OfflineWorld
    process: subprocess.Popen[str]

    def live(self, folder: Path, die_before: int = 0, requests: int = ENOUGH) -> bool:
        """Work on a folder; whether it ended by itself."""
        order = {"folder": str(folder), "port": self.world.port, "die_before": die_before, "requests": requests}
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        ended: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert ended["killed"] or ended["code"] == 0, "it neither lived nor was killed"
        return not ended["killed"]


@pytest.fixture(scope="module")
def lives() -> Iterator[Lives]:
    with OfflineWorld() as world:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.research.kill_child"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == "warm\n"
        yield Lives(world, process)
        process.stdin.close()
        process.wait(timeout=60)
        process.stdout.close()


def result(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return found


@dataclass(frozen=True)
class Undisturbed:
    result: dict[str, Any]
    writes: list[str]


@pytest.fixture(scope="module")
def undisturbed(lives: Lives, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert lives.live(folder)
    return Undisturbed(result(folder), (folder / "writes").read_text().splitlines())


def fresh(tmp_path: Path, name: str) -> Path:
    folder = tmp_path / name
    folder.mkdir()
    return folder


def check(found: dict[str, Any], undisturbed: Undisturbed, kills: int) -> int:
    """What holds after any death; gives the number of resends."""
    assert found["status"] == "complete"
    assert found["report"] == undisturbed.result["report"]
    assert found["problems"] == [], "chain, hashes and quotes are whole"
    begun: dict[str, int] = {}
    for seq, kind, key, _ in found["trail"]:
        if kind == "request":
            begun[key.split(":resend:")[0]] = seq
        elif kind in ("response", "model_call"):
            assert begun[key.removesuffix(":answer")] < seq, "the intent stands before the answer"
    answers = Counter(key for _, kind, key, _ in found["trail"] if kind in ("response", "model_call"))
    assert set(answers.values()) == {1}
    resends = Counter(key.split(":resend:")[0] for _, kind, key, resend in found["trail"] if kind == "request" and resend)
    assert all(count <= kills for count in resends.values()), "a request is sent again at most once for each death"
    assert found["requests"] <= ENOUGH
    followed, then = ([entry[2] for entry in one["trail"] if entry[1] == "follow_up"] for one in (found, undisturbed.result))
    assert followed == then, "no follow-up is lost, and none is made twice"
    once = {key for _, kind, key, _ in found["trail"] if kind == "request" and ":resend:" not in key}
    assert once == {key for _, kind, key, _ in undisturbed.result["trail"] if kind == "request"}, "nothing else was asked"
    return sum(resends.values())


def test_the_undisturbed_research_is_whole(undisturbed: Undisturbed) -> None:
    assert undisturbed.result["status"] == "complete"
    assert "## Sources" in undisturbed.result["report"]
    assert undisturbed.result["problems"] == []
    kinds = {write.split(":")[0] for write in undisturbed.writes}
    entries = {"question", "plan", "audit", "approval", "request", "response", "model_call", "source", "source_review"}
    assert entries | {"quote", "claim", "report", "checkpoint", "document_search", "follow_up"} <= kinds
    written = {"write:section:1", "write:section:2", "write:answer", "critic", "write:revise"}
    assert {f"model_call:{each}" for each in written} <= set(undisturbed.writes), "each may be the last before a death"
    assert "77,777" not in undisturbed.result["report"]
    assert sum(kind == "follow_up" for _, kind, *_ in undisturbed.result["trail"]) >= 1


@pytest.mark.prove
@pytest.mark.timeout(1800)
def test_a_killed_research_gives_the_same_report(
    lives: Lives, undisturbed: Undisturbed, effort: Effort, tmp_path: Path, record_property: Any
) -> None:
    writes = undisturbed.writes
    last_of_each_kind = sorted(
        {write: place for place, write in enumerate(writes, 1) if "writes of" not in write and write != "put"}.values()
    )
    places = list(range(1, len(writes) + 1)) if effort.long else last_of_each_kind
    resent = 0
    for place in places:
        folder = fresh(tmp_path, f"at-{place}")
        assert not lives.live(folder, die_before=place), f"it was to die before write {place}"
        assert lives.live(folder)
        resent += check(result(folder), undisturbed, kills=1)
    record_property("deaths", len(places))
    record_property("resends", resent)
    assert resent > 0, "some of these deaths fall between a request and its answer"


@pytest.mark.prove
@pytest.mark.timeout(1800)
def test_a_research_that_is_killed_twice_gives_the_same_report(
    lives: Lives, undisturbed: Undisturbed, effort: Effort, tmp_path: Path
) -> None:
    """The second death meets the research while it goes on after the first."""
    chance = random.Random(5)
    for case in range(effort.cases(1, 30)):
        folder = fresh(tmp_path, f"case-{case}")
        assert not lives.live(folder, die_before=chance.randrange(30, 90))
        died = not lives.live(folder, die_before=chance.randrange(5, 40))
        assert lives.live(folder)
        check(result(folder), undisturbed, kills=1 + died)


def test_resends_count_against_the_ceiling(lives: Lives, undisturbed: Undisturbed, tmp_path: Path) -> None:
    """With no request to spare, a death costs a page: the report says so, and no more is sent than was allowed."""
    ceiling = undisturbed.result["requests"]
    before_answer = next(place for place, write in enumerate(undisturbed.writes, 1) if write == "response")
    before = lives.world.count()
    assert not lives.live(tmp_path, die_before=before_answer, requests=ceiling)
    assert lives.live(tmp_path, requests=ceiling)
    found = result(tmp_path)
    assert found["status"] == "complete"
    assert found["requests"] == ceiling
    assert lives.world.count() - before <= ceiling
    assert any(resend for *_, resend in found["trail"])
    assert any("limits.requests" in sentence for sentence in found["skipped"])
    assert "limits.requests" in found["report"]
