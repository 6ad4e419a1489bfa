"""`stepwell research`, `verify`, `replay` and `export` on the offline world: in process where the world is needed, as real
processes where a bundle is enough."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.integration.research.forging import take_apart
from tests.integration.research.talking import serving
from tests.integration.served.process import environment
from tests.integration.served.warm import run_warm

from stepwell.demo.web import OfflineWorld
from stepwell.errors import BundleError, ConfigurationError, InvalidRequestError, NotFoundError, RunError
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.models.routing import ModelRoutes
from stepwell.research.audit.bundle import BundleReader, write_bundle
from stepwell.research.audit.export import FORMATS, export_bundle
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.audit.signing import SigningKey
from stepwell.research.audit.trail import NewEntry, head
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.commands import export, listing, replay, show
from stepwell.research.commands.command import run
from stepwell.research.commands.options import ResearchOptions
from stepwell.research.evidence.equipment import Equipment, make_equipment
from stepwell.research.evidence.policy.file import parse_policy
from stepwell.research.graph.graph import build_graph
from stepwell.settings import Settings
from stepwell.terminal.dialogue.terminal import Terminal
from stepwell.testing import Asked as AskedModel
from stepwell.testing import ScriptedModel

MakeEquipment = Callable[..., Equipment]
ABSENT = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True)
class Ended:
    """What a command left behind."""

    code: int
    screen: str
    report: str
    thread: str
    bundle: Path

    def entries(self, kind: str) -> list[dict[str, object]]:
        with BundleReader(self.bundle) as bundle:
            return [entry.data for entry in bundle.entries() if entry.kind == kind]


Command = Callable[..., Ended]


@pytest.fixture
def command(equipment_for: MakeEquipment, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command with these lines typed."""

    def start(question: str | None, typed: str = "", *, equipment: Equipment | None = None, **asked: object) -> Ended:
        settings = Settings.load({"STEPWELL_DATA_DIR": str(tmp_path)})
        screen = io.StringIO()
        code = run(
            ResearchOptions(question, **asked),  # type: ignore[arg-type]
            equipment=equipment or equipment_for(),
            settings=settings,
            terminal=Terminal(io.StringIO(typed), screen),
        )
        thread = re.findall(r"^Thread (\S+)$", screen.getvalue(), re.MULTILINE)[0]
        bundle = tmp_path / "research" / thread / "bundle.zip"
        return Ended(code, screen.getvalue(), capsys.readouterr().out, thread, bundle)

    return start


def question_about(world: OfflineWorld, number: int = 0) -> str:
    return f"How large is the {world.pages[number].subject}, and who made it?"


def writer(asked: AskedModel) -> str:
    """Plans one search, approves it, and writes the first quotes down, one sentence with a wrong number, and a link of its own."""
    if asked.system.startswith("You write a research report"):
        found = re.findall(r"^(e\d+) \([^)]*\): (.+)$", asked.human, re.MULTILINE)[:3]
        lines = [f"{quote.split('. ')[0].rstrip('.')} [{name}]." for name, quote in found]
        return "## Found\n\n" + " ".join(lines) + f" It is 77,777 metres long [{found[0][0]}]. See https://invented.example/x."
    if "violations" in asked.system:
        return json.dumps({"verdict": "approved", "violations": [], "suggestions": []})
    if "verdict" in asked.system:
        return json.dumps({"verdict": "supported", "reason": "word for word"})
    subject = re.findall(r"is the (.+?),", asked.human)[0]
    return json.dumps({"objective": "Know it", "steps": [{"tool": "web_search", "input": subject, "rationale": "first"}]})


@pytest.mark.parametrize("writes", [False, True], ids=["extractive", "written"])
def test_an_approved_question_ends_in_a_report_that_verifies_replays_and_exports(
    world: OfflineWorld, equipment_for: MakeEquipment, command: Command, writes: bool
) -> None:
    """Mission R15 and the command line of research: gate, report, bundle, replay to the byte, every format."""
    equipment = equipment_for(models=ModelRoutes(ScriptedModel.answering(writer))) if writes else equipment_for()
    ended = command(question_about(world), "a\n", equipment=equipment)
    assert ended.code == 0, ended.screen
    fact = next(fact for fact in world.pages[0].facts if fact.kind == "number")
    assert fact.value in ended.report
    assert "77,777" not in ended.report
    assert "invented.example" not in ended.report
    assert ("No model that can write is configured" in ended.screen) is not writes
    assert "duckduckgo found" in ended.screen
    assert str(ended.bundle) in ended.screen
    assert verify_bundle(ended.bundle).ok
    sent = world.count()
    assert replay.run(ended.bundle) == 0
    assert world.count() == sent, "a replay asks nobody"
    for form in FORMATS:
        assert len(export_bundle(ended.bundle, form)) > 200


