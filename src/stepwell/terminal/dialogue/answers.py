"""Turns an interrupt and a line that a person typed into the answer that resumes the run.

```
approval        y           approve
                n [reason]  reject; the agent gets the reason
                e {json}    edit: run the same tool with these arguments
clarification   2           an option by its number, its label or its id; several are separated by commas
                own words   where the interrupt allows them, or has no options
MCP server      {json}      the fields of its form; or an empty line, when the address that it names was opened
                n           decline
                c           cancel
anything else   is shown as is; the typed line is the answer, parsed as JSON if it is an object or a list
                json: 3     any other JSON: a number, true, null
```
An interrupt is an approval or a clarification only if it has the complete shape: a user's graph may use the same names for its own
purposes. Approvals come in two shapes: one interrupt with several requests (answered in order), and one interrupt per call. A
clarification has `question`, `options[{id, label}]`, `allow_multiple` and `allow_freeform`; its answer is `{response}` without options,
and `{selected: [ids], freeform?}` with options.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stepwell.answers.approvals import is_approval
from stepwell.answers.clarification import is_clarification
from stepwell.answers.elicitation import elicitation_fault, is_elicitation
from stepwell.terminal.dialogue.session import OpenInterrupt

Ask = Callable[[str], str]
"""Shows a question and returns the line that the person typed."""

CHOICES = "[y]es, [n]o and why, [e]dit and the new arguments as JSON"


def answer_all(interrupts: Iterable[OpenInterrupt], ask: Ask) -> dict[str, Any]:
    """Ask the person about every interrupt; returns interrupt id -> answer."""
    return {interrupt.id: _answer(interrupt.value, ask) for interrupt in interrupts}


def _answer(value: Any, ask: Ask) -> Any:
    if not isinstance(value, Mapping):
        return _parse_line(ask(value if isinstance(value, str) else _dump(value)))
    if is_approval(value):
        allowed = {config["action_name"]: config["allowed_decisions"] for config in value["review_configs"]}
        return {"decisions": [_decide(request, allowed.get(request["name"]), ask) for request in value["action_requests"]]}
    if value.get("type") == "tool_approval" and _is_request(value):
        return _decide(value, value.get("allowed_decisions"), ask)
    if is_clarification(value):
        return clarify(value, ask)
    if is_elicitation(value):
        return answer_server(value, ask)
    return _parse_line(ask(str(value["question"]) if "question" in value else _dump(value)))


def _is_request(request: Any) -> bool:
    return isinstance(request, Mapping) and isinstance(request.get("name"), str) and "args" in request


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _parse_line(line: str) -> Any:
    """The answer in a typed line. A graph may expect more than text, but a line that could be text is text unless it starts with
    `json:`."""
    said, marked = line.strip(), False
    if said[:5].casefold() == "json:":
        said, marked = said[5:], True
    try:
        value = json.loads(said)
    except ValueError:
        return line
    return value if marked or isinstance(value, dict | list) else line


def _decide(request: Mapping[str, Any], allowed: Sequence[str] | None, ask: Ask) -> dict[str, Any]:
    """Ask until the line is a decision that this tool allows."""
    name = request["name"]
    prompt = f"Run {name}({_dump(request['args'])})?\n{CHOICES}"
    while True:
        decision = parse_decision(name, ask(prompt))
        if isinstance(decision, str):
            prompt = decision
        elif allowed and decision["type"] not in allowed:
            prompt = f"'{decision['type']}' is not allowed for {name}; it allows: {', '.join(allowed)}"
        else:
            return decision


def parse_decision(tool: str, line: str) -> dict[str, Any] | str:
    """The decision in a line, or a sentence that says what is wrong with it."""
    word, _, rest = line.strip().partition(" ")
    rest = rest.strip()
    match word.lower():
        case "y" | "yes":
            return {"type": "approve"}
        case "n" | "no":
            return {"type": "reject", "message": rest} if rest else {"type": "reject"}
        case "e" | "edit":
            return _parse_edit(tool, rest)
        case _:
            return f"Please type one of: {CHOICES}"


def _parse_edit(tool: str, text: str) -> dict[str, Any] | str:
    try:
        args = json.loads(text)
    except ValueError:
        args = None
    if not isinstance(args, dict):
        return 'The new arguments must be one JSON object, like: e {"file_path": "/notes.md"}'
    return {"type": "edit", "edited_action": {"name": tool, "args": args}}


@dataclass(frozen=True)
class Option:
    """One of the choices that a clarification offers."""

    id: str
    label: str


def clarify(request: Mapping[str, Any], ask: Ask) -> dict[str, Any]:
    """Ask until the line is a valid answer."""
    options = _read_options(request.get("options"))
    question = str(request.get("question") or "The agent asks.")
    if not options:
        prompt = question
        while not (response := ask(prompt).strip()):
            prompt = "Please write an answer."
        return {"response": response}
    multiple, freeform = bool(request.get("allow_multiple")), bool(request.get("allow_freeform"))
    how = _explain_choice(multiple, freeform)
    lines = [f"  {number}. {option.label}" for number, option in enumerate(options, 1)]
    prompt = "\n".join([question, *lines, how])
    while True:
        answer = parse_choice(ask(prompt), options, multiple=multiple, freeform=freeform)
        if answer is not None:
            return answer
        prompt = f"That is not one of the choices. {how}"


def answer_server(request: Mapping[str, Any], ask: Ask) -> dict[str, Any]:
    """Ask until the line is a valid answer to an MCP server."""
    lines = [f"{request['server']} asks: {request['message']}", *([str(request["problem"])] if request.get("problem") else [])]
    if request["mode"] == "url":
        prompt = "\n".join([*lines, f"Open {request['url']}", "Press Enter when it is done, or type [n]o or [c]ancel."])
    else:
        fields = _dump(request["requested_schema"].get("properties", {}))
        prompt = "\n".join([*lines, f"Fields: {fields}", "Type them as one JSON object, or [n]o or [c]ancel."])
    while True:
        answer = {**_parse_server_line(ask(prompt).strip(), request["mode"]), "question_id": request["question_id"]}
        fault = elicitation_fault(request, answer)
        if fault is None:
            return answer
        prompt = fault


def _parse_server_line(line: str, mode: str) -> dict[str, Any]:
    if line.lower() in ("n", "no"):
        return {"action": "decline"}
    if line.lower() in ("c", "cancel"):
        return {"action": "cancel"}
    if mode == "url":
        return {"action": "accept"} if line.lower() in ("", "y", "yes") else {}
    try:
        return {"action": "accept", "content": json.loads(line)}
    except ValueError:
        return {"action": "accept"}


def parse_choice(line: str, options: Sequence[Option], *, multiple: bool, freeform: bool) -> dict[str, Any] | None:
    """The answer in a line; None if it is not valid."""
    text = line.strip()
    whole = _find(text, options)
    parts = [text] if whole else [part.strip() for part in text.split(",") if part.strip()]
    chosen = [_find(part, options) for part in parts]
    selected = list(dict.fromkeys(option.id for option in chosen if option is not None))
    if selected and None not in chosen and (multiple or len(selected) == 1):
        return {"selected": selected}
    return {"selected": [], "freeform": text} if freeform and text else None


def _find(text: str, options: Sequence[Option]) -> Option | None:
    if text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= len(options):
        return options[int(text) - 1]
    return next((option for option in options if text.casefold() in (option.label.casefold(), option.id.casefold())), None)


def _read_options(given: Any) -> list[Option]:
    found = []
    for entry in given if isinstance(given, list | tuple) else ():
        if isinstance(entry, Mapping):
            name = str(entry.get("id", entry.get("label", "")))
            found.append(Option(name, str(entry.get("label") or name)))
        else:
            found.append(Option(str(entry), str(entry)))
    return found


def _explain_choice(multiple: bool, freeform: bool) -> str:
    return f"Type a number{', or several separated by commas' if multiple else ''}{', or your own words' if freeform else ''}."
