"""From a question of the agent and a line that a person typed to the answer that resumes the run.

```
approval        y           approve
                n [reason]  reject; the agent is told the reason
                e {json}    edit: run the same tool with these arguments
clarification   see `clarifications`
anything else   is shown as it is; the typed line is its answer, as JSON if it is an object or a list
```
Two shapes of approval exist: one interrupt with several requests (answered in order), and one interrupt for each call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Ask = Callable[[str], str]
"""Shows a question and gives the line that was typed."""

CHOICES = "[y]es, [n]o and why, [e]dit and the new arguments as JSON"


@dataclass(frozen=True)
class OpenInterrupt:
    """An interrupt that waits for an answer."""

    id: str
    value: Any


def answer_all(questions: Iterable[OpenInterrupt], ask: Ask) -> dict[str, Any]:
    """Put every question to the person; interrupt id to answer."""
    return {question.id: _answer(question.value, ask) for question in questions}


def _answer(value: Any, ask: Ask) -> Any:
    if not isinstance(value, Mapping):
        return _typed(ask(value if isinstance(value, str) else _shown(value)))
    if "action_requests" in value:
        allowed = {config["action_name"]: config["allowed_decisions"] for config in value.get("review_configs", ())}
        return {"decisions": [_decide(request, allowed.get(request["name"]), ask) for request in value["action_requests"]]}
    if value.get("type") == "tool_approval":
        return _decide(value, value.get("allowed_decisions"), ask)
    if value.get("type") == "clarification_request":
        return clarify(value, ask)
    return _typed(ask(str(value["question"]) if "question" in value else _shown(value)))


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _typed(line: str) -> Any:
    """Somebody else's graph may want more than a text; an object or a list can be typed."""
    try:
        value = json.loads(line)
    except ValueError:
        return line
    return value if isinstance(value, dict | list) else line


def _decide(request: Mapping[str, Any], allowed: Sequence[str] | None, ask: Ask) -> dict[str, Any]:
    """Ask until the line is one of the three forms, and one that this tool allows."""
    name, args = request["name"], request["args"]
    question = f"Run {name}({json.dumps(args, ensure_ascii=False, default=str)})?\n{CHOICES}"
    while True:
        decision = parse_decision(name, ask(question))
        if isinstance(decision, str):
            question = decision
        elif allowed and decision["type"] not in allowed:
            question = f"'{decision['type']}' is not allowed for {name}; it allows: {', '.join(allowed)}"
        else:
            return decision


def parse_decision(tool: str, line: str) -> dict[str, Any] | str:
    """The decision that a line stands for, or a sentence that says what is wrong with it."""
    word, _, rest = line.strip().partition(" ")
    rest = rest.strip()
    match word.lower():
        case "y" | "yes":
            return {"type": "approve"}
        case "n" | "no":
            return {"type": "reject", "message": rest} if rest else {"type": "reject"}
        case "e" | "edit":
            return _edited(tool, rest)
        case _:
            return f"Please type one of: {CHOICES}"


def _edited(tool: str, text: str) -> dict[str, Any] | str:
    try:
        args = json.loads(text)
    except ValueError:
        args = None
    if not isinstance(args, dict):
        return 'The new arguments must be one JSON object, like: e {"file_path": "/notes.md"}'
    return {"type": "edit", "edited_action": {"name": tool, "args": args}}


# A question with choices, and the line that a person typed for it.
#
# The wire is `clarification_request` of the architecture: `question`, `options[{id, label}]`, `allow_multiple`, `allow_freeform`.
# The answer is `{response}` where there are no options, and `{selected: [ids], freeform?}` where there are. An option is chosen by
# its number, its label or its id; several are separated by commas.


@dataclass(frozen=True)
class Option:
    id: str
    label: str


def clarify(request: Mapping[str, Any], ask: Callable[[str], str]) -> dict[str, Any]:
    """Ask until the line is an answer."""
    options = _options(request.get("options"))
    question = str(request.get("question") or "The agent asks.")
    if not options:
        return {"response": ask(question)}
    multiple, freeform = bool(request.get("allow_multiple")), bool(request.get("allow_freeform"))
    how = _how(multiple, freeform)
    lines = [f"  {number}. {option.label}" for number, option in enumerate(options, 1)]
    shown = "\n".join([question, *lines, how])
    while True:
        answer = parse_choice(ask(shown), options, multiple=multiple, freeform=freeform)
        if answer is not None:
            return answer
        shown = f"That is none of the choices. {how}"


def parse_choice(line: str, options: Sequence[Option], *, multiple: bool, freeform: bool) -> dict[str, Any] | None:
    """The answer that a line stands for; None if it stands for none."""
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


def _options(given: Any) -> list[Option]:
    found = []
    for entry in given if isinstance(given, list | tuple) else ():
        if isinstance(entry, Mapping):
            name = str(entry.get("id", entry.get("label", "")))
            found.append(Option(name, str(entry.get("label") or name)))
        else:
            found.append(Option(str(entry), str(entry)))
    return found


def _how(multiple: bool, freeform: bool) -> str:
    return f"Type a number{', or several separated by commas' if multiple else ''}{', or your own words' if freeform else ''}."