def test_nothing_leaves_the_machine_before_the_plan_is_approved(world: OfflineWorld, command: Command) -> None:
    ended = command(question_about(world), "s I changed my mind\n")
    assert ended.code == 1
    assert "No report: You stopped the research: I changed my mind" in ended.screen
    assert world.count() == 0


def test_the_gate_shows_steps_rules_and_an_estimate(world: OfflineWorld, command: Command) -> None:
    screen = command(question_about(world), "s\n").screen
    assert "  1. web_search  " in screen
    assert "[J1] The steps serve the question" in screen
    assert re.search(r"Estimate: at most \d+ requests, 0 tokens, 0\.00 USD", screen)


def test_an_edited_step_is_audited_again_and_searched(world: OfflineWorld, command: Command) -> None:
    """Mission R7."""
    other = world.pages[1].subject
    ended = command(question_about(world), f"e 1 {other}\nd 2\nf 0\na\n")
    assert ended.code == 0, ended.screen
    assert ended.screen.count("Estimate:") == 4, "each edit comes back to the gate"
    assert [said["decision"] for said in ended.entries("approval")] == ["edit", "edit", "edit", "approve"]
    searched = [entry for entry in ended.entries("request") if str(entry["why"]).startswith("search:")]
    assert len(searched) == 1
    assert replay.run(ended.bundle) == 0


def test_an_edit_that_breaks_the_policy_does_not_pass_the_gate(world: OfflineWorld, command: Command) -> None:
    ended = command(question_about(world), "e 1 write to somebody@mail.example\ns\n")
    assert "outgoing.email_address" in ended.screen
    assert world.count() == 0


def test_yes_approves_a_plan_without_violations(world: OfflineWorld, command: Command) -> None:
    ended = command(question_about(world), yes=True)
    assert ended.code == 0
    assert "Approved without asking: the plan breaks no rule." in ended.screen


def test_denied_sources_are_not_cited(world: OfflineWorld, command: Command) -> None:
    ended = command(question_about(world), "a\nonly s1\n", review_sources=True)
    assert ended.code == 0, ended.screen
    [review] = ended.entries("source_review")
    assert review["admit"] == ["s1"]
    assert "\n2. " not in ended.report
    assert replay.run(ended.bundle) == 0


def test_a_question_that_nobody_answers_waits_and_goes_on_later(world: OfflineWorld, command: Command) -> None:
    left = command(question_about(world), "")
    assert left.code == 1
    assert f"stepwell research --continue {left.thread}" in left.screen
    ended = command(None, "a\n", thread=left.thread)
    assert ended.code == 0, ended.screen
    assert ended.thread == left.thread
    assert replay.run(ended.bundle) == 0


def test_a_new_question_does_not_pass_over_a_plan_that_waits(world: OfflineWorld, command: Command) -> None:
    left = command(question_about(world), "")
    refused = command(question_about(world, 1), "a\n", thread=left.thread)
    assert (refused.code, world.count()) == (1, 0)
    assert "is waiting for your answer" in refused.screen
    assert f"stepwell research --continue {left.thread}" in refused.screen
    assert command(None, "a\n", thread=left.thread).code == 0
    assert command(question_about(world, 1), "a\n", thread=left.thread).code == 0


class Interrupting(Terminal):
    """Somebody presses Ctrl-C at the first question."""

    def read(self, prompt: str) -> str:
        raise KeyboardInterrupt


def test_ctrl_c_stops_and_says_how_to_go_on(
    world: OfflineWorld, equipment_for: MakeEquipment, tmp_path: Path, command: Command
) -> None:
    screen = io.StringIO()
    settings = Settings.load({"STEPWELL_DATA_DIR": str(tmp_path)})
    code = run(
        ResearchOptions(question_about(world)),
        equipment=equipment_for(),
        settings=settings,
        terminal=Interrupting(io.StringIO(), screen),
    )
    assert code == 130
    [thread] = re.findall(r"stepwell research --continue (\S+)", screen.getvalue())
    assert command(None, "a\n", thread=thread).code == 0


