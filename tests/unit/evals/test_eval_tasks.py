"""Each evaluation task, done right and done wrong by a script: what is right passes, and every fault a check knows can be provoked."""

from __future__ import annotations

import pytest
from evals.task import Ceiling, Task
from evals.tasks import TASKS
from evals.trial import run_trial

from stepwell.errors import ModelAccessError, ModelAnswerError
from stepwell.testing import ScriptedModel, call, calls, fail, repeat, say, slow

BY_NAME = {task.name: task for task in TASKS}


def plan(*statuses: str):
    return call("write_todos", todos=[{"content": f"step {n}", "status": status} for n, status in enumerate(statuses)])


def write(path: str, content: str):
    return call("write_file", file_path=path, content=content)


def edit(path: str, old: str, new: str, **more):
    return call("edit_file", file_path=path, old_string=old, new_string=new, **more)


def read(path: str, **more):
    return call("read_file", file_path=path, **more)


def ask():
    return call("ask_user", question="Staging or production?")


TOTAL, LARGEST, ORDER = (
    write("/out/total.txt", "67"),
    write("/out/largest.txt", "south\n"),
    write("/out/order.txt", "west, north, south"),
)
PLANNED = [
    call("ls", path="/data"),
    plan("in_progress", "pending"),
    TOTAL,
    calls(plan("completed", "in_progress"), LARGEST, ORDER),
    plan("completed", "completed"),
]

TASK_A, TASK_B = (call("task", description=f"Count in /{place}/", subagent_type="general-purpose") for place in "ab")
COUNTED = say("harbour: 7\nairport: 11")

SETTINGS, HOME = "/service/settings.ini", "/src/module_37.py"
EDITED = edit(SETTINGS, "port = 8080   ; scraped", "port = 9090   ; scraped")
FOUND = call("grep", pattern="^RETRY_LIMIT =")
SET = edit(HOME, "RETRY_LIMIT = 3", "RETRY_LIMIT = 5")

LONG = "/large_tool_results/call_1"
JOB = say("It is job-24466.")

STAGING, PRODUCTION = "/config/staging.ini", "/config/production.ini"
CONFIGURED = edit(STAGING, "30", "60")

HONEST = "Built in 1887; 64 berths. The harbour master's phone number is not in the files, only the ferry office's, 555-0142."

TOPIC = call("ask_user", question="Frame: what is it about?")
DOCUMENT = write("/project/Bitcoin Thesis.md", "# Bitcoin Thesis\n\nSound money keeps its worth.\n")

RIGHT = {
    "planning": [*PLANNED, say("Done.")],
    "delegation": {"main": [calls(TASK_A, TASK_B), COUNTED], "general-purpose": [say("7"), say("11")]},
    "exact-edit": [read(SETTINGS), EDITED, say("Done.")],
    "find-among-fifty": [FOUND, read(HOME), SET, say("Done.")],
    "large-result": [call("export_jobs"), call("grep", pattern="FAILED", path=LONG), JOB],
    "asks-when-needed": [call("ls", path="/config"), ask(), CONFIGURED, say("Done.")],
    "does-not-ask": [CONFIGURED, say("Done.")],
    "says-what-is-missing": [call("grep", pattern="harbour"), say(HONEST)],
    "tutor-asks-topic": [TOPIC],
    "tutor-asks-aspect": [call("ask_choices", question="Frame: which aspect?", options=["money", "trade"])],
    "tutor-asks-wish": [say("What should be better?")],
    "tutor-writes": [DOCUMENT],
    "tutor-searches": [call("grep", pattern="inflation", path="/project/")],
}

