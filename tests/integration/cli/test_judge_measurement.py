"""`stepwell models judge` as a process, against a provider on loopback: what it asks, counts, keeps and stores."""

from __future__ import annotations

import itertools
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.integration.cli.test_cli import environment, warm
from tests.support.providers import FakeProvider, Fault, Reply
from tests.support.providers.openai import OPENAI

PAIRS = [
    ("The Ostra mill has two wheels.", "The Ostra mill has two wheels and a pond.", "supported"),
    ("The Ostra mill has a pond.", "The Ostra mill has two wheels and a pond.", "supported"),
    ("The miller sold the mill in 1911.", "In 1911 the miller sold the mill to his niece.", "supported"),
    ("Flour from Ostra was prized for its scent.", "The bakers of Lund valued what came from Ostra.", "supported"),
    ("The Ostra mill has nine wheels.", "The Ostra mill has two wheels and a pond.", "refuted"),
    ("The Ostra mill is haunted.", "The Ostra mill has two wheels and a pond.", "nei"),
    ("The niece sold the miller.", "In 1911 the miller sold the mill to his niece.", "refuted"),
    ("The miller sold the mill to please the niece.", "In 1911 the miller sold the mill to his niece.", "nei"),
    # Labelled by somebody who knows more than the text says: no rule can doubt it.
    ("The reeve weighed fairly.", "The reeve weighed fairly.", "refuted"),
]
TRUE = {claim for claim, _, label in PAIRS if label == "supported"}


def opinion(verdict: str) -> Reply:
    return Reply(json.dumps({"verdict": verdict, "reason": "so it says"}))


def asked_about(body: Mapping[str, Any]) -> str:
    """The claim of a request, found in the fence where the product puts it."""
    text = str(body["messages"][1]["content"])
    return next(claim for claim, _, _ in PAIRS if claim in text.partition("The quotes:")[0])


def knows_all(body: Mapping[str, Any]) -> Reply:
    return opinion("supported" if asked_about(body) in TRUE else "unsupported")


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider(OPENAI) as provider:
        provider.answer = knows_all
        yield provider


Measure = Callable[..., Any]