KILLED = """
import sys
import threading
import time
from pathlib import Path
from stepwell.research.evidence.equipment import make_equipment
from stepwell.research.commands.command import run
from stepwell.research.commands.options import ResearchOptions
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.settings import Settings
from stepwell.demo.web import OfflineWorld
from stepwell.tools.web.search.choice import search_chain

def tell_when_asked():
    while not world.count():
        time.sleep(0.01)
    print("\\nThe engine is asked.", file=sys.stderr, flush=True)

settings = Settings.load({"STEPWELL_DATA_DIR": sys.argv[1]})
with OfflineWorld(idle_timeout_s=60.0) as world:
    world.engine("duckduckgo", "slow")
    threading.Thread(target=tell_when_asked, daemon=True).start()
    search = lambda web: search_chain(settings, web, cached=False)
    equipment = make_equipment(settings, web=world.web, search=search, embedder=LexicalEmbedder(), models=None)
    code = run(ResearchOptions(sys.argv[2], yes=True), equipment=equipment, settings=settings)
sys.exit(code)
"""


def ended_by(sign: signal.Signals, folder: Path, question: str) -> tuple[int, str]:
    """Begin a research in a process whose engine never answers, and end it while the engine is asked; its code and its words."""
    arguments = [sys.executable, "-c", KILLED, str(folder), question]
    child = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert child.stderr is not None
    said = ""
    try:
        for line in child.stderr:
            said += line
            if "The engine is asked." in line:
                break
        os.kill(child.pid, sign)
        said += child.communicate(timeout=60)[1]
    finally:
        child.kill()
        child.wait(60)
    return child.returncode, said


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_a_research_that_was_ended_goes_on_where_it_was(
    world: OfflineWorld, tmp_path: Path, command: Command, sign: signal.Signals
) -> None:
    """Ended while the engine is asked: the request is sent once more, marked, and the report is there."""
    code, said = ended_by(sign, tmp_path, question_about(world))
    [thread] = re.findall(r"^Thread (\S+)$", said, re.MULTILINE)
    if sign == signal.SIGINT:
        assert code == 130, said
        assert f"stepwell research --continue {thread}" in said
        assert "Traceback" not in said
    ended = command(None, "", thread=thread)
    assert ended.code == 0, ended.screen
    assert len(ended.entries("approval")) == 1, "approved once, by the process that was ended"
    resent = [entry for entry in ended.entries("request") if entry["resend"]]
    assert 1 <= len(resent) <= 2, "one for each search that was under way; the second may not have begun"
    assert verify_bundle(ended.bundle).ok
    assert replay.run(ended.bundle) == 0


def test_blocked_engines_give_no_report_but_say_so(world: OfflineWorld, command: Command) -> None:
    world.engine("duckduckgo", "blocked")
    world.engine("wikipedia", "broken")
    ended = command(question_about(world), "a\n")
    assert (ended.code, ended.report) == (1, "")
    assert "No report: No search engine serves us at the moment. Retry in a few minutes" in ended.screen
    assert "duckduckgo: " in ended.screen
    assert "Insufficient" not in ended.screen, "nobody has searched, so nobody knows whether there is something"


def test_a_ceiling_gives_a_partial_report_that_replays(
    world: OfflineWorld, equipment_for: MakeEquipment, command: Command
) -> None:
    """Pages are fetched side by side, so which of them the ceiling let through is not the same each time: the trail says it."""
    equipment = equipment_for()
    text = equipment.policy.text.replace("requests = 40", "requests = 6")
    ended = command(question_about(world), "a\n", equipment=equipment_for(policy=parse_policy(text, "POLICY.md")))
    assert ended.code == 0
    assert len(ended.entries("request")) == 6
    assert "limits.requests" in ended.report
    assert replay.run(ended.bundle) == 0


