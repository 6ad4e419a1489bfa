"""Claim: the harness takes little of the model's attention. Tokens (o200k) of the first call of an agent built with no options, and what
178 deferred tools add to it.

Counted as an OpenAI-style model gets it: the system prompt's text, and the tools as compact JSON. The count is made in an
environment of its own, by a package that carries the o200k ranks with it.
"""

from __future__ import annotations

import json
import subprocess
from types import ModuleType
from typing import Any

from benchmarks.bench import Bench, Figures, Row, best
from benchmarks.many_tools import many_tools
from benchmarks.model import noop_model

COUNT = """
import json, sys, bpe_openai
encode = bpe_openai.get_encoding("o200k_base").encode
print(json.dumps([len(encode(text)) for text in json.load(sys.stdin)]))
"""


MANY = 178
"""As many as in deepagents' issue 5528, where "hello" cost 92,690 tokens."""


def measure(contestant: ModuleType, tools: int = 0) -> dict[str, Any]:
    """The texts that the first call sends."""
    model = noop_model(0, convert_schemas=True)
    contestant.agent(model, many_tools(tools)).invoke({"messages": [("user", "go")]})
    request = model.requests[0]
    system = "\n".join(str(message.text) for message in request["messages"] if message.type == "system")
    return {
        "system": system,
        "tools": [json.dumps(tool, separators=(",", ":"), ensure_ascii=False) for tool in request["tools"]],
        "names": [tool["function"]["name"] for tool in request["tools"]],
    }


def rows(bench: Bench) -> list[Row]:
    figures, totals = _tokens(bench, "context", 0)
    for name, results in figures.items():
        for result in results:
            bench.raw[f"context of {name}"] = dict(zip(["system", *result["names"]], result["counts"], strict=True))
    _, with_many = _tokens(bench, "context with many tools", MANY)
    added = {name: _difference(with_many[name], totals[name]) for name in totals}
    planning = {name: any("todo" in tool for result in figures[name] for tool in result["names"]) for name in figures}
    note = "with planning: " + ", ".join(f"{name} {'yes' if planning[name] else 'no'}" for name in ("ours", "peer"))
    return [
        Row(
            "first-call context, default agent, o200k tokens",
            "≤ 2,300 with planning",
            totals["ours"],
            totals["floor"],
            totals["peer"],
            2300,
            form="{:,.0f}".format,
            note=note,
        ),
        Row(
            f"{MANY} deferred tools: added to the first call, o200k tokens",
            "≤ 200",
            added["ours"],
            added["floor"],
            added["peer"],
            200,
            form="{:,.0f}".format,
        ),
    ]


def _tokens(bench: Bench, label: str, tools: int) -> tuple[Figures, dict[str, float | None]]:
    figures = bench.rounds("context", {"tools": tools}, count=1, label=label)
    for results in figures.values():
        for result in results:
            _count(bench, result)
    return figures, {name: best(figures, name, "tokens") for name in figures}


def _difference(more: float | None, less: float | None) -> float | None:
    return None if more is None or less is None else more - less


def _count(bench: Bench, result: dict[str, Any]) -> None:
    if bench.tokens_python is None:
        result["counts"] = [0 for _ in (result["system"], *result["tools"])]
        return
    texts = json.dumps([result["system"], *result["tools"]])
    answer = subprocess.run([str(bench.tokens_python), "-c", COUNT], input=texts, capture_output=True, text=True, check=True)
    result["counts"] = json.loads(answer.stdout)
    result["tokens"] = sum(result["counts"])
