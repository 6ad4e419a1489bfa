"""Every example does what it says: with a scripted model, with a real one where there is a key, and without any.

An example is found by its name (`NN_name.py`). A new one fails here until it has a play in `PLAYS`.
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp.client.stdio  # noqa: F401  # binds the stderr of its first import, which must not be that of one test's capture
import pytest

from stepwell import ConfigurationError
from stepwell.middleware.shell import ShellMiddleware
from stepwell.models.choice import model_from_environment
from stepwell.settings import Settings
from stepwell.testing import Asked, Reply, ScriptedModel, call, calls, each_run, expect, reply, say
from stepwell.testing.backends.conformance import BackendConformance

EXAMPLES = Path(__file__).parents[2] / "examples"
NUMBERED = sorted(EXAMPLES.glob("[0-9][0-9]_*.py"))
MOST_LINES = 40


@dataclass(frozen=True)
class Play:
    """The model's part in an example, what else `main` is given, and what must show on the screen, in this order."""

    model: ScriptedModel
    shown: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)


def hello() -> Play:
    plan = call("write_file", file_path="/walk.md", content="# A walk\n\n1. The fish market")
    return Play(ScriptedModel([plan, say("Best: soup at the market.")]), ("Best: soup", "--- /walk.md", "1. The fish market"))


def tools() -> Play:
    right = "SELECT item, SUM(pieces * price) FROM orders GROUP BY item ORDER BY 2 DESC LIMIT 1"
    turns = [
        calls(call("query", sql="DROP TABLE orders"), call("query", sql="PRAGMA query_only = OFF")),
        expect(lambda asked: all("SQLite refuses this" in said.text for said in asked.results), then=call("query", sql=right)),
        expect(lambda asked: "122.5" in asked.results[0].text, then=say("The kettle: 122.50.")),
    ]
    return Play(ScriptedModel(turns), ("SQLite refuses this", "122.5", "The kettle: 122.50."))


def files() -> Play:
    turns = [
        call("grep", pattern="TODO|Call", path="/"),
        expect(
            lambda asked: asked.assert_mentions("monday.txt", "tuesday.txt"),
            then=call("write_file", file_path="/todo.md", content="- [ ] roofer\n- [ ] filter"),
        ),
        call("read_file", file_path="/../secret.txt"),
        expect(
            lambda asked: asked.results[0].status == "error",
            then=calls(
                call("move", source="/monday.txt", destination="/archive/monday.txt"), call("delete", file_path="/tuesday.txt")
            ),
        ),
        expect(
            lambda asked: asked.assert_mentions("Moved /monday.txt", "Deleted /tuesday.txt"), then=say("Two things are left.")
        ),
    ]
    return Play(
        ScriptedModel(turns), ("Two things are left.", "on disk: archive/monday.txt", "todo.md\n- [ ] roofer", "climbs out")
    )


def subagents() -> Play:
    views = ("correctness", "concurrency", "naming")
    model = ScriptedModel.by_agent(
        {
            "main": [
                calls(*(call("task", description=view, subagent_type="reviewer") for view in views)),
                say("First: check the balance."),
            ],
            "reviewer": each_run([reply(lambda asked: f"A problem of {asked.first_human}.")]),
        }
    )
    return Play(model, (*(f"A problem of {view}." for view in views), "the agent, after", "First: check the balance."))


def approvals() -> Play:
    letters = [call("send_letter", to=who, text=f"Dear {who}") for who in ("landlord", "neighbour", "mayor")]
    model = ScriptedModel(
        [
            calls(*letters),
            expect(lambda asked: asked.assert_mentions("too early"), then=say("Two letters went out.")),
        ]
    )
    answers = iter(["y", "Is yours cold, too?", "n too early"])
    return Play(model, ("*** sent to", "*** sent to", "Two letters went out."), {"ask": lambda question: next(answers)})


