"""`make eval`: whether there is a model to evaluate, and the page that is written, whole or not at all."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from evals.capable import find_candidate
from evals.report import Facts, page, write_page
from evals.run import main
from evals.task import Task
from evals.trial import Trial

from stepwell.errors import MissingExtraError, ModelAccessError, ModelUnavailableError
from stepwell.settings import Settings
from stepwell.testing import ScriptedModel, each_run, fail, say

KEY = Settings.load({"ANTHROPIC_API_KEY": "sk-not-real"})
NOTHING = Settings.load({})


def says(word: str):
    def check(outcome):
        if word not in outcome.answer:
            yield f"did not say {word}"

    return check


GREET = Task("greet", "greets", "Say hello.", says("hello"))
PART = Task("part", "says goodbye", "Say goodbye.", says("goodbye"))


def run(arguments=(), *, settings=KEY, script=None, tasks=(GREET, PART), target: Path) -> int:
    model = ScriptedModel(script if script is not None else each_run([say("hello, | there")]), usage=(90, 10))
    return main(list(arguments), settings=settings, build=lambda choice, settings: model, tasks=tasks, target=target)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "evaluation.md"


def left_in(target: Path) -> list[str]:
    return [path.name for path in target.parent.iterdir()]


def test_without_a_capable_model_one_sentence_and_nothing_else(target: Path, capsys):
    assert run(settings=NOTHING, target=target) == 0
    said = capsys.readouterr().out
    assert said.startswith("Nothing is evaluated: the model found is local:smollm2-135m (nothing else is configured)")
    assert "cannot be trusted to call tools or to write answers" in said
    assert "ANTHROPIC_API_KEY" in said
    assert said.count("\n") == said.count(". ") + 1 == 1
    assert left_in(target) == []


@pytest.mark.parametrize(
    ("settings", "lacks"),
    [
        ({"STEPWELL_LOCAL_MODEL": "qwen2.5-1.5b"}, ("call tools",)),
        ({"STEPWELL_LOCAL_MODEL": "qwen3-4b"}, ()),
        ({"STEPWELL_LOCAL_MODEL": "/models/mine.gguf"}, ()),
        ({"OLLAMA_MODEL_NAME": "qwen3:8b"}, ()),
        ({"OPENAI_API_KEY": "k"}, ()),
    ],
)
def test_a_model_is_judged_by_its_capabilities(settings, lacks):
    assert find_candidate(None, Settings.load(settings)).lacks == lacks


def test_a_file_of_one_s_own_is_named_without_its_place():
    candidate = find_candidate(None, Settings.load({"STEPWELL_LOCAL_MODEL": "/models/mine.gguf"}))
    assert candidate.title == "local:mine.gguf"
    assert find_candidate("groq:openai/gpt-oss-120b", NOTHING).title == "groq:openai/gpt-oss-120b"


def test_a_wrong_name_is_an_error_of_who_typed_it(target: Path, capsys):
    assert run(["--model", "nobody:knows"], target=target) == 2
    assert "Unknown model provider 'nobody'" in capsys.readouterr().out


@pytest.mark.parametrize(
    "error", [MissingExtraError("The model provider 'anthropic'", "anthropic"), ModelUnavailableError("no")]
)
def test_a_model_that_cannot_be_built_is_no_model(target: Path, capsys, error):
    def build(choice, settings):
        raise error

    assert main([], settings=KEY, build=build, tasks=[GREET], target=target) == 0
    assert capsys.readouterr().out == f"Nothing is evaluated: {error}\n"


def test_the_page_has_model_date_command_table_and_faults(target: Path, capsys):
    assert run(["--times", "2"], target=target) == 0
    text = target.read_text()
    assert "model: `anthropic:claude-sonnet-4-6`" in text
    assert "2 trials of each task, 2 of 4 passed" in text
    assert "| greet | greets | 2 of 2 | 1 | 100 | 0." in text
    assert "| part | says goodbye | 0 of 2 | 1 | 100 | 0." in text
    assert "- part, trial 2: did not say goodbye" in text
    assert "sk-not-real" not in text + capsys.readouterr().out
    assert left_in(target) == ["evaluation.md"]


def test_trials_are_three_unless_said(target: Path):
    run(tasks=[GREET], target=target)
    assert "3 of 3" in target.read_text()


def test_the_page_as_a_whole():
    trials = [Trial((), 4, 1200, 3.0), Trial(("broke a|b",), 6, 800, 9.0), Trial((), 5, 5000, 4.0)]
    text = page([(GREET, trials)], Facts("local:x", date(2026, 11, 15), 3, "0.1.0"))
    assert "- date: 2026-11-15\n- Stepwell 0.1.0, 3 trials of each task, 2 of 3 passed\n" in text
    assert '`STEPWELL_MODEL=local:x make eval ARGS="--times 3"`' in text
    assert "| greet | greets | 2 of 3 | 5 | 1,200 | 4.0 |" in text
    assert "may still fail 63% of the\ntime" in text
    assert text.endswith("## What failed\n\n- greet, trial 2: broke a|b\n")


def test_some_tasks_only_write_no_page(target: Path, capsys):
    assert run(["--only", "part", "--times", "1"], target=target) == 0
    said = capsys.readouterr().out
    assert "part: did not say goodbye" in said
    assert "greet" not in said
    assert left_in(target) == []


@pytest.mark.parametrize(
    ("broken", "status", "said"),
    [
        (KeyboardInterrupt, 130, "Interrupted: no page was written."),
        (ModelAccessError("The key is refused."), 1, "no page was written: The key is refused."),
    ],
)
def test_a_run_that_breaks_off_leaves_the_last_page(target: Path, capsys, broken, status: int, said: str):
    target.write_text("the last page")
    assert run(["--times", "1"], script=[say("hello"), fail(broken)], target=target) == status
    assert said in capsys.readouterr().out
    assert target.read_text() == "the last page"
    assert left_in(target) == ["evaluation.md"]


def test_a_page_that_cannot_be_written_leaves_nothing(target: Path):
    target.write_text("the last page")
    with pytest.raises(UnicodeEncodeError):
        write_page("new \ud800", target)
    assert target.read_text() == "the last page"
    assert left_in(target) == ["evaluation.md"]


@pytest.mark.parametrize("arguments", [["--times", "0"], ["--times", "many"], ["--only", "planing"]])
def test_wrong_options_are_refused(arguments, target: Path, capsys):
    with pytest.raises(SystemExit):
        run(arguments, target=target)
    assert arguments[1] in capsys.readouterr().err