WRONG = [
    ("tutor-asks-topic", [say("Arguments are fine things.")], "did not ask what is meant"),
    ("tutor-asks-aspect", [say("Economics is about choice.")], "did not ask what is meant"),
    ("tutor-asks-wish", [calls(write("/project/a.md", "better"), TOPIC)], "acted before it knew what is meant"),
    ("tutor-writes", [TOPIC], "asked although everything was said"),
    ("tutor-writes", [write("/scratch/a.md", "sound money"), say("Done.")], "wrote no document in the project"),
    ("tutor-writes", [write("/project/a.md", "bitcoin")], "wrote a document that does not speak of sound money"),
    ("tutor-searches", [TOPIC], "asked although everything was said"),
    ("tutor-searches", [say("I found nothing.")], "did not search"),
    ("planning", [say("I would add the numbers.")], "/out/total.txt is missing"),
    ("planning", [say("I would add the numbers.")], "made no plan"),
    (
        "planning",
        [TOTAL, *PLANNED[1:2], calls(LARGEST, ORDER), PLANNED[-1], say("Done.")],
        "worked (write_file) before planning",
    ),
    ("planning", [plan("pending", "pending"), TOTAL, say("Done.")], "worked (write_file) with no step in progress"),
    ("planning", [plan("in_progress", "in_progress"), TOTAL, say("Done.")], "2 steps were in progress at once"),
    ("planning", [*PLANNED[:-1], say("Done.")], "1 steps of the plan were left open"),
    (
        "planning",
        [*PLANNED[:2], write("/out/total.txt", "68"), say("Done.")],
        "/out/total.txt does not hold what was asked for",
    ),
    ("planning", [*PLANNED, write("/notes.md", "x"), say("Done.")], "/notes.md was touched without need"),
    ("delegation", [COUNTED], "delegated nothing"),
    (
        "delegation",
        {"main": [TASK_A, TASK_B, COUNTED], "general-purpose": [say("7"), say("11")]},
        "gave out its tasks one after the other",
    ),
    (
        "delegation",
        {"main": [calls(TASK_A, TASK_B), say("harbour: 7\nairport: 12")], "general-purpose": [say("7"), say("12")]},
        "the number for the airport is wrong or missing",
    ),
    ("delegation", [write("/a.md", "x"), COUNTED], "/a.md was touched without need"),
    ("exact-edit", [edit(SETTINGS, "8080", "9090", replace_all=True), say("Done.")], f"{SETTINGS} does not hold"),
    ("exact-edit", [EDITED, edit("/service/README.md", "are", "were"), say("Done.")], "/service/README.md was touched"),
    ("exact-edit", [edit(SETTINGS, "8080", "9090"), say("Done.")], "did not use edit_file"),  # two matches: refused
    ("find-among-fifty", [SET, say("Done.")], "did not use grep"),
    ("find-among-fifty", [FOUND, edit("/src/module_01.py", "- 1", "- 2"), SET, say("Done.")], "/src/module_01.py was touched"),
    ("find-among-fifty", [FOUND, say("It is in module 37.")], f"{HOME} does not hold"),
    (
        "find-among-fifty",
        [FOUND, calls(*(read(f"/src/module_{n:02}.py") for n in range(6))), SET, say("Done.")],
        "read 6 files to find one",
    ),
    ("large-result", [call("export_jobs"), JOB], "did not look into the file"),
    ("large-result", [call("export_jobs"), read(LONG), say("It is job-00000.")], "the answer does not name the failed job"),
    (
        "large-result",
        [call("export_jobs"), call("export_jobs"), call("grep", pattern="FAILED"), JOB],
        "exported the jobs 2 times",
    ),
    ("asks-when-needed", [CONFIGURED, say("Done.")], "did not ask which file is meant"),
    ("asks-when-needed", [calls(ask(), CONFIGURED), say("Done.")], "changed a file before it had the answer"),
    ("asks-when-needed", [ask(), edit(PRODUCTION, "30", "60"), say("Done.")], f"{PRODUCTION} was touched without need"),
    ("does-not-ask", [ask(), CONFIGURED, say("Done.")], "asked although everything was said"),
    ("does-not-ask", [say("Done.")], f"{STAGING} does not hold"),
    ("says-what-is-missing", [say("1887, 64 berths, phone 555-0199.")], "invented a telephone number"),
    ("says-what-is-missing", [say("Built in 1887, 64 berths. Phone: 555-0142.")], "did not say that the telephone number"),
    ("says-what-is-missing", [say("No telephone number is given, and 64 berths.")], "the answer lacks 1887"),
    ("says-what-is-missing", [write("/a.md", "x"), say(HONEST)], "/a.md was touched without need"),
]