@pytest.fixture
def measure(tmp_path: Path, provider: FakeProvider) -> Measure:
    sets = tmp_path / "sets"
    sets.mkdir()
    lines = [json.dumps({"claim": claim, "evidence": evidence, "label": label}) for claim, evidence, label in PAIRS]
    (sets / "mills.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    here = {"cwd": tmp_path, "STEPWELL_DATA_DIR": str(tmp_path / "data"), "NO_PROXY": "127.0.0.1", **provider.variables}
    return lambda *more: warm("models", "judge", str(sets), *more, **here)


def row(shown: str, name: str) -> str:
    return re.findall(rf"^\| {name} \| (.*) \|$", shown, re.MULTILINE)[0]


def test_a_judge_is_measured_beside_the_rules_and_asked_once(measure: Measure, provider: FakeProvider) -> None:
    done = measure()
    assert done.returncode == 0, done.stderr
    assert "openai:gpt-4.1 judges 9 of mills: about " in done.stdout
    assert "9 of 9 claims" in done.stderr
    assert len(provider.requests) == 9
    assert "Asked in this run: 9 calls, 11,106 tokens, $0.0240." in done.stdout
    assert row(done.stdout, "model alone: precision").startswith("100.0 (")
    assert row(done.stdout, "model alone: recall").startswith("100.0 (")
    assert row(done.stdout, "both together: precision").startswith("100.0 (")
    assert row(done.stdout, "both together: recall") == row(done.stdout, "rules alone: recall")
    assert row(done.stdout, "unusable answers").startswith("0.0 (")
    assert row(done.stdout, "true and false claims") == "4 and 5"
    assert "Judged by openai:gpt-4.1. Of the sentences that it and the rules call supported, 100 % are true" in done.stdout

    again = measure()
    assert again.returncode == 0, again.stderr
    assert "Every answer was kept from before: nothing was asked." in again.stdout
    assert len(provider.requests) == 9
    assert again.stdout.splitlines()[2:] == done.stdout.splitlines()[2:]


def test_a_judge_is_asked_as_in_a_report(measure: Measure, provider: FakeProvider) -> None:
    assert measure("--claims", "2").returncode == 0
    for body in provider.requests:
        system, human = body["messages"]
        assert system["content"].startswith("You check one sentence against quotes.")
        assert re.search(r"The quotes:\n.*\ne1: ", human["content"], re.DOTALL)


def test_the_sample_is_balanced_and_the_seed_draws_it(measure: Measure, provider: FakeProvider) -> None:
    def drawn(*options: str) -> list[str]:
        before = len(provider.requests)
        assert measure(*options).returncode == 0
        return sorted(map(asked_about, provider.requests[before:]))

    first = drawn("--claims", "4", "--seed", "3")
    assert [claim in TRUE for claim in first].count(True) == 2
    assert len(first) == 4
    assert drawn("--claims", "4", "--seed", "3") == []


def test_a_stopped_measurement_goes_on_where_it_was(measure: Measure, provider: FakeProvider) -> None:
    answered: list[str] = []

    def until_the_key_is_refused(body: Mapping[str, Any]) -> Reply | Fault:
        if len(answered) == 3:
            return Fault("wrong key")
        answered.append(asked_about(body))
        return knows_all(body)

    provider.answer = until_the_key_is_refused
    stopped = measure()
    assert stopped.returncode == 1
    assert "refused the key (401)" in stopped.stderr
    assert "run the same command again to ask only for the missing ones" in stopped.stderr
    assert "precision" not in stopped.stdout

    provider.answer = knows_all
    provider.plan()
    done = measure()
    assert done.returncode == 0, done.stderr
    assert not set(map(asked_about, provider.requests)) & set(answered)


def test_control_c_keeps_what_was_answered(measure: Measure, provider: FakeProvider, tmp_path: Path) -> None:
    waits, turns = threading.Event(), itertools.count()

    def slow_from_the_third(body: Mapping[str, Any]) -> Reply:
        if next(turns) >= 2:
            waits.wait(60)
        return knows_all(body)

    provider.answer = slow_from_the_third
    command = [sys.executable, "-m", "stepwell", "models", "judge", "sets"]
    here = environment(STEPWELL_DATA_DIR=str(tmp_path / "data"), NO_PROXY="127.0.0.1", **provider.variables)
    with subprocess.Popen(
        command, cwd=tmp_path, env=here, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        seen = next(line for line in process.stderr if line.startswith("2 of"))
        process.send_signal(signal.SIGINT)
        told = seen + process.stderr.read()
        assert process.wait(60) == 130, told
    waits.set()
    assert "Stopped. Its answers are kept: run the same command again" in told

    provider.answer = knows_all
    done = measure()
    assert done.returncode == 0, done.stderr
    assert f"Asked in this run: {len(PAIRS) - 2} calls" in done.stdout


def test_a_judge_without_usable_answers_is_called_poor(measure: Measure, provider: FakeProvider) -> None:
    provider.answer = lambda body: Reply("I like mills.") if len(asked_about(body)) > 30 else knows_all(body)
    done = measure()
    assert done.returncode == 0, done.stderr
    unusable = sum(len(claim) > 30 for claim, _, _ in PAIRS)
    assert row(done.stdout, "unusable answers").startswith(f"{100 * unusable / 9:.1f} (")
    assert f"because {100 * unusable / 9:.0f} % of its answers were unusable: choose another one under Settings" in done.stdout


def test_a_judge_who_agrees_with_everything_adds_nothing(measure: Measure, provider: FakeProvider) -> None:
    provider.answer = lambda body: opinion("supported")
    done = measure()
    assert row(done.stdout, "both together: precision") == row(done.stdout, "rules alone: precision")
    assert row(done.stdout, "both together: recall") == row(done.stdout, "rules alone: recall")
    assert row(done.stdout, "model alone: precision").startswith("60.0 (")  # as often as the writer is right
    assert "It is a poor judge, because its agreement adds nothing to the rules: choose another one" in done.stdout
