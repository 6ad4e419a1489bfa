"""A model that was measured as a judge judges a report: the figures stand in the trail, in exports, and for a reader elsewhere.

The provider is on loopback and speaks its real protocol; the model's SDK asks it.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.integration.cli.test_judge_measurement import PAIRS, knows_all
from tests.support.providers import FakeProvider, Fault, Reply
from tests.support.providers.openai import OPENAI

from stepwell.cli import judge_measurement
from stepwell.cli.model_store import ModelStore
from stepwell.connections import tables
from stepwell.demo.web import OfflineWorld
from stepwell.errors import ModelBusyError, ModelUnavailableError
from stepwell.models.resolve import resolve_model
from stepwell.models.routing import ModelRoutes
from stepwell.research.audit.bundle import BundleReader
from stepwell.research.audit.export import export_bundle
from stepwell.research.commands import replay, show, verify
from stepwell.research.commands.command import run
from stepwell.research.commands.options import ResearchOptions
from stepwell.research.evidence.equipment import Equipment
from stepwell.research.judges.asking import PAUSES_S, JudgeMeasurement
from stepwell.research.judges.pairs import Pair
from stepwell.settings import Secret, Settings
from stepwell.terminal.database_file import with_database
from stepwell.terminal.dialogue.terminal import Terminal

MakeEquipment = Callable[..., Equipment]
MEASURED = "Judged by openai:gpt-4.1. Of the sentences that it and the rules call supported, 100 % are true ("
UNMEASURED = "Judged by openai:gpt-4.1. How well it judges was not measured; measure it with: stepwell models judge FOLDER"


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    file = tmp_path / "mills.jsonl"
    lines = [json.dumps({"claim": claim, "evidence": evidence, "label": label}) for claim, evidence, label in PAIRS]
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider(OPENAI) as provider:
        yield provider


@pytest.fixture
def settings(tmp_path: Path, provider: FakeProvider) -> Settings:
    return Settings.load({"STEPWELL_DATA_DIR": str(tmp_path), **provider.variables})


@pytest.fixture
def research(
    world: OfflineWorld, equipment_for: MakeEquipment, settings: Settings, provider: FakeProvider, tmp_path: Path
) -> Callable[[], tuple[str, Path]]:
    """Asks a question with the provider's model in every role; returns the thread and the bundle."""
    subject = world.pages[0].subject

    def play(body: Mapping[str, Any]) -> Reply:
        system, asked = (str(message["content"]) for message in body["messages"][:2])
        if system.startswith("You write a research report"):
            found = re.findall(r"^(e\d+) \([^\n]*?\): (.+)$", asked, re.MULTILINE)[:2]
            return Reply("## Found\n\n" + "\n\n".join(f"{text} [{name}]" for name, text in found))
        if "violations" in system:
            return Reply(json.dumps({"verdict": "approved", "violations": [], "suggestions": []}))
        if system.startswith("You check one sentence"):
            return Reply(json.dumps({"verdict": "supported", "reason": "so it reads"}))
        step = {"tool": "web_search", "input": subject, "rationale": "first"}
        return Reply(json.dumps({"objective": "Know it", "steps": [step]}))

    def start() -> tuple[str, Path]:
        provider.answer = play
        screen = io.StringIO()
        equipment = equipment_for(models=ModelRoutes(resolve_model("openai:gpt-4.1", settings=settings)))
        options = ResearchOptions(f"How large is the {subject}, and who made it?", yes=True)
        assert run(options, equipment=equipment, settings=settings, terminal=Terminal(io.StringIO(), screen)) == 0, (
            screen.getvalue()
        )
        thread = re.findall(r"^Thread (\S+)$", screen.getvalue(), re.MULTILINE)[0]
        return thread, tmp_path / "research" / thread / "bundle.zip"

    return start


def judge_in(bundle: Path) -> dict[str, Any]:
    with BundleReader(bundle) as reader:
        return dict(next(entry.data["judge"] for entry in reader.entries() if entry.kind == "report"))