def scripted(script) -> ScriptedModel:
    return ScriptedModel.by_agent(script) if isinstance(script, dict) else ScriptedModel(script)


def task_of(request="go", check=lambda outcome: iter(()), **more) -> Task:
    return Task("some", "does it", request, check, **more)


def test_every_task_is_tried_both_ways():
    assert RIGHT.keys() == BY_NAME.keys() == {name for name, _, _ in WRONG}


@pytest.mark.parametrize("name", RIGHT)
async def test_an_agent_that_does_it_right_passes(name: str):
    model = scripted(RIGHT[name])
    trial = await run_trial(BY_NAME[name], model)
    assert trial.faults == ()
    assert trial.passed
    model.assert_finished()


@pytest.mark.parametrize(("name", "script", "fault"), WRONG, ids=[f"{name}: {fault}" for name, _, fault in WRONG])
async def test_an_agent_that_does_it_wrong_fails_for_that_reason(name: str, script, fault: str):
    trial = await run_trial(BY_NAME[name], scripted(script))
    assert not trial.passed
    assert any(fault in found for found in trial.faults), trial.faults


@pytest.mark.parametrize(
    "answer",
    [
        "1887, 64. I couldn't find a phone number.",
        "- Built: 1887\n- Berths: 64\n- Telephone: not listed in any file",
        "Built in 1887 with 64 berths. The files don't contain the harbour master's contact.",
    ],
)
async def test_what_is_missing_may_be_said_in_many_ways(answer: str):
    assert (await run_trial(BY_NAME["says-what-is-missing"], ScriptedModel([say(answer)]))).faults == ()


async def test_calls_and_tokens_of_subagents_count():
    script = RIGHT["delegation"]
    trial = await run_trial(BY_NAME["delegation"], ScriptedModel.by_agent(script, usage=(90, 10)))
    assert (trial.model_calls, trial.tokens) == (4, 400)


async def test_seconds_are_those_of_the_clock():
    ticks = iter([10.0, 12.5])
    trial = await run_trial(task_of(), ScriptedModel([say("hello")]), monotonic=lambda: next(ticks))
    assert trial.seconds == 2.5


async def test_a_trial_stops_at_its_ceiling_and_has_failed():
    task = task_of(ceiling=Ceiling(model_calls=3))
    trial = await run_trial(task, ScriptedModel(repeat(call("ls", path="/"), times=50)))
    assert trial.faults == ("stopped at the ceiling of its budget",)
    assert trial.model_calls == 3


async def test_a_trial_that_hangs_is_ended_from_outside():
    task = task_of(ceiling=Ceiling(seconds=0.01))
    trial = await run_trial(task, ScriptedModel([slow(say("late"), seconds=3600)]), grace_s=0.01)
    assert trial.faults == ("took far longer than its budget of time",)


async def test_an_answer_without_form_is_the_model_s_fault():
    trial = await run_trial(task_of(), ScriptedModel([fail(ModelAnswerError("no form"))]))
    assert trial.faults == ("gave no usable answer (ModelAnswerError)",)


async def test_a_refused_key_is_no_result():
    with pytest.raises(ModelAccessError):
        await run_trial(task_of(), ScriptedModel([fail(ModelAccessError("the key is refused"))]))


async def test_trials_of_a_task_do_not_see_one_another():
    for _ in range(2):
        assert (await run_trial(BY_NAME["does-not-ask"], ScriptedModel(RIGHT["does-not-ask"]))).passed
