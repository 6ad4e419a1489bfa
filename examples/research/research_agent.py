"""A research agent: it plans, sends researchers out side by side, writes /final_report.md and has it criticised.

`build_agent` is for programs (see run_local.py); `make_graph` is for LangGraph Studio, by the langgraph.json at the root.
Importing this needs no key and opens nothing.
"""

import os
from pathlib import Path

import httpx
from dotenv import dotenv_values

from stepwell import ToolUseError, create_deep_agent

PROMPTS = Path(__file__).parent / "prompts"
TAVILY_URL = "https://api.tavily.com/search"
TIMEOUT_S = 30
MOST_CHARS = 2000

NOT_CONFIGURED = (
    "The internet search is not configured: TAVILY_API_KEY is not set (a key can be had at tavily.com; put it into the environment "
    "or into .env). Do not search again. Go on with what you know, and say in your text that it was written without the web."
)


def find_key():
    """The key for Tavily from the environment or from .env, or None."""
    return os.environ.get("TAVILY_API_KEY") or dotenv_values(".env").get("TAVILY_API_KEY") or None


def search_tool(key, url=TAVILY_URL):
    """The function that researchers search with. Without a key it says so, and the work goes on."""

    def internet_search(query: str, max_results: int = 5) -> str:
        """Search the web. Gives titles, addresses and excerpts; at most 10 results."""
        if not key:
            return NOT_CONFIGURED
        body = {"query": query[:400], "max_results": min(max(max_results, 1), 10)}
        try:
            answer = httpx.post(url, json=body, headers={"Authorization": f"Bearer {key}"}, timeout=TIMEOUT_S)
            answer.raise_for_status()
            results = answer.json()["results"]
        except httpx.HTTPStatusError as error:
            raise ToolUseError(_refused(error.response.status_code)) from None
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            # A failure is never "no results": a report would then say that nothing is known.
            raise ToolUseError(f"The search failed ({type(error).__name__}). Try once more, or go on without it.") from None
        return "\n\n".join(map(_shown, results)) or "No results. Try other words."

    return internet_search


def _refused(status):
    reasons = {401: "the key is not valid", 429: "too many requests", 432: "the plan's limit is reached"}
    return f"The search was refused: {reasons.get(status, f'status {status}')}. Go on with what you have, and say so."


def _shown(result):
    return f"{result.get('title')}\n{result.get('url')}\n{str(result.get('content'))[:MOST_CHARS]}"


def build_agent(model=None, search=None):
    """The agent. `search` replaces the web search by another function."""
    search = search or search_tool(find_key())
    researcher = {
        "name": "researcher",
        "description": "researches one part of the question and keeps its findings in a file",
        "system_prompt": _prompt("researcher"),
        "tools": [search],
        "timeout_s": 900,
    }
    critic = {
        "name": "critic",
        "description": "reads /final_report.md and lists what to mend",
        "system_prompt": _prompt("critic"),
        "tools": [search],
    }
    return create_deep_agent(model, [search], system_prompt=_prompt("lead"), subagents=[researcher, critic], name="research")


def make_graph():
    """For LangGraph Studio, which calls it for each run and brings its own checkpointer."""
    return build_agent()


def _prompt(name):
    return PROMPTS.joinpath(f"{name}.md").read_text(encoding="utf-8")