def test_a_report_carries_the_figures_of_its_judge(
    research: Callable[[], tuple[str, Path]],
    sets: Path,
    settings: Settings,
    provider: FakeProvider,
    capsys: pytest.CaptureFixture[str],
) -> None:
    thread, before = research()
    assert judge_in(before) == {"model": "openai:gpt-4.1", "measured": None}
    assert show.run(thread, settings=settings) == 0
    assert UNMEASURED in " ".join(capsys.readouterr().out.split())

    provider.answer = knows_all
    assert judge_measurement.run(sets, settings=settings) == 0
    capsys.readouterr()

    thread, bundle = research()
    measured = judge_in(bundle)["measured"]
    assert (measured["sets"], measured["claims"], measured["precision"], measured["unusable"]) == (["mills"], 9, 1000, 0)
    capsys.readouterr()
    assert show.run(thread, settings=settings) == 0
    assert " ".join(capsys.readouterr().out.split()).count(MEASURED) == 1
    assert verify.run(bundle) == 0
    assert capsys.readouterr().out.count(MEASURED) == 1
    page = export_bundle(bundle, "html").decode()
    assert page.count(MEASURED) == 1
    assert export_bundle(before, "html").decode().count("measure it with: stepwell models judge FOLDER") == 1
    assert replay.run(bundle) == 0


def test_a_spend_limit_stops_the_measurement(
    sets: Path, tmp_path: Path, provider: FakeProvider, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings.load({"STEPWELL_DATA_DIR": str(tmp_path)})
    store = ModelStore.open(None, settings)
    store.use("openai", "gpt-4.1", Secret("sk-test-0123456789-abcdefghij"), f"{provider.url}/v1")
    [stored] = store.connections()

    def allow(month_usd: float) -> None:
        limited = replace(stored, limits={"month_usd": month_usd})
        with_database(
            store.place, lambda database: database.write(lambda connection: tables.put_connection(connection, limited))
        )

    provider.answer = knows_all
    allow(0.05)  # two calls, at what is expected of them
    assert judge_measurement.run(sets, settings=settings) == 1
    told = capsys.readouterr()
    assert "is reached" in told.err
    assert "The measurement is not complete. Its answers are kept" in told.err
    assert "precision" not in told.out
    assert len(provider.requests) == 2, "those under way ended and were kept"

    allow(50)
    assert judge_measurement.run(sets, settings=settings) == 0
    assert f"Asked in this run: {len(PAIRS) - 2} calls" in capsys.readouterr().out
    assert len(provider.requests) == len(PAIRS)


def test_without_a_model_it_says_how_to_connect_one(sets: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match=r"No model is connected that could judge\. Connect one with: "):
        judge_measurement.run(sets, settings=Settings.load({"STEPWELL_DATA_DIR": str(tmp_path)}))


async def test_a_busy_provider_is_asked_again_after_a_pause(settings: Settings, provider: FakeProvider, tmp_path: Path) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    model = resolve_model("openai:gpt-4.1", settings=settings, own_retries=False)
    samples = {"mills": [Pair(*PAIRS[0]), Pair(*PAIRS[4])]}
    provider.answer = knows_all
    provider.plan(Fault("rate limited", retry_after_s=7), Fault("overloaded", retry_after_s=None))
    answers = await JudgeMeasurement(model, tmp_path / "judges", sleep).ask(samples, lambda done, of: None)
    assert [said.verdict for said in answers.of["mills"] if said] == ["supported", "unsupported"]
    assert sorted(slept) == [2.0, 7.0]
    assert answers.used.calls == 2


async def test_a_provider_that_stays_away_ends_the_measurement(
    settings: Settings, provider: FakeProvider, tmp_path: Path
) -> None:
    async def sleep(seconds: float) -> None:
        """A test waits for nobody."""

    model = resolve_model("openai:gpt-4.1", settings=settings, own_retries=False)
    provider.answer = lambda body: Fault("server error")
    with pytest.raises(ModelBusyError, match="is overloaded or has an outage"):
        await JudgeMeasurement(model, tmp_path / "judges", sleep).ask({"mills": [Pair(*PAIRS[0])]}, lambda done, of: None)
    assert len(provider.requests) == 1 + len(PAUSES_S)


async def test_a_question_that_is_too_long_for_the_model_counts_as_unusable(
    settings: Settings, provider: FakeProvider, tmp_path: Path
) -> None:
    model = resolve_model("openai:gpt-4.1", settings=settings)
    provider.answer = lambda body: Fault("context overflow")
    answers = await JudgeMeasurement(model, tmp_path / "judges").ask({"mills": [Pair(*PAIRS[0])]}, lambda done, of: None)
    assert answers.of == {"mills": [None]}
