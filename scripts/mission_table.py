"""Writes docs/mission.md: each row of the mission, and the tests whose docstring names it.

`python scripts/mission_table.py` writes the file; `--check` only says whether it is up to date, which tests/architecture asks.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "mission.md"

ROWS = {
    "D1": "`create_deep_agent` with its whole signature, older forms included; returns a compiled LangGraph graph",
    "D2": "base prompt; default stack in order; a caller's middleware of the same kind replaces the default",
    "D3": "planning with `write_todos`, kept across turns",
    "D4": "file tools: numbered lines, paging, exact edits",
    "D5": "a result too large for the context goes to a file and leaves a pointer",
    "D6": "`task`: general-purpose, custom and compiled subagents; isolated, parallel, robust, files merged",
    "D7": "summarization at 170,000 tokens or 85 % of the window; call and result never separated",
    "D8": "Anthropic prompt caching; nothing on other models",
    "D9": "dangling tool calls are closed before the model sees them",
    "D10": "approve, edit, reject; in the main agent and inside subagents",
    "D11": "backends: state, store, filesystem, composite; prefixes; instance or factory",
    "D12": "paths validated the same everywhere; no escape, no exception",
    "D13": "edits are atomic; concurrent ones are kept or refused as conflicts",
    "D14": "shell with its session in state; MCP tools; structured responses; context schema; cache",
    "D15": "models by environment; per-subagent `model_settings`; any LangChain model",
    "D16": "`examples/research/run_local.py`, also as a graph for LangGraph Studio",
    "R1": "thinker, auditor, human gate, tool executor, synthesizer; routers are pure functions",
    "R2": "state channels: reasoning appends and keeps the last 20, all others replace; the trail is kept elsewhere",
    "R3": "plan, step, audit, reasoning, state as validated schemas; knowledge and URLs reach thinker and synthesizer",
    "R4": "role prompts that ask for JSON, extraction, validation, retries with the error fed back",
    "R5": "a failing node ends `failed` with a message; reaching the ceiling says so",
    "R6": "`POLICY.md` is loaded and enforced; an audit that cannot be read is a rejection",
    "R7": "the human approves, edits or rejects; also after a restart",
    "R8": '`web_search`: engines, time-outs, bounded counts; blocked is not "no results"',
    "R9": "final report with citations that resolve to stored sources",
    "R10": "model loaded once, lazily, with progress; status readable",
    "R11": "`/api/model/load`, `/api/research`, `/api/research/approve` with their events",
    "R12": "page: model card, chat, knowledge drop zone, starter cards, trace, stop; a new question ends the one before",
    "R13": "knowledge in the browser: MiniLM there, passages with places, top 8; only excerpts and files that may be read leave the device",
    "R14": "checkpoints: memory in development, SQLite by default, Postgres for many servers and workers",
    "R15": "persistent checkpoints, page fetch, more engines, model routing, OpenTelemetry, parallel steps",
    "P1": "a Cashu token is validated without being redeemed; nothing is taken until work starts",
    "P2": "a set number of sats per model call: every checkpointed answer is charged once, a lost one never, and is counted",
    "P3": "when the balance is short the run pauses with `payment_exhausted` and goes on in the same run when funded",
    "P4": "the unused balance comes back as a real refund token, recoverable until claimed",
    "P5": "funding requests (`request_funding(amount_sats, reason)`) pass human approval",
    "T1": "three graphs published: `deeptutor`, `seminar_agent` (legacy), `simple_agent`",
    "T2": "the tutor's stack in order: payment, todos, clarify, filesystem, client tools, subagents, approvals",
    "T3": "`ask_user`, `ask_choices` as interrupts; used only when intent is open",
    "T4": "scratch files `/scratch/ /summaries/ /analysis/` on the server, free to write, kept within the thread",
    "T5": "the user's files stay on the user's device; seven operations, executed there; writes shown as a diff and approved",
    "T6": "chained interrupts of all kinds, in the main agent and subagents, in any order",
    "T7": "the tutor's state: `payment_*`, `current_project_id`, files, todos, the argument",
    "T8": 'Socratic behaviour as code: phases with exit tests, argument document, lint, hints, "just tell me" works',
    "W1": "workspace: a main agent whose only tools are `task` and its todos; both stacks in their fixed order",
    "W2": "`ConfigToStateMiddleware` and `GCSRuntimeMiddleware`: the request's root reaches tools, with no shared state; sync and async",
    "W3": "subagent `gcs-filesystem` on the small model, with `ls, read_file, write_file, edit_file`",
    "W4": "files in Google Cloud Storage below `/company/workspace/`, optimistic locking on edit; the same code on S3, Azure, memory",
    "W5": "models in one table; subagents in a registry of lazy factories; one more is a folder and a line",
    "W6": "writes need approval, which shows what would change and holds for that",
    "W7": "the workspace's environment variables, also from a `.env` file",
    "W8": "`POST /api/agent` with `config.configurable.gcs_root_path`; also as an assistant and under `langgraph dev`",
    "W9": "no tenant ever sees another's names, bytes or existence",
}

HEAD = """# The mission, row by row

Each row is proven by tests that name it in their docstring. Written by `scripts/mission_table.py`; do not edit by hand.
"""


def tests_by_row() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {row: [] for row in ROWS}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name, docstring in _documented_tests(path):
            for row in set(re.findall(r"\b[DPRTW]\d+\b", docstring)) & ROWS.keys():
                found[row].append(f"{path.relative_to(ROOT)}::{name}")
    return found


def _documented_tests(path: Path) -> Iterator[tuple[str, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
            yield node.name, ast.get_docstring(node) or ""


def page() -> str:
    parts = [HEAD]
    for row, tests in tests_by_row().items():
        lines = "\n".join(f"- `{test}`" for test in sorted(tests))
        parts.append(f"## {row}: {ROWS[row]}\n\n{lines}\n")
    return "\n".join(parts)


def main() -> int:
    if "--check" in sys.argv:
        return 0 if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page() else 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