def memory() -> Play:
    turns = [
        call("ls", path="/memories/"),
        calls(
            call("write_file", file_path="/memories/diet.md", content="Eats no nuts."),
            call("write_file", file_path="/drafts/cake.md", content="Lemon cake"),
        ),
        say("A lemon cake."),
        expect(lambda asked: not asked.mentions("nuts"), then=call("read_file", file_path="/memories/diet.md")),
        expect(lambda asked: asked.assert_mentions("Eats no nuts."), then=say("Beans and lemon, no walnuts.")),
    ]
    shown = (
        "A lemon cake.",
        "(files of this conversation: /drafts/cake.md)",
        "no walnuts",
        "conversation: none",
        "Eats no nuts.",
    )
    return Play(ScriptedModel(turns), shown)


def streaming() -> Play:
    def todos(*statuses: str) -> Any:
        steps = ("telegraph", "telephone", "compare")
        plan = [{"content": step, "status": status} for step, status in zip(steps, statuses, strict=True)]
        return call("write_todos", todos=plan)

    asks = calls(*(call("task", description=what, subagent_type="historian") for what in ("telegraph", "telephone")))
    main = [
        todos("in_progress", "pending", "pending").saying("First a plan."),
        asks,
        todos("completed", "completed", "in_progress"),
        say("Thirty years lie between them."),
    ]
    historian = each_run([reply(lambda asked: f"The {asked.first_human} came.")])
    model = ScriptedModel.by_agent({"main": main, "historian": historian})
    shown = ("[agent] First a plan.", "[>] telegraph", "[historian ", "[x] telegraph", "[agent] Thirty years")
    return Play(model, shown)


def custom_backend() -> Play:
    turns = [
        call("write_file", file_path="/haiku.txt", content="Deep water, old steps"),
        call("edit_file", file_path="/haiku.txt", old_string="old", new_string="worn"),
        call("edit_file", file_path="/haiku.txt", old_string="absent", new_string="x"),
        say("It is worn now."),
    ]
    shown = ("It is worn now.", "+ 'Deep water, old steps'", "--- /haiku.txt\n- 'old'\n+ 'worn'")
    return Play(ScriptedModel(turns), shown)


def mcp_tools() -> Play:
    turns = [
        calls(call("harvest_day", fruit="plums"), call("harvest_day", fruit="quinces")),
        expect(
            lambda asked: asked.assert_mentions("2026-08-20", "2026-10-11"),
            then=call("days_between", first="2026-08-20", second="2026-10-11"),
        ),
        expect(lambda asked: asked.results[0].text == "52", then=say("52 days.")),
    ]
    return Play(ScriptedModel(turns), ("2026-10-11", "days_between", "52 days."))


def shell() -> Play:
    program = "import sys\nn = int(sys.argv[1])\nprint(sum(all(p % d for d in range(2, p)) for p in range(2, n)))\n"
    turns = [
        call("write_file", file_path="/workspace/primes.py", content=program),
        call("execute", command="python3 primes.py 100; ls; cat /etc/shadow"),
        expect(lambda asked: asked.assert_mentions("25", "No such file"), then=say("25 primes below 100.")),
    ]
    return Play(ScriptedModel(turns), ("$ python3 primes.py 100", "25\nprimes.py", "No such file", "25 primes below 100."))


def skills() -> Play:
    letter = "Good day, Ada. Order 17, your pump, comes on Friday.\nYours, the well makers"
    turns = [
        expect(
            lambda asked: "- **letters**: Write letters" in asked.system,
            then=call("read_file", file_path="/skills/letters/SKILL.md"),
        ),
        expect(
            lambda asked: asked.assert_mentions("Name the order"),
            then=call("write_file", file_path="/letter.md", content=letter),
        ),
        say("It is in /letter.md."),
    ]
    return Play(
        ScriptedModel(turns), ("read_file: /skills/letters/SKILL.md", "write_file: /letter.md", "--- /letter.md", "Order 17")
    )


