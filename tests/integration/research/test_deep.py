"""D16, R15: deep research as a graph, on the offline world: researchers, a critic, a report with no invented address."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from stepwell import ConfigurationError
from stepwell.backends.changes import text_of
from stepwell.demo.web import OfflineWorld, WorldPage
from stepwell.errors import BundleError
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.models.routing import ModelRoutes
from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.checks import check
from stepwell.research.audit.exchanges.receipt import egress_receipt
from stepwell.research.audit.exchanges.recording import count_requests
from stepwell.research.audit.export import FORMATS, export_bundle
from stepwell.research.audit.folder_vault import FolderVault
from stepwell.research.audit.ledger import read_evidence
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.audit.signing import SigningKey
from stepwell.research.audit.trail import check_chain
from stepwell.research.audit.vault import VAULT
from stepwell.research.audit.verdicts import RANK
from stepwell.research.audit.verify import BY_AGENT, verify_bundle
from stepwell.research.deep.agent import REPORT, build_agent, make_graph
from stepwell.research.evidence.equipment import Equipment, make_equipment
from stepwell.research.evidence.policy.file import default_policy
from stepwell.research.evidence.policy.rules import Limits
from stepwell.research.graph.replaying import replay_bundle
from stepwell.settings import Settings
from stepwell.testing import ScriptedModel, call, calls, each_run, expect, raw, reply, say
from stepwell.tools.web.search.choice import search_chain

PARTS = ("one", "two")


def deep_kit(world: OfflineWorld, model: ScriptedModel | None, folder: Path, *, requests: int = 40, **rules: Any) -> Equipment:
    settings = Settings.load({"STEPWELL_DATA_DIR": str(folder), "STEPWELL_SEARCH_ENGINES": "duckduckgo"})
    policy = replace(default_policy(), limits=Limits(requests=requests), **rules)
    parts: dict[str, Any] = {"models": ModelRoutes(model) if model else None, "embedder": LexicalEmbedder()}

    async def no_wait(seconds: float) -> None:
        """Politeness towards engines is tested elsewhere."""

    parts["search"] = lambda web: search_chain(settings, web, cached=False, sleep=no_wait)
    return make_equipment(settings, web=world.web, policy=policy, **parts)


def pages_for(world: OfflineWorld) -> dict[str, WorldPage]:
    plain = [page for page in world.pages if page.form == "html" and page.topic == "bridges"]
    return dict(zip(PARTS, plain, strict=False))


def researchers(pages: dict[str, WorldPage]) -> Any:
    """Each searches, reads its page, and writes down the source id that the tool gave."""

    def turn(asked: Any) -> Any:
        part = asked.first_human
        if asked.turn == 0:
            return call("web_search", query=pages[part].subject)
        if asked.turn == 1:
            return call("fetch_page", url=pages[part].url)
        if asked.turn == 2:
            source = re.search(r"Source (s\d+):", asked.results[0].text)
            assert source is not None, asked.results[0].text
            return call(
                "write_file", file_path=f"/findings/{part}.md", content=f"{pages[part].facts[0].sentence} [{source[1]}]"
            )
        return say(f"See /findings/{part}.md")

    return each_run([reply(turn)] * 4)


def lead(*report: Any) -> list[Any]:
    return [
        calls(*(call("task", description=part, subagent_type="researcher") for part in PARTS)),
        *report,
        call("task", description="Read it.", subagent_type="critic"),
        say("It is long. See https://invented.example/more and /final_report.md [s1]."),
    ]


CRITIC = [call("read_file", file_path=REPORT), say("1. Fine.")]
INVENTED = (
    "# Bridges\n\nOne was designed by somebody [s1](https://invented.example/a). The other too [s2].\n"
    "A third thing is claimed [s9], see https://invented.example/b or [here](http://also-invented.example).\n\n"
    "## Sources\n1. https://invented.example/c\n"
)


def judging(scripts: dict[str, Any], verdict: str = "supported") -> ScriptedModel:
    """A model for all agents that also judges sentences, always in the same way."""
    said = {**scripts, "judge": lambda asked: json.dumps({"verdict": verdict, "reason": "so it reads"})}
    return ScriptedModel.by_agent(said, key=lambda asked: "judge" if asked.system.startswith("You check one") else asked.agent)


async def run(equipment: Equipment, vault: Any, thread: str = "t1", question: str = "Who designed them?") -> dict[str, Any]:
    graph = build_agent(equipment, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": thread, **({VAULT: vault} if vault else {})}}
    result: dict[str, Any] = await graph.ainvoke({"messages": [("user", question)]}, config)
    return result


async def test_the_report_cites_only_pages_that_were_read(world: OfflineWorld, tmp_path: Path):
    """D16, R9, R15: researchers side by side and a critic; what the model invented is gone, and the trail says so."""
    pages = pages_for(world)
    scripts = {
        "deep_research": lead(call("write_file", file_path=REPORT, content=INVENTED)),
        "researcher": researchers(pages),
        "critic": CRITIC,
    }
    model = judging(scripts)
    vault = MemoryVault()
    result = await run(deep_kit(world, model, tmp_path), vault)
    model.assert_finished()

    report = text_of(result["files"][REPORT])
    evidence = read_evidence(await vault.entries())
    assert sorted(evidence.sources) == ["s1", "s2"]
    assert {source.url for source in evidence.sources.values()} == {page.url for page in pages.values()}
    addresses = set(re.findall(r"\((https?://[^)]+)\)", report))
    assert addresses == {page.url for page in pages.values()}
    assert "invented" not in report
    assert "*(s9 is no source that was read)*" in report
    assert "[s1](" in report
    assert report.count("## Sources") == 1
    answer = " ".join(result["messages"][-1].text.split())
    assert answer == f"It is long. See and /final_report.md [s1]({evidence.sources['s1'].url})."
    findings = {path for path in result["files"] if path.startswith("/findings/")}
    assert findings == {f"/findings/{part}.md" for part in PARTS}

    for source in evidence.sources.values():
        text = (await vault.get(source.text_sha256)).decode()
        assert any(page.facts[0].sentence in text for page in pages.values())
    last = [entry for entry in await vault.entries() if entry.kind == "report"][-1]
    assert last.data["unknown"] == ["s9"]
    assert (await vault.get(evidence.report_sha256 or "")).decode() == report


async def test_every_request_is_in_the_trail_before_it_is_sent(world: OfflineWorld, tmp_path: Path):
    """R15: the receipt of a deep research is what the world received."""
    scripts = {"deep_research": lead(), "researcher": researchers(pages_for(world)), "critic": [say("There is no report.")]}
    vault, model = MemoryVault(), ScriptedModel.by_agent(scripts)
    await run(deep_kit(world, model, tmp_path), vault)
    entries = await vault.entries()
    assert check_chain(entries) == []
    receipt = egress_receipt(entries)
    to_web = [request for request in receipt["requests"] if request["to"] == "web"]
    assert len(to_web) == world.count() > 0
    assert sorted({request["host"] for request in to_web}) == sorted({each.host for each in world.requests})
    to_models = [request for request in receipt["requests"] if request["to"] == "model"]
    assert len(to_models) == len(model.asked)
    assert {request["why"] for request in to_models} == {"lead", "researcher", "critic"}
    assert all(request["answered"] and request["bytes"] > 0 for request in to_models)
    questions = [entry for entry in entries if entry.kind == "question"]
    assert [entry.data["query"] for entry in questions] == ["Who designed them?"]


async def test_requests_never_pass_the_ceiling_with_researchers_side_by_side(world: OfflineWorld, tmp_path: Path):
    """D16, R15: the policy's ceiling is counted over all agents; a tool says so, and the work goes on."""
    pages = [page for page in world.pages if page.form == "html"][:8]
    many = [call("fetch_page", url=page.url) for page in pages]
    told: list[str] = []

    def done(asked: Any) -> Any:
        told.extend(result.text for result in asked.results)
        return say("Enough.")

    scripts = {
        "deep_research": [calls(*(call("task", description=part, subagent_type="researcher") for part in PARTS)), say("Done.")],
        "researcher": each_run([calls(*many), reply(done)]),
    }
    vault = FolderVault(tmp_path / "vault")  # on disk: counting and writing take time, so that calls can meet
    await run(deep_kit(world, ScriptedModel.by_agent(scripts), tmp_path, requests=5), vault)
    entries = await vault.entries()
    assert count_requests(entries) == world.count() == 5
    assert any("ceiling of 5 requests" in each for each in told)
    assert [entry.data["rule"] for entry in entries if entry.kind == "limit"] == ["limits.requests"]


