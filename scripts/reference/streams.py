"""docs/reference/stream-events.md and interrupts.md, from the tables in the docstrings of the modules that send and check them.

Names that the code knows and no table mentions are an error: the docstring is then out of date.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from reference.markdown import demote, page
from stepwell.answers import approvals, clarification, client_tools, elicitation, payment, shapes
from stepwell.research.graph import answers as research
from stepwell.runs.streaming import lifecycle, messages, modes, steps
from stepwell.server.protocol import translation


def stream_events() -> str:
    text = page(
        "Stream events",
        "Events of `runs/stream`, `threads/{thread_id}/stream` and `join` as server-sent events. "
        "`client.runs.stream(..., stream_mode=[...])` chooses them. "
        "[Thread streams](thread-streams.md) have a form of their own, below.",
        "## Events of every run",
        "| event | data |\n|---|---|\n"
        "| `metadata` | `{run_id, attempt}`: the first event; `attempt` counts the times that the run was begun |\n"
        "| `error` | `{error, message}`: the run has failed; `end` follows |\n"
        "| `end` | `{run_id, status}`, and `paused: true` if it waits for an answer or reached a breakpoint: the last event |",
        "## Stream modes",
        _after_first_line(modes, without=("| `protocol`", "`values` and `tasks` are always")),
        "## `messages`",
        _after_first_line(messages, without=("The older format sends",)),
        "## `tasks`, `checkpoints`, `debug`, `tools`",
        _after_first_line(steps),
        "## `lifecycle`",
        _after_first_line(lifecycle),
        "## Events of thread streams",
        "What the events above become for `client.threads.stream`:",
        _after_first_line(translation)
        .replace("| journal | protocol |", "| event | event of the thread stream |")
        .replace("`protocol/", "`"),
    )
    _require(text, modes.STREAM_MODES)
    return text


def interrupts() -> str:
    text = page(
        "Interrupts",
        "A run that waits for a person or a device has an interrupt: the `type` of its value says what it asks for, and "
        "`response_schema` what an answer must look like. "
        'Answer with `Command(resume={interrupt.id: answer})`, over HTTP with `{"command": {"resume": {"<interrupt id>": answer}}}`. '
        "An answer that does not fit raises [`AnswerShapeError`](errors.md) (422 `answer-shape`), and the interrupt stays open.",
        _after_first_line(shapes, without=("Our questions are recognised", "| a `type` that an application")),
        "Your own graphs may use the same words for their questions: ours are recognised by `x-stepwell-answer` in their "
        "`response_schema`, which names the kind.",
        "## `action_requests`",
        "Approvals in LangChain's form. The value has `action_requests` (`name`, `args`, `description`) and `review_configs` "
        "(`action_name`, `allowed_decisions`). "
        "[What each decision does](create-deep-agent.md#approvals).",
        "The schema of the answer to one request:",
        _json(approvals.approvals_schema({"action_requests": [{}]})),
        f"## `{clarification.CLARIFICATION_REQUEST}`",
        _after_first_line(clarification),
        f"## `{client_tools.CLIENT_TOOL_EXECUTION}`",
        _after_first_line(client_tools) + f"\n\n`ERROR_CODES`: {', '.join(f'`{code}`' for code in client_tools.ERROR_CODES)}. "
        "The schemas are in [HTTP routes](http-routes.md#schemas).",
        f"## `{elicitation.MCP_ELICITATION}`",
        _after_first_line(elicitation),
        f"## `{payment.PAYMENT_EXHAUSTED}`",
        demote(payment.__doc__ or ""),
        _json(payment._SCHEMA),
        "## Research",
        _after_first_line(research),
    )
    _require(text, [*shapes.RULES, *research.ANSWERS])
    return text


def _after_first_line(module: Any, without: Collection[str] = ()) -> str:
    """A module's docstring without the sentence that introduces the module, and without the paragraphs and rows that begin like `without`:
    they are for maintainers."""
    lead, _, rest = demote(module.__doc__ or "").partition("\n\n")
    kept = [part for part in (rest or lead).split("\n\n") if not part.startswith(tuple(without))]
    return "\n".join(
        line
        for line in "\n\n".join(kept).splitlines()
        if not line.startswith(tuple(each for each in without if each[0] == "|"))
    )


def _json(schema: Any) -> str:
    return f"```json\n{_compact(schema)}\n```"


def _compact(value: Any, indent: str = "") -> str:
    """JSON in which what fits on a line stands on one."""
    line = json.dumps(value)
    if len(line) + len(indent) <= 100 or not isinstance(value, dict):
        return line
    inner = ",\n".join(f"{indent}  {json.dumps(key)}: {_compact(each, indent + '  ')}" for key, each in value.items())
    return f"{{\n{inner}\n{indent}}}"


def _require(text: str, names: Collection[str]) -> None:
    missing = [name for name in names if f"`{name}`" not in text]
    if missing:
        raise LookupError(f"No docstring explains {', '.join(missing)}: add them to the table of the module that owns them.")