def memory_files() -> Play:
    known = "- Beds are numbered 1 to 4.\n"
    edit = call("edit_file", file_path="/AGENTS.md", old_string=known, new_string=f"{known}- Bed 2: carrots.\n")
    turns = [
        expect(lambda asked: "Beds are numbered" in asked.system and "only for people" not in asked.system, then=edit),
        say("I will remember it."),
        expect(lambda asked: "Bed 2: carrots." in asked.system, then=say("Carrots.")),
    ]
    return Play(ScriptedModel(turns), ("agent: I will remember it.", "agent: Carrots.", "--- /AGENTS.md", "- Bed 2: carrots."))


def tool_search() -> Play:
    turns = [
        expect(lambda asked: "set_cellar_light" not in asked.tool_names, then=call("tool_search", query="light in the cellar")),
        expect(lambda asked: asked.assert_offers("set_cellar_light"), then=call("set_cellar_light", state="on")),
        say("The light is on."),
        call("set_cellar_light", state="off"),
        say("It is dark again."),
    ]
    shown = ("*** light in the cellar: on", "-> The light is on.", "*** light in the cellar: off", "-> It is dark again.")
    return Play(ScriptedModel(turns), shown)


def guardrails() -> Play:
    turns = [
        say("I am sorry about your lamp."),
        call("refund", euros=80),
        expect(lambda asked: asked.assert_mentions("at most 50", "refunded nothing yet"), then=call("refund", euros=50)),
        say("You get 50 euros back now."),
    ]
    shown = ("> Charge", "Please leave out card numbers.", "*** refunded 50 euros", "You get 50 euros back now.")
    return Play(ScriptedModel(turns), shown)


def steering() -> Play:
    turns = [
        call("survey", place="Chand Baori"),
        expect(lambda asked: asked.assert_mentions("in feet, please"), then=say("About 89 feet.")),
    ]
    shown = ("*** sent while it works, number 1 in line", "human: Give the depth in feet, please.", "ai: About 89 feet.")
    return Play(ScriptedModel(turns), shown)


def images_and_documents() -> Play:
    turns = [
        calls(call("read_file", file_path="/flag.png"), call("read_file", file_path="/well.ipynb")),
        expect(
            lambda asked: asked.results[0].content[0]["type"] == "image" and "27.5" in asked.results[1].text,
            then=call("grep", pattern="failed", path="/large_messages"),
        ),
        expect(lambda asked: "minute 21500" in asked.results[0].text, then=say("Red; 27.5; in minute 21,500.")),
    ]
    shown = ("/flag.png: PNG image, 64 × 48 pixels", "[cell 1, output]", "minute 21500", "Red; 27.5; in minute 21,500.")
    return Play(ScriptedModel(turns, profile={"image_inputs": True}), shown)


def checked_before_done() -> Play:
    text = "A stepwell is a well with stairs down to the water, so that many people could fetch it."
    clear, use = {"name": "clear", "passed": True}, {"name": "use", "passed": False, "gap": "It does not say why."}
    judged = {"result": "needs_revision", "explanation": "Nearly.", "criteria": [{"name": "clear", "passed": True}, use]}
    turns = [
        say("A stepwell is a well."),
        expect(
            lambda asked: asked.assert_mentions("There is no file /stepwell.md yet."),
            then=call("write_file", file_path="/stepwell.md", content="A stepwell is a well with stairs."),
        ),
        say("It is in the file."),
        call("GraderResponse", **judged),
        expect(
            lambda asked: asked.assert_mentions("use: It does not say why."),
            then=call("write_file", file_path="/stepwell.md", content=text, overwrite=True),
        ),
        say("The text is in /stepwell.md."),
        call("GraderResponse", result="satisfied", explanation="Good.", criteria=[clear, {"name": "use", "passed": True}]),
    ]
    shown = (
        "✗ is in the file (by code)",
        "✗ use (by model) It does not say why.",
        "--- check 3: satisfied",
        "The text is in /",
    )
    return Play(ScriptedModel(turns), shown)