async def test_a_second_question_has_its_own_ceiling_and_goes_on_with_the_same_sources(world: OfflineWorld, tmp_path: Path):
    """R15: ceilings are one question's; the same page again is the same source."""
    page = pages_for(world)["one"]
    script = [call("fetch_page", url=page.url), say("Read.")] * 2
    vault = MemoryVault()
    equipment = deep_kit(world, ScriptedModel(script), tmp_path, requests=2)
    graph = build_agent(equipment, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t1", VAULT: vault}}
    for question in ("Who?", "Who else?"):
        result = await graph.ainvoke({"messages": [("user", question)]}, config)
        assert "Source s1:" in result["messages"][-2].text
    entries = await vault.entries()
    assert count_requests(entries) == world.count() == 4  # each question asks for robots.txt once
    assert list(read_evidence(entries).sources) == ["s1"]


async def test_a_message_that_was_edited_is_another_question(world: OfflineWorld, tmp_path: Path):
    vault, model = MemoryVault(), ScriptedModel([say("One."), say("Two.")])
    graph = build_agent(deep_kit(world, model, tmp_path), checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t", VAULT: vault}}
    for words in ("Who?", "Who else?"):
        await graph.ainvoke({"messages": [HumanMessage(words, id="m1")]}, config)
    asked = [entry.data["query"] for entry in await vault.entries() if entry.kind == "question"]
    assert asked == ["Who?", "Who else?"]


async def test_the_policy_holds_for_tools_too(world: OfflineWorld, tmp_path: Path):
    """R6 in deep research: nothing private leaves, nothing inside the network is asked."""
    script = [
        calls(
            call("web_search", query="who is jo@private.example"),
            call("fetch_page", url="http://inside.example/"),
            call("fetch_page", url="http://printer.local/"),
        ),
        expect(lambda asked: len(asked.results) == 3, then=say("Nothing.")),
    ]
    model = ScriptedModel(script)
    vault = MemoryVault()
    result = await run(deep_kit(world, model, tmp_path), vault)
    outgoing, inside, local = (message.text for message in result["messages"] if message.type == "tool")
    assert "outgoing.email_address" in outgoing
    assert "jo@private.example" not in outgoing
    assert "domains.denied" in local
    assert "inside.example" in inside
    assert world.count() == 0
    assert read_evidence(await vault.entries()).sources == {}
    receipt = egress_receipt(await vault.entries())
    assert [request for request in receipt["requests"] if request["to"] == "web"] == []
    assert {each["rule"] for each in receipt["refused"]} == {"outgoing.email_address", "address", "domains.denied"}
    assert "jo@private.example" not in repr(receipt)


async def test_without_an_engine_vault_the_evidence_is_in_the_data_folder(world: OfflineWorld, tmp_path: Path):
    """D16: under `langgraph dev` no vault is handed over; a folder for the thread takes its place."""
    page = pages_for(world)["one"]
    equipment = deep_kit(world, ScriptedModel([call("fetch_page", url=page.url), say("Read.")]), tmp_path)
    await run(equipment, None, thread="0b7c1d6e-0000-4000-8000-000000000001")
    vault = equipment.vault_for({"configurable": {"thread_id": "0b7c1d6e-0000-4000-8000-000000000001"}})
    assert list(read_evidence(await vault.entries()).sources) == ["s1"]
    assert list((tmp_path / "research").iterdir())


async def test_a_run_without_a_thread_is_told_to_have_one(world: OfflineWorld, tmp_path: Path):
    graph = build_agent(deep_kit(world, ScriptedModel([say("Hello.")]), tmp_path))
    with pytest.raises(ConfigurationError, match="thread_id"):
        await graph.ainvoke({"messages": [("user", "Who?")]})


def test_without_a_capable_model_the_way_out_is_named(world: OfflineWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """D16: no key, no model: an error that says what to set, and that quotes can be had without."""
    with pytest.raises(ConfigurationError, match=r"STEPWELL_MODEL.*'research'"):
        build_agent(deep_kit(world, None, tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "STEPWELL_MODEL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigurationError, match="model that can use tools"):
        make_graph()


async def test_a_tool_call_that_runs_again_sends_nothing_again(world: OfflineWorld, tmp_path: Path):
    """D16: the call's id is the key, so a run that is resumed after a crash goes on with the answers it had."""
    page = pages_for(world)["one"]
    vault = MemoryVault()

    async def fetch(call_id: str) -> int:
        wish = AIMessage("", tool_calls=[{"name": "fetch_page", "args": {"url": page.url}, "id": call_id}])
        graph = build_agent(deep_kit(world, ScriptedModel([raw(wish), say("Read.")]), tmp_path))
        question = HumanMessage("Who?", id="q")
        await graph.ainvoke({"messages": [question]}, {"configurable": {"thread_id": "t1", VAULT: vault}})
        return world.count()

    assert await fetch("call-7") == 2  # robots.txt and the page
    assert await fetch("call-7") == 2  # a new process: nothing is remembered but the trail
    assert await fetch("call-8") == 3  # another call of the same question knows robots.txt from the trail


def checked_report(pages: dict[str, WorldPage]) -> str:
    one, two = pages["one"], pages["two"]
    number = next(fact for fact in one.facts if fact.kind == "number")
    return (
        f"# Bridges\n\n{number.sentence.rstrip('.')} [s1]. {number.sentence.replace(number.value, '77,777 metres').rstrip('.')} [s1].\n"
        f"It was painted\ngreen by volunteers [s1]. Nobody was asked.\n\n- {two.facts[0].sentence} [s2]\n"
    )


async def deep_run(world: OfflineWorld, folder: Path, vault: Any, verdict: str = "supported") -> str:
    pages = pages_for(world)
    read = each_run([call("fetch_page", url=pages["one"].url), call("fetch_page", url=pages["two"].url), say("Read.")])
    scripts = {
        "deep_research": [
            call("task", description="both", subagent_type="researcher"),
            call("write_file", file_path=REPORT, content=checked_report(pages)),
            say("Done."),
        ],
        "researcher": read,
    }
    asked = f"Who designed them? See {pages['one'].url} and {pages['two'].url}."
    result = await run(deep_kit(world, judging(scripts, verdict), folder), vault, question=asked)
    return text_of(result["files"][REPORT])


async def test_every_sentence_of_a_deep_report_is_judged_and_the_bundle_verifies(world: OfflineWorld, tmp_path: Path):
    """R9, R15: a verdict per sentence with its quotes; what the cited page does not say is marked, wherever the sentence stands."""
    vault, bundle = MemoryVault(), tmp_path / "deep.zip"
    report = await deep_run(world, tmp_path, vault)
    number = next(fact for fact in pages_for(world)["one"].facts if fact.kind == "number")
    assert re.search(re.escape(number.sentence.rstrip(".")) + r" \[s1\]\(\S+\)\. ", report), report
    told = "“77,777 metres”; the source says “1,025 metres”"
    assert re.search(rf"77,777 metres.* \[s1\]\(\S+\)\. \*\(differs: {told}\)\*", report), report
    assert re.search(
        r"green by volunteers \[s1\]\(\S+\)\. \*\(not in its source(?:: [^()]+)?\)\* "
        r"Nobody was asked\. \*\(not in its source(?:: [^()]+)?\)\*",
        report,
    )
    claims = read_evidence(await vault.entries()).claims
    assert [claim.verdict for claim in claims.values()] == [
        "verbatim", "contradicted", "unsupported", "unsupported", "verbatim",
    ]  # fmt: skip
    entries = await vault.entries()
    quotes = read_evidence(entries).quotes
    ceilings = [check(claim.text, claim.evidence, quotes).ceiling for claim in claims.values()]
    assert all(RANK[claim.verdict] <= RANK[most] for claim, most in zip(claims.values(), ceilings, strict=True)), (
        "the judge agreed with all of them"
    )
    judge = entries[-1].data["judge"]
    assert (judge["model"], judge["measured"]) == ("scriptedmodel", None)
    await write_bundle(vault, bundle)
    checked = verify_bundle(bundle)
    assert checked.ok, checked.problems
    assert checked.claims == 5
    assert checked.judge.startswith("Judged by scriptedmodel. How well it judges was not measured")
    for form in FORMATS:
        assert export_bundle(bundle, form)
    with pytest.raises(BundleError, match="cannot be repeated"):
        await replay_bundle(bundle)


async def test_a_deep_report_is_called_the_work_of_an_agent(world: OfflineWorld, tmp_path: Path):
    """It holds strictly, and a reader hears that nobody approved its steps."""
    vault, bundle, signer = MemoryVault(), tmp_path / "deep.zip", SigningKey(tmp_path)
    await deep_run(world, tmp_path, vault)
    await write_bundle(vault, bundle, signer)
    checked = verify_bundle(bundle, key=signer.public_key(), strict=True)
    assert checked.ok, checked.problems
    assert checked.notes == (BY_AGENT,)
    assert "nobody approved its steps" in export_bundle(bundle, "html").decode()


async def test_a_judge_of_a_deep_report_can_lower_what_the_words_allow(world: OfflineWorld, tmp_path: Path):
    report = await deep_run(world, tmp_path, MemoryVault(), verdict="partial")
    assert "*(not settled)*" in report


async def test_the_agents_of_a_question_are_as_polite_as_one(world: OfflineWorld, tmp_path: Path):
    """Two researchers on a host that wishes for pauses: robots.txt once, and one line. Another thread asks, and writes down, for itself."""
    slept: list[int] = []

    async def sleep(seconds: float) -> None:
        slept.append(round(seconds))

    url = "https://robots-delay.example/ok"
    scripts = {
        "deep_research": [
            calls(*(call("task", description=part, subagent_type="researcher") for part in PARTS)),
            say("Done."),
        ],
        "researcher": each_run([call("fetch_page", url=url), say("Read.")]),
    }
    for thread in ("t1", "t2"):
        vault = MemoryVault()
        kit = replace(deep_kit(world, judging(scripts), tmp_path), sleep=sleep)
        await run(kit, vault, thread, question=f"What does {url} say?")
        robots = [entry for entry in await vault.entries() if entry.kind == "request" and entry.data["why"] == "robots"]
        assert [entry.data["url"] for entry in robots] == ["https://robots-delay.example/robots.txt"]
    assert slept == [2, 2]
    assert [request.path for request in world.requests if request.host == "robots-delay.example"].count("/robots.txt") == 2
