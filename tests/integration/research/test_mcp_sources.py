"""An MCP server as a source: asked beside the engines, within the policy and the ceilings, recorded, quoted, verified and replayed."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stepwell.demo.web import OfflineWorld
from stepwell.errors import ConfigurationError, FetchRefusedError
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.exchanges.recording import count_requests
from stepwell.research.audit.ledger import read_evidence
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.audit.signing import SigningKey
from stepwell.research.audit.vault import VAULT
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.deep.agent import build_agent
from stepwell.research.evidence.equipment import make_equipment
from stepwell.research.evidence.policy.file import default_policy
from stepwell.research.evidence.policy.rules import Limits
from stepwell.research.graph.replaying import replay_bundle
from stepwell.settings import Settings
from stepwell.testing import ScriptedModel, call, say
from stepwell.tools.mcp_web import McpWeb, read_sources
from stepwell.tools.web.fetch import PageFetcher
from stepwell.tools.web.search.choice import search_chain
from stepwell.tools.web.transport import WebRequest

from .conftest import Research, _no_wait
from .test_deep import deep_kit

SERVER = str(Path(__file__).parents[1] / "mcp_server.py")
QUESTION = "When was the Harbour bridge painted green?"


def settings_for(folder: Path, named: str = "library:search", **more: Any) -> Settings:
    servers = {"library": {"command": sys.executable, "args": [SERVER, "stdio"]}, **more}
    (folder / "servers.json").write_text(json.dumps({"mcpServers": servers}))
    return Settings.load(
        {
            "STEPWELL_DATA_DIR": str(folder),
            "STEPWELL_RESEARCH_MCP": named,
            "STEPWELL_MCP_SERVERS": str(folder / "servers.json"),
        }
    )


def research_with(world: OfflineWorld, settings: Settings, **changes: Any) -> Research:
    search = lambda web: search_chain(settings, web, cached=False, sleep=_no_wait)  # noqa: E731
    parts = {"web": world.web, "search": search, "embedder": LexicalEmbedder(), "models": None, **changes}
    return Research(make_equipment(settings, **parts))


async def test_an_answer_is_quoted_verified_and_replayed(world: OfflineWorld, tmp_path: Path) -> None:
    research = research_with(world, settings_for(tmp_path))
    await research.ask(QUESTION)
    state = await research.answer(True)
    assert state["status"] == "complete"
    assert "The Harbour bridge was painted green in 1934" in state["final_report"]
    assert "](mcp://library/search?query=" in state["final_report"]
    source = next(
        each for each in read_evidence(await research.vault.entries()).sources.values() if each.engine == "mcp:library"
    )
    assert source.kind == "web"
    assert "\u200b" not in (await research.vault.get(source.text_sha256)).decode()
    await write_bundle(research.vault, tmp_path / "bundle.zip", SigningKey(tmp_path))
    verified = verify_bundle(tmp_path / "bundle.zip")
    assert verified.problems == ()
    replayed = await replay_bundle(tmp_path / "bundle.zip")
    assert replayed.equal, replayed.differences


async def test_the_trail_names_the_server_and_why_it_was_asked(world: OfflineWorld, tmp_path: Path) -> None:
    research = research_with(world, settings_for(tmp_path))
    await research.ask(QUESTION)
    await research.answer(True)
    entries = await research.vault.entries()
    asked = [entry for entry in entries if entry.kind == "request" and entry.data["url"].startswith("mcp://")]
    assert [(entry.data["host"], entry.data["why"]) for entry in asked] == [("library", "search:mcp:library")]


async def test_the_engines_may_be_silent_while_a_server_answers(world: OfflineWorld, tmp_path: Path) -> None:
    for engine in ("duckduckgo", "wikipedia"):
        world.engine(engine, "broken")
    research = research_with(world, settings_for(tmp_path))
    await research.ask(QUESTION)
    state = await research.answer(True)
    assert state["status"] == "complete"
    assert "1934" in state["final_report"]


@pytest.mark.parametrize(
    ("changes", "rule"),
    [({"denied_domains": ("library",)}, "domains.denied"), ({"allowed_domains": ("bridges.example",)}, "domains.allowed")],
)
async def test_the_policy_decides_by_the_servers_name(
    world: OfflineWorld, tmp_path: Path, changes: dict[str, Any], rule: str
) -> None:
    research = research_with(world, settings_for(tmp_path), policy=replace(default_policy(), **changes))
    await research.ask(QUESTION)
    state = await research.answer(True)
    assert f"The MCP server 'library' gave no answer: The policy forbids it ({rule}" in state["final_report"]
    assert "1934" not in state["final_report"]


async def test_a_call_counts_against_the_ceiling(world: OfflineWorld, tmp_path: Path) -> None:
    policy = replace(default_policy(), limits=Limits(requests=1))
    research = research_with(world, settings_for(tmp_path), policy=policy)
    await research.ask(QUESTION)
    state = await research.answer(True)
    assert count_requests(await research.vault.entries()) == 1
    assert world.count() == 0
    assert "1934" in state["final_report"]
    assert "limits.requests" in state["final_report"]


@pytest.mark.parametrize(
    ("named", "fact"),
    [
        ("library:missing", "has no tool 'missing'"),
        ("library:erase", "says that it changes something"),
        ("library:add", "has no argument for a query"),
        ("library:die", "has no argument for a query"),
        ("library:fail", "harbour"),
        ("gone:search", "its command was not found"),
    ],
)
async def test_a_server_that_cannot_answer_is_named_in_the_report(
    world: OfflineWorld, tmp_path: Path, named: str, fact: str
) -> None:
    research = research_with(world, settings_for(tmp_path, named, gone={"command": str(tmp_path / "no-such-command")}))
    await research.ask("harbour bridge")
    state = await research.answer(True)
    assert fact in state["final_report"]
    assert "no-such-command" not in state["final_report"]


async def test_an_answer_is_bounded_and_an_empty_one_is_no_source(tmp_path: Path) -> None:
    sources = read_sources("library:search", settings_for(tmp_path).search.mcp_servers)
    web = McpWeb(None, sources, lambda server, host: ())  # type: ignore[arg-type]  # nothing else is asked here
    answer = await web.send(WebRequest(sources[0].address("a long story"), max_bytes=1_000))
    assert len(answer.content) <= 1_000
    assert not answer.complete
    assert (await web.send(WebRequest(sources[0].address("nothing")))).content == b""
    with pytest.raises(FetchRefusedError, match="No MCP source"):
        await web.send(WebRequest("mcp://library/erase?query=x"))


async def test_neither_a_page_nor_a_model_can_send_anything_to_a_server(world: OfflineWorld, tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    equipment = make_equipment(settings, web=world.web, embedder=LexicalEmbedder(), models=None)
    with pytest.raises(FetchRefusedError):
        await PageFetcher(equipment.web).fetch_page("mcp://library/search?query=secret")
    assert equipment.policy.check_url("mcp://library/search?query=secret")


@pytest.mark.parametrize(
    ("named", "fact"),
    [
        ("library", "Write server:tool"),
        ("Bad Name:x", "Write server:tool"),
        ("other:search", "does not describe"),
        ("../x:y", "Write server:tool"),
    ],
)
def test_a_source_that_is_not_described_is_refused_at_the_start(tmp_path: Path, named: str, fact: str) -> None:
    with pytest.raises(ConfigurationError, match=fact):
        make_equipment(settings_for(tmp_path, named), models=None)


def test_servers_are_described_in_a_file_that_no_dotenv_names(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("STEPWELL_RESEARCH_MCP=library:search\nSTEPWELL_MCP_SERVERS=/tmp/x.json\n")
    settings = Settings.load({}, dotenv=tmp_path / ".env")
    assert settings.search.mcp_servers is None
    with pytest.raises(ConfigurationError, match="Set STEPWELL_MCP_SERVERS"):
        read_sources(settings.search.mcp_sources, settings.search.mcp_servers)


async def test_an_agent_is_shown_the_answer_fenced_and_with_an_id(world: OfflineWorld, tmp_path: Path) -> None:
    sources = read_sources("library:search", settings_for(tmp_path).search.mcp_servers)
    kit = deep_kit(world, ScriptedModel([call("web_search", query="Harbour bridge"), say("Done.")]), tmp_path)
    kit = replace(kit, mcp_sources=sources, web=McpWeb(kit.web, sources, kit.policy.check_source))
    config: Any = {"configurable": {"thread_id": "t", VAULT: MemoryVault()}}
    result = await build_agent(kit).ainvoke({"messages": [("user", "When was the Harbour bridge painted?")]}, config)
    (told,) = [message.text for message in result["messages"] if message.type == "tool"]
    assert told.startswith("Source s1: ")
    assert "[untrusted text " in told.split("painted green in 1934")[0]
    assert "results from duckduckgo" in told


async def test_a_step_for_papers_is_replayed_with_the_engines_that_were_asked(world: OfflineWorld, tmp_path: Path) -> None:
    settings = Settings.load({"STEPWELL_DATA_DIR": str(tmp_path), "STEPWELL_PAPER_ENGINES": "pubmed,arxiv"})
    research = research_with(world, settings)
    await research.ask(f"What do studies say about the {world.pages[0].subject}?")
    state = await research.answer(True)
    assert state["status"] == "complete"
    assert "https://pubmed.ncbi.nlm.nih.gov/1/" in {
        source.url for source in read_evidence(await research.vault.entries()).sources.values()
    }
    await write_bundle(research.vault, tmp_path / "bundle.zip", SigningKey(tmp_path))
    assert verify_bundle(tmp_path / "bundle.zip").problems == ()
    replayed = await replay_bundle(tmp_path / "bundle.zip")
    assert replayed.equal, replayed.differences
