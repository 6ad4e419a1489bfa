"""The peer: a stock deepagents agent with a search and a fetch tool over the same world, and the same writer.

Its tools are the plainest that do the work: SearXNG's JSON, and the page as text. The prompt asks for what ours enforces (cite what
was read, no more than so many requests); what the model makes of that is the model's affair, and nothing checks it.
"""

from __future__ import annotations

import html
import json
import random
import re
import urllib.parse
import urllib.request
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from pydantic import Field

from benchmarks.research_runs.claims import Known, Written, report_of, write_claims
from benchmarks.research_runs.scoring import score

_PAGES_PER_STEP = 3


class _Writer(BaseChatModel):
    """Searches, reads, then writes claims of known truth."""

    question: dict[str, Any]
    facts: list[dict[str, Any]]
    claims: int
    written: list[Written] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "benchmark-writer"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self.bind(tools=tools)

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **sent: Any) -> ChatResult:
        results = [message for message in messages if isinstance(message, ToolMessage)]
        pages = [message for message in results if message.name == "fetch_page"]
        if not results:
            calls = [("web_search", {"query": step}) for step in self.question["steps"]]
        elif not pages:
            calls = [
                ("fetch_page", {"url": url})
                for message in results
                for url in json.loads(str(message.content))[:_PAGES_PER_STEP]
            ]
        else:
            return _said(AIMessage(self._write([json.loads(str(page.content)) for page in pages])))
        return _said(
            AIMessage(
                "", tool_calls=[{"name": name, "args": args, "id": f"{name}-{n}"} for n, (name, args) in enumerate(calls)]
            )
        )

    def _write(self, pages: list[dict[str, str]]) -> str:
        chance = random.Random(self.question["seed"])
        urls = list(dict.fromkeys(page["url"] for page in pages))
        known, others = [], []
        for fact in self.facts:
            holds = [urls.index(page["url"]) + 1 for page in pages if fact["sentence"] in page["text"]]
            made = Known(
                fact["kind"],
                fact["subject"],
                fact["value"],
                fact["sentence"],
                tuple(fact["urls"]),
                str(holds[0]) if holds else "",
            )
            (known if holds else others).append(made)
        self.written.extend(write_claims(chance, known, others, self.claims))
        return report_of(chance, self.written, urls)


def carry_out(
    contestant: ModuleType,
    *,
    questions: Sequence[dict[str, Any]],
    facts: list[dict[str, Any]],
    ports: dict[str, int],
    claims: int,
) -> dict[str, Any]:
    return {"runs": [_one(contestant, question, facts, ports["peer"], claims) for question in questions]}


def _one(
    contestant: ModuleType, question: dict[str, Any], facts: list[dict[str, Any]], port: int, claims: int
) -> dict[str, Any]:
    asked: list[str] = []

    def get(url: str) -> str:
        asked.append(url)
        parts = urllib.parse.urlsplit(url)
        path = urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Host": parts.netloc})
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.read().decode("utf-8", "replace")

    @tool
    def web_search(query: str) -> str:
        """Search the web; gives a list of addresses."""
        found = json.loads(get(f"https://searxng.example/search?{urllib.parse.urlencode({'q': query, 'format': 'json'})}"))
        return json.dumps([row["url"] for row in found["results"] if not row["url"].endswith(".pdf")])

    @tool
    def fetch_page(url: str) -> str:
        """Fetch a page; gives its text."""
        text = html.unescape(re.sub(r"<[^>]+>", " ", get(url)))
        return json.dumps({"url": url, "text": " ".join(text.split())})

    model = _Writer(question=question, facts=facts, claims=claims)
    agent = contestant.agent(model, [web_search, fetch_page])
    prompt = f"{question['query']} Cite only pages you have read. Make at most {question['ceiling']} requests."
    state = agent.invoke({"messages": [("user", prompt)]})
    report = str(state["messages"][-1].content)
    read = [url for url in asked if "searxng" not in url]
    return {
        "score": score(report, [claim.data() for claim in model.written], read),
        "requests": len(asked),
        "ceiling": question["ceiling"],
    }


def _said(message: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])
