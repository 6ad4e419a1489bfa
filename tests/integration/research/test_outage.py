"""Offline, blocked, and nothing found are three things; the first two can be tried again."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.integration.research.talking import approve, ask, serving

from stepwell.demo.web import OfflineWorld
from stepwell.errors import FetchFailedError
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.commands.command import run
from stepwell.research.commands.options import ResearchOptions
from stepwell.research.evidence.equipment import Equipment
from stepwell.research.graph.graph import build_graph
from stepwell.research.graph.replaying import replay_bundle
from stepwell.settings import Settings
from stepwell.terminal.dialogue.terminal import Terminal
from stepwell.tools.web.transport import Web, WebRequest, WebResponse

from .conftest import MakeEquipment, Research, StartResearch

ENGINES = ("duckduckgo", "wikipedia")


class Cable:
    """The way out of a machine, which can be pulled."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self.plugged = False

    async def send(self, request: WebRequest) -> WebResponse:
        if not self.plugged:
            host = request.url.split("/")[2]
            raise FetchFailedError(f"'{host}' cannot be reached: there is no connection.", "network")
        return await self._web.send(request)


def about(world: OfflineWorld) -> str:
    return f"How large is the {world.pages[0].subject}, and who made it?"


class Shell:
    """`stepwell research` typed in a terminal."""

    def __init__(self, folder: Path, equipment: Equipment, capsys: pytest.CaptureFixture[str]) -> None:
        self._settings = Settings.load({"STEPWELL_DATA_DIR": str(folder)})
        self._equipment = equipment
        self._capsys = capsys

    def type(self, asked: ResearchOptions, typed: str = "") -> tuple[int, str, str]:
        screen = io.StringIO()
        code = run(asked, equipment=self._equipment, settings=self._settings, terminal=Terminal(io.StringIO(typed), screen))
        return code, screen.getvalue(), self._capsys.readouterr().out


def test_being_offline_is_said_and_carrying_on_asks_again(
    world: OfflineWorld, equipment_for: MakeEquipment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cable = Cable(world.web)
    shell = Shell(tmp_path, equipment_for(web=cable), capsys)
    code, screen, report = shell.type(ResearchOptions(about(world), yes=True))
    assert (code, report) == (1, "")
    assert (
        "No report: No search engine could be reached. Check the network connection, then retry; your plan is kept." in screen
    )
    assert "Tried: duckduckgo: 'html.duckduckgo.com' cannot be reached" in screen
    thread = screen.split("Thread ")[1].split()[0]
    assert re.search(rf"Try again with:\n  \S*stepwell research --continue {thread}\n", screen)
    again = ResearchOptions(None, thread=thread)
    code, screen, report = shell.type(again)
    assert (code, report) == (1, ""), "still offline: said again, not answered from memory"
    assert "No search engine could be reached" in screen
    cable.plugged = True
    code, screen, report = shell.type(again)
    assert code == 0, screen
    fact = next(fact for fact in world.pages[0].facts if fact.kind == "number")
    assert fact.value in report
    assert "reached nobody" not in report, "what was tried again with success was not skipped"
    assert verify_bundle(tmp_path / "research" / thread / "bundle.zip").ok


async def test_a_research_that_was_offline_replays(world: OfflineWorld, start: StartResearch, tmp_path: Path) -> None:
    cable = Cable(world.web)
    research = start(web=cable)
    await research.ask(about(world))
    state = await research.answer(True)
    (question,) = state["__interrupt__"]
    assert (question.value["type"], question.value["cause"]) == ("search_retry", "offline")
    cable.plugged = True
    assert (await research.answer({"decision": "approve"}))["status"] == "complete"
    path = tmp_path / "bundle.zip"
    await write_bundle(research.vault, path)
    assert verify_bundle(path).ok, verify_bundle(path).problems
    replayed = await replay_bundle(path, embedder=LexicalEmbedder())
    assert replayed.equal, replayed.differences


async def test_the_time_of_the_new_try_counts(world: OfflineWorld, start: StartResearch) -> None:
    class Watch:
        time = datetime(2026, 1, 2, tzinfo=UTC)

        def now(self) -> datetime:
            return self.time

    cable, watch = Cable(world.web), Watch()
    research = start(web=cable, clock=watch)
    await research.ask(about(world))
    await research.answer(True)
    watch.time += timedelta(hours=9)
    cable.plugged = True
    state = await research.answer(True)
    assert state["status"] == "complete"
    assert "limits.seconds" not in state["final_report"]


async def asked(research: Research, world: OfflineWorld) -> dict[str, Any]:
    await research.ask(about(world))
    return await research.answer(True)


async def test_engines_that_block_are_told_from_a_missing_connection(world: OfflineWorld, start: StartResearch) -> None:
    for engine in ENGINES:
        world.engine(engine, "limited")
    research = start()
    (question,) = (await asked(research, world))["__interrupt__"]
    assert question.value["cause"] == "blocked"
    assert question.value["message"].startswith("No search engine serves us at the moment. Retry in a few minutes")
    state = await research.answer({"decision": "reject"})
    assert (state["status"], state["error_message"]) == ("failed", question.value["message"])


async def test_rubbish_is_neither(world: OfflineWorld, start: StartResearch) -> None:
    for engine in ENGINES:
        world.engine(engine, "broken")
    (question,) = (await asked(start(), world))["__interrupt__"]
    assert question.value["cause"] == "failed"
    assert "gave a usable answer" in question.value["message"]


async def test_engines_that_searched_and_know_nothing_end_the_research(world: OfflineWorld, start: StartResearch) -> None:
    for engine in ENGINES:
        world.engine(engine, "empty")
    state = await asked(start(), world)
    assert "__interrupt__" not in state
    assert state["final_report"].startswith("# Insufficient evidence")


async def test_pages_out_of_reach_can_be_tried_again(world: OfflineWorld, start: StartResearch) -> None:
    cable = Cable(world.web)
    research = start(web=cable)
    state = await research.ask("What does it say?", context_urls=[world.pages[0].url])
    shown = state["__interrupt__"][0].value["plan"]
    only = [step for step in shown["steps"] if step["tool"] == "fetch_page"]
    await research.answer({"decision": "edit", "plan": {**shown, "steps": only}})
    (question,) = (await research.answer(True))["__interrupt__"]
    assert question.value["message"].startswith("None of the pages could be reached.")
    cable.plugged = True
    state = await research.answer({"decision": "approve"})
    assert state["pages_read"] == 1


async def test_an_answer_that_nobody_understands_is_asked_for_again(world: OfflineWorld, start: StartResearch) -> None:
    research = start(web=Cable(world.web))
    await asked(research, world)
    (question,) = (await research.answer("hm"))["__interrupt__"]
    assert "to try again" in question.value["problem"]


async def test_a_client_of_the_api_can_try_again(world: OfflineWorld, equipment_for: MakeEquipment, tmp_path: Path) -> None:
    cable = Cable(world.web)
    async with serving(tmp_path, {"research": build_graph(equipment_for(web=cable))}) as http:
        gate = (await ask(http, about(world)))[-1]
        waiting = (await approve(http, gate, decision="approve"))[-1]
        assert (waiting.name, waiting.node, waiting.state["interruptType"]) == ("hitl_waiting", "search_retry", "search_retry")
        assert waiting.state["cause"] == "offline"
        assert waiting.state["message"].startswith("No search engine could be reached")
        cable.plugged = True
        done = await approve(http, waiting, decision="approve")
    assert any(each.state.get("finalReport") for each in done)