def test_a_question_that_was_asked_before_is_recorded_whole(world: OfflineWorld, tmp_path: Path, command: Command) -> None:
    """Results kept from another research would be missing in this one's recording."""
    settings = Settings.load({"STEPWELL_DATA_DIR": str(tmp_path)})
    equipment = make_equipment(settings, web=world.web, embedder=LexicalEmbedder(), models=None)
    for _ in range(2):
        ended = command(question_about(world), "a\n", equipment=equipment)
        assert [entry for entry in ended.entries("request") if str(entry["why"]).startswith("search:")]
        assert replay.run(ended.bundle) == 0


def test_notes_and_pages_of_the_user_are_sources(world: OfflineWorld, command: Command, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    subject = world.pages[0].subject
    notes.write_text(f"The {subject} was painted green in 1999.\n")
    ended = command(question_about(world), "a\n", context=[notes], context_urls=[world.pages[0].url, "http://inside.example/"])
    assert ended.code == 0, ended.screen
    assert "painted green in 1999" in ended.report
    assert "notes.txt (from your device)" in ended.report
    assert str(tmp_path) not in ended.report, "the file's name, and nothing of where it lies"
    assert "inside.example" in ended.report.partition("What was skipped")[2], (
        "an address inside the network is refused, and said"
    )
    assert replay.run(ended.bundle) == 0


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (ResearchOptions("  "), "The question is missing"),
        (ResearchOptions("why " * 2000), "the limit is 4,000"),
        (
            ResearchOptions("q", context=[Path("nowhere.txt")]),
            "There is no file or folder 'nowhere.txt', named by --context",
        ),
        (ResearchOptions("q", form="pdf"), "Name one with --out"),
        (ResearchOptions("q", out=Path("a.xls")), "no format 'xls'"),
        (ResearchOptions("q", out=Path("nowhere/report.pdf")), "There is no folder 'nowhere' to write 'report.pdf' into"),
        (ResearchOptions("q", out=Path(__file__) / "report.md"), "There is no folder"),
        (ResearchOptions("q", out=Path("/")), "is a folder"),
        (ResearchOptions("q", url="127.0.0.1:1"), "not the address of a server"),
        (ResearchOptions(None, thread="../../etc"), "No research '../../etc'"),
    ],
)
def test_bad_arguments_are_refused_with_a_sentence(asked: ResearchOptions, sentence: str, tmp_path: Path) -> None:
    settings = Settings.load({"STEPWELL_DATA_DIR": str(tmp_path)})
    with pytest.raises((InvalidRequestError, ConfigurationError, NotFoundError)) as caught:
        run(asked, settings=settings, terminal=Terminal(io.StringIO(), io.StringIO()))
    assert sentence in str(caught.value)