def background() -> Play:
    def start(place: str):
        return call("start_async_task", description=f"What is {place} known for?", subagent_type="researcher")

    model = ScriptedModel.by_agent(
        {
            "main": [
                calls(start("Abhaneri"), start("Patan")),
                say("Two researchers are at work."),
                expect(lambda asked: "is done. Its answer" in asked.messages[-1].text, then=say("The first one is back.")),
                expect(lambda asked: "is done. Its answer" in asked.messages[-1].text, then=say("So is the second.")),
            ],
            "researcher": lambda asked: (
                say(f"It has {asked.results[0].text}.")
                if asked.turn
                else call("look_up", place=asked.messages[-1].text.split()[2])
            ),
        }
    )
    return Play(model, ("Two researchers are at work.", "The first one is back.", "So is the second."))


def permissions() -> Play:
    letter = call("write_file", file_path="/letters/roofer.md", content="Dear roofer")
    turns = [
        calls(call("glob", pattern="**/*"), letter),
        expect(
            lambda asked: "diary" not in asked.results[0].text and "plan mode" in asked.results[1].text,
            then=say("I would write it."),
        ),
        calls(call("write_file", file_path="/templates/letter.md", content="x", overwrite=True), letter),
        expect(
            lambda asked: asked.assert_mentions("permission denied for write on '/templates/letter.md'"), then=say("Written.")
        ),
    ]
    shown = ("Planned: I would write it. Files changed: []", "Asks: write_file /letters/roofer.md", "Done: Written.")
    return Play(ScriptedModel(turns), shown)


def rewinding() -> Play:
    turns = [
        call("edit_file", file_path="/letter.md", old_string="Monday", new_string="Tuesday"),
        say("Changed."),
        call("delete", file_path="/letter.md"),
        say("Deleted."),
    ]
    shown = (
        "After two turns: (no letter)",
        "Going back would change: ['/letter.md'] +2 -0",
        "Before the second: Dear roofer,\nplease come on Tuesday.",
        "Before the first: Dear roofer,\nplease come on Monday.",
        "Undone: (no letter)",
    )
    return Play(ScriptedModel(turns), shown)


def subagent_history() -> Play:
    def ask(to: str, description: str, **more: str) -> Reply:
        return call("task", description=description, subagent_type=to, **more)

    def task_id(asked: Asked) -> str:
        found = (re.search(r"task_id: (.+)]", str(message.text)) for message in asked.messages)
        return next(match[1] for match in found if match)

    def heard(asked: Asked) -> list[str]:
        return [str(message.text) for message in asked.messages if message.type == "human"]

    scripts: dict[str, list[Any]] = {
        "main": [
            *(ask("researcher", "How deep is it?"), say("30 metres.")),
            *(reply(lambda asked: ask("researcher", "How many steps?", task_id=task_id(asked))), say("3,500 steps.")),
            *(ask("critic", "Which is weaker?"), say("The depth.")),
        ],
        "researcher": [
            say("About 30 metres; sure."),
            expect(lambda asked: heard(asked) == ["How deep is it?", "How many steps?"], then=say("3,500; fairly sure.")),
        ],
        "critic": [expect(lambda asked: len(heard(asked)) == 4, then=say("The depth is weaker."))],
    }
    shown = (
        "30 metres.",
        "3,500 steps.",
        "--- researcher, continuing ",
        "--- critic\nhuman: You are now a copy",
        "The depth is weaker.",
    )
    return Play(ScriptedModel.by_agent(scripts), shown)


PLAYS: dict[str, Callable[[], Play]] = {
    "01_hello": hello,
    "02_tools": tools,
    "03_files": files,
    "04_subagents": subagents,
    "05_approvals": approvals,
    "06_memory": memory,
    "07_streaming": streaming,
    "08_custom_backend": custom_backend,
    "09_mcp": mcp_tools,
    "10_shell": shell,
    "11_skills": skills,
    "12_memory_files": memory_files,
    "13_permissions": permissions,
    "14_images_and_documents": images_and_documents,
    "15_tool_search": tool_search,
    "16_guardrails": guardrails,
    "21_checked_before_done": checked_before_done,
    "20_rewind": rewinding,
    "17_steering": steering,
    "18_background": background,
    "19_subagent_history": subagent_history,
}


def named(example: Path) -> str:
    return example.stem


def environment(*, configured: bool) -> dict[str, str]:
    """The real environment, or one that names no model."""
    if configured:
        return {**os.environ, "PYTHONIOENCODING": "utf-8"}
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "SYSTEMROOT") if name in os.environ}
    return {**kept, "PYTHONIOENCODING": "utf-8"}


def run_script(example: Path, folder: Path, *, configured: bool, typed: str = "", timeout_s: float = 60):
    command = [sys.executable, str(example)]
    options = {"cwd": folder, "input": typed, "env": environment(configured=configured), "timeout": timeout_s}
    return subprocess.run(command, capture_output=True, encoding="utf-8", **options)


@pytest.fixture(params=NUMBERED, ids=named)
def example(request: pytest.FixtureRequest) -> Path:
    """Each example; the one with a sandbox only where there is one."""
    if "ShellMiddleware" in request.param.read_text(encoding="utf-8"):
        try:
            ShellMiddleware()
        except ConfigurationError as missing:
            if os.environ.get("CI"):
                raise
            pytest.skip(str(missing))
    return request.param


def test_every_play_has_its_example():
    assert [example.stem for example in NUMBERED] == sorted(PLAYS)


def test_example_shows_what_it_promises(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    play = PLAYS[example.stem]()
    runpy.run_path(str(example))["main"](play.model, **play.options)
    play.model.assert_finished()
    screen, place = capfd.readouterr().out, 0
    for sign in play.shown:
        assert sign in screen[place:], f"{sign!r} is missing, or comes too early, in:\n{screen}"
        place = screen.index(sign, place) + len(sign)
    assert list(tmp_path.iterdir()) == [], "an example leaves nothing behind in the folder it runs in"


def test_letters_go_out_as_the_person_decided(capsys: pytest.CaptureFixture[str]):
    """D10: one approved, one edited, one rejected, in one turn."""
    play = approvals()
    runpy.run_path(str(EXAMPLES / "05_approvals.py"))["main"](play.model, **play.options)
    sent = {line for line in capsys.readouterr().out.splitlines() if line.startswith("***")}
    assert sent == {"*** sent to landlord: Dear landlord", "*** sent to neighbour: Is yours cold, too?"}


class TestCustomBackend(BackendConformance):
    """The backend of 08_custom_backend.py passes the shared suite."""

    journaled = staticmethod(runpy.run_path(str(EXAMPLES / "08_custom_backend.py"))["Journaled"])

    @pytest.fixture
    def backend(self, tmp_path: Path):
        self.never_shown = (str(tmp_path),)
        return self.journaled(tmp_path)


def test_example_fits_a_screen(example: Path):
    lines = example.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MOST_LINES
    assert lines[0].startswith('"""')


def test_example_without_a_model_ends_with_one_sentence(example: Path, tmp_path: Path):
    result = run_script(example, tmp_path, configured=False)
    assert result.returncode == 1
    assert result.stderr.startswith("No model is configured.")
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""


@pytest.mark.skipif(
    model_from_environment(Settings.load()) is None,
    reason="no model is configured; set a provider's key or OLLAMA_MODEL_NAME to run the examples with a real one",
)
@pytest.mark.timeout(600)
def test_example_runs_with_the_environment_s_model(example: Path, tmp_path: Path):
    result = run_script(example, tmp_path, configured=True, typed="y\n" * 20, timeout_s=590)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()