def stepwell(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return run_warm([*map(str, arguments)], folder, environment(STEPWELL_DATA_DIR=str(folder)))


def test_the_commands_for_bundles_work_as_processes(world: OfflineWorld, command: Command, tmp_path: Path) -> None:
    """Mission: `verify` names the file with one byte changed; `replay` and `export` refuse it."""
    ended = command(question_about(world), "a\n")
    verified = stepwell("verify", ended.bundle, folder=tmp_path)
    assert (verified.returncode, verified.stderr) == (0, "")
    assert "bundle.zip holds: " in verified.stdout
    replayed = stepwell("replay", ended.bundle, folder=tmp_path)
    assert replayed.returncode == 0, replayed.stderr
    assert "The same report, byte by byte" in replayed.stdout
    written = stepwell("export", ended.thread, "--out", "report.html", folder=tmp_path)
    assert written.returncode == 0, written.stderr
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    shown = stepwell("export", ended.bundle, folder=tmp_path)
    assert shown.stdout.strip() == ended.report.strip()

    content = bytearray(ended.bundle.read_bytes())
    place = content.index(b"metres")
    content[place] ^= 1
    changed = tmp_path / "changed.zip"
    changed.write_bytes(content)
    with BundleReader(ended.bundle) as bundle:
        name = next(n for n, m in bundle.members.items() if m.offset <= place < m.offset + m.size)
    refused = stepwell("verify", changed, folder=tmp_path)
    assert refused.returncode == 1
    assert name in refused.stderr
    assert stepwell("replay", changed, folder=tmp_path).returncode == 1
    assert stepwell("export", changed, folder=tmp_path).returncode == 2


async def forged(original: Path, file: Path) -> None:
    """A bundle sealed anew as a whole, with another heading in the report: every hash in it is right, and no claim differs."""
    vault = MemoryVault()
    with BundleReader(original) as bundle:
        for name in bundle.members:
            await vault.put(bundle.read(name))
        report = bundle.read("report.md").decode().replace("## In brief", "## In short")
        for entry in bundle.entries():
            data = {**entry.data, "sha256": await vault.put(report.encode())} if entry.kind == "report" else entry.data
            await vault.append(NewEntry(entry.kind, entry.key, data))
    await write_bundle(vault, file)


def test_a_bundle_that_was_sealed_anew_does_not_replay(
    world: OfflineWorld, command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = command(question_about(world), "a\n")
    file = tmp_path / "forged.zip"
    asyncio.run(forged(ended.bundle, file))
    assert verify_bundle(file).ok, "nothing in the file itself shows it"
    assert replay.run(file) == 1
    told = capsys.readouterr().err
    assert "The report is not the same." in told
    assert "\n-## In short\n+## In brief\n" in told, "what differs is named"


def test_a_policy_with_a_syntax_error_is_refused_with_its_line(tmp_path: Path) -> None:
    policy = tmp_path / "mine.md"
    policy.write_text("# Mine\n\n```toml policy\n[limits]\nrequests = = 4\n```\n")
    refused = stepwell("research", "Why?", "--policy", policy, "--yes", folder=tmp_path)
    assert refused.returncode == 2
    assert "mine.md, line 5" in refused.stderr
    assert "Traceback" not in refused.stderr


async def test_a_research_on_a_server_is_approved_read_and_exported_here(
    world: OfflineWorld, equipment_for: MakeEquipment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every format works against a server as it does in process; the bundle verifies and replays."""
    out = tmp_path / "report.md"
    async with serving(tmp_path, {"research": build_graph(equipment_for())}) as http:
        url = str(http.base_url)

        def start(typed: str, **asked: Any) -> tuple[int, str]:
            screen = io.StringIO()
            return run(
                ResearchOptions(url=url, **asked), settings=Settings(), terminal=Terminal(io.StringIO(typed), screen)
            ), screen.getvalue()

        code, screen = await asyncio.to_thread(start, "", question=question_about(world))
        assert code == 1, screen
        [thread] = re.findall(r"--continue (\S+)", screen)
        code, screen = await asyncio.to_thread(start, "a\n", question=None, thread=thread, out=out)
        assert code == 0, screen
        code, _ = await asyncio.to_thread(start, "a\n", question=None, thread=thread)
        assert code == 0, "one that has ended shows its report again"
        for form in FORMATS:
            wanted = tmp_path / f"exported.{form}"
            assert await asyncio.to_thread(export.run, thread, form=None, out=wanted, url=url, settings=Settings()) == 0
        shown = io.StringIO()
        assert await asyncio.to_thread(show.run, thread, "1", url=url, settings=Settings(), screen=shown) == 0
        with pytest.raises(RunError, match="No thread"):
            await asyncio.to_thread(export.run, ABSENT, form="md", out=None, url=url, settings=Settings())
        empty = (await http.post("/threads", json={})).json()["thread_id"]
        with pytest.raises(RunError, match="has no research"):
            await asyncio.to_thread(export.run, empty, form="md", out=None, url=url, settings=Settings())
    assert f"stepwell export {thread} --url {url}" in screen
    assert f"stepwell show --url {url} {thread}" in screen
    assert re.search(
        r"^  > .+\n(?:  \| .*\n)*  https://.+\n  read .+ UTC; characters \d+ to \d+ of its text\n  sha256 ",
        shown.getvalue(),
        re.M,
    )
    assert "stored on the server" in screen
    assert out.read_text().strip() in capsys.readouterr().out
    assert "[1]" in out.read_text()
    assert (tmp_path / "exported.md").read_text() == out.read_text()
    assert verify_bundle(tmp_path / "exported.zip").ok
    assert await asyncio.to_thread(replay.run, tmp_path / "exported.zip") == 0
    assert (tmp_path / "exported.pdf").read_bytes()[:5] == b"%PDF-"


def test_a_server_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    refused = stepwell("research", "Why?", "--url", "http://127.0.0.1:9", "--yes", folder=tmp_path)
    assert refused.returncode == 2
    assert "No server answers at http://127.0.0.1:9, so this was not sent." in refused.stderr
    assert "Traceback" not in refused.stderr


# Earlier researches ---------------------------------------------------------------------------------------------------------------


def test_a_question_goes_on_from_the_sources_of_a_bundle(command: Command, world: OfflineWorld, tmp_path: Path):
    first = command(question_about(world), yes=True)
    follow = command(question_about(world, 1), yes=True, origin=first.bundle)
    assert (first.code, follow.code) == (0, 0)
    (origin,) = follow.entries("origin")
    assert origin["query"] == question_about(world)
    taken = {source["source_id"]: source for source in first.entries("source")}
    assert set(origin["sources"]) <= set(taken)  # type: ignore[call-overload]
    for source in follow.entries("source"):
        if source["source_id"] in origin["sources"]:  # type: ignore[operator]
            assert source == taken[str(source["source_id"])]
    checked = verify_bundle(follow.bundle)
    assert checked.ok, checked.problems
    assert "origins" in {part.part for part in checked.parts}
    own = checked.signed_by
    assert (origin["signed_by"], origin["vouched"]) == (own, True)
    assert verify_bundle(follow.bundle, key=own, strict=True).ok
    assert any(f"built on a bundle signed by {own}" in note for note in checked.notes)
    assert replay.run(follow.bundle) == 0


def test_a_source_cannot_be_smuggled_in_as_one_of_another_bundle(command: Command, world: OfflineWorld, tmp_path: Path):
    """A chain sealed anew: a page that nobody fetched, said to be of a bundle that does not have it."""
    first = command(question_about(world), yes=True)
    with BundleReader(first.bundle) as bundle:
        entries = bundle.entries()
        bodies = {name.partition("/")[2]: bundle.read(name) for name in bundle.members if "/" in name}
        report, policy = bundle.read("report.md"), bundle.read("policy.md")

    async def forge() -> None:
        vault = MemoryVault()
        for content in (*bodies.values(), report, policy):
            await vault.put(content)
        invented = await vault.put(b"The bridge is made of cheese.")
        kept = await vault.put(first.bundle.read_bytes())
        page = {**next(entry.data for entry in entries if entry.kind == "source"), "source_id": "s99"}
        page = {**page, "bytes_sha256": invented, "text_sha256": invented}
        await vault.append(NewEntry("source", "source:s99", page))
        said = {"head": head(entries), "query": "?", "asked_at": entries[0].at, "sources": ["s99"], "body_sha256": kept}
        said |= {"signed_by": verify_bundle(first.bundle).signed_by, "vouched": True}
        await vault.append(NewEntry("origin", "origin", said))
        for entry in entries:
            await vault.append(NewEntry(entry.kind, entry.key, entry.data))
        await write_bundle(vault, tmp_path / "forged.zip")

    asyncio.run(forge())
    problems = [str(problem) for problem in verify_bundle(tmp_path / "forged.zip").problems]
    assert any("source s99 is of another bundle, which has it otherwise" in problem for problem in problems), problems


def _reseal(bundle: Path, to: Path, signer: SigningKey | None) -> Path:
    """A bundle of somebody's whose words hold together and are not the owner's: a page with another word, everywhere."""
    forgery = take_apart(bundle)
    said = " ".join(entry.data["text"] for entry in forgery.of_kind("claim"))
    asked = str([entry.data for kind in ("question", "plan", "request") for entry in forgery.of_kind(kind)]).lower()
    word = max((word for word in said.split() if word.isalpha() and word.islower() and word not in asked), key=len)
    forgery.change_words(f" {word} ", f" {word[::-1]} ")
    return forgery.seal(to, signer)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("way", ["origin", "refresh"])
def test_a_forgery_is_not_laundered_by_building_on_it(
    command: Command, world: OfflineWorld, tmp_path: Path, way: str, signed: bool
):
    """Unsigned, or signed by a key of the forger's: it holds by itself, and nothing is built on it by chance."""
    first = command(question_about(world), yes=True)
    stranger = SigningKey(tmp_path / "stranger")
    forged = _reseal(first.bundle, tmp_path / "forged.zip", stranger if signed else None)
    assert verify_bundle(forged).ok
    asked = question_about(world, 1) if way == "origin" else None
    with pytest.raises(BundleError, match=r"so nothing is built on it.*--key.*--unvouched"):
        command(asked, yes=True, **{way: forged})
    with pytest.raises(BundleError, match="so nothing is built on it"):
        command(asked, yes=True, key=verify_bundle(first.bundle).signed_by, **{way: forged})


@pytest.mark.parametrize("signed", [False, True])
def test_what_is_built_on_an_unvouched_bundle_says_so(command: Command, world: OfflineWorld, tmp_path: Path, signed: bool):
    first = command(question_about(world), yes=True)
    stranger = SigningKey(tmp_path / "stranger")
    forged = _reseal(first.bundle, tmp_path / "forged.zip", stranger if signed else None)
    built = command(question_about(world, 1), yes=True, origin=forged, unvouched=True)
    assert built.code == 0
    checked = verify_bundle(built.bundle)
    assert checked.ok, checked.problems
    signer = f"signed by {stranger.public_key()}" if signed else "that nobody has signed"
    said = next(each for each in checked.lacks if "built on a bundle" in each)
    assert signer in said
    assert "nobody vouches for that one" in said
    strict = verify_bundle(built.bundle, key=checked.signed_by, strict=True)
    assert (strict.ok, strict.vouched) == (False, True)
    page = export_bundle(built.bundle, "html").decode()
    assert "nobody vouches for that one" in page
    assert "a program checked every sentence" not in page


def test_a_bundle_of_somebody_whose_key_is_named_is_built_on(command: Command, world: OfflineWorld, tmp_path: Path):
    first = command(question_about(world), yes=True)
    friend = SigningKey(tmp_path / "friend")
    theirs = take_apart(first.bundle).seal(tmp_path / "theirs.zip", friend)
    built = command(question_about(world, 1), yes=True, origin=theirs, key=friend.public_key())
    checked = verify_bundle(built.bundle)
    assert any(f"built on a bundle signed by {friend.public_key()}" in note for note in checked.notes)
    assert verify_bundle(built.bundle, key=checked.signed_by, strict=True).ok


def test_nothing_is_built_on_a_bundle_that_does_not_hold(command: Command, world: OfflineWorld, tmp_path: Path):
    first = command(question_about(world), yes=True)
    broken = tmp_path / "broken.zip"
    content = first.bundle.read_bytes()
    broken.write_bytes(content[: len(content) // 2] + b"x" + content[len(content) // 2 + 1 :])
    with pytest.raises(BundleError, match=r"broken\.zip"):
        command(question_about(world, 1), yes=True, origin=broken)


def test_another_question_is_asked_in_the_same_research(command: Command, world: OfflineWorld):
    first = command(question_about(world), yes=True)
    second = command(question_about(world, 1), yes=True, thread=first.thread)
    assert second.thread == first.thread
    assert [asked["query"] for asked in second.entries("question")] == [question_about(world), question_about(world, 1)]


def test_asking_again_shows_only_what_changed(command: Command, world: OfflineWorld, equipment_for: MakeEquipment):
    first = command(question_about(world), yes=True)
    same = command(None, yes=True, refresh=first.bundle)
    assert same.report.strip() == "Nothing has changed: the same sentences from the same pages."
    fewer = command(None, yes=True, refresh=first.bundle, equipment=equipment_for(pages_per_step=1))
    assert "## Pages not read this time" in fewer.report
    assert "# Quotes from the sources" not in fewer.report


def test_past_researches_are_listed_and_found(
    command: Command, world: OfflineWorld, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    settings = Settings.load({"STEPWELL_DATA_DIR": str(tmp_path)})
    assert listing.run("", settings=settings) == 0
    assert "There are no researches yet." in capsys.readouterr().out
    first, second = (command(question_about(world, number), yes=True) for number in (0, 1))
    (first.bundle.parent / "question.txt").unlink()  # as one from before the list was made
    assert listing.run("", settings=settings) == 0
    shown = capsys.readouterr().out
    assert shown.index(second.thread) < shown.index(first.thread)
    assert listing.run(world.pages[0].subject.upper(), settings=settings) == 0
    found = capsys.readouterr().out
    assert first.thread in found
    assert second.thread not in found
    assert listing.run("zebra", settings=settings) == 1
    assert "None of the 2 researches matches 'zebra'." in capsys.readouterr().out
