"""A line of text as the answer to a question, for people at a terminal and for protocols that carry only text.

```
approval        y           approve
                n [reason]  reject; the agent gets the reason
                e {json}    edit: run the same tool with these arguments
clarification   2           an option by its number, its label or its id; several are separated by commas
                own words   where the question allows them, or has no options
MCP server      {json}      the fields of its form; or an empty line, when the address that it names was opened
                n           decline
                c           cancel
anything else   is shown as is (ours as an outline); the line is the answer, parsed as JSON if it is an object or a list
                json: 3     any other JSON: a number, true, null
```
A question is an approval or a clarification only if it has the complete shape: a user's graph may use the same names for its own purposes.

`wording` is what a person reads, `read_line` what they mean. A terminal asks about each of several approvals in turn; here one line
decides all of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stepwell.answers.approvals import is_approval
from stepwell.answers.asking import ANSWER_WORDS, is_ours
from stepwell.answers.clarification import is_clarification
from stepwell.answers.elicitation import elicitation_fault, is_elicitation

Json = Mapping[str, Any]

CHOICES = "[y]es, [n]o and why, [e]dit and the new arguments as JSON"
_YES = ("y", "yes", "true", "approve", "approved", "ok")
_NO = ("n", "no", "false", "reject", "rejected", "deny")


def wording(question: Any, schema: Json | None = None) -> str:
    """The question as text, with how to answer it."""
    if is_approval(question):
        return "\n".join([*(request_wording(request) for request in question["action_requests"]), CHOICES])
    if is_clarification(question):
        return clarification_wording(question)
    if is_elicitation(question):
        return server_wording(question)
    if isinstance(question, str):
        return question
    asked = question.get("question") if isinstance(question, Mapping) else None
    if is_ours(question, schema):
        how = _how_to_answer(schema)
        told = (
            [asked] if isinstance(asked, str) else [_words(question["type"]).capitalize(), *outline({**question, "type": None})]
        )
        return "\n".join([*told, how])
    return asked if isinstance(asked, str) else dump(question)


def outline(value: Json, indent: str = "") -> Iterator[str]:
    """An object in lines that a person can read: its fields by name, and lists with numbers. What is empty is left out."""
    for name, each in value.items():
        label = f"{indent}{_words(name)}"
        if isinstance(each, Mapping) and each:
            yield f"{label}:"
            yield from outline(each, f"{indent}  ")
        elif isinstance(each, list | tuple) and each:
            yield f"{label}:"
            for number, item in enumerate(each, 1):
                start = f"{indent}  {number}. "
                lines = list(outline(item, " " * len(start))) if isinstance(item, Mapping) else [_plain(item)]
                yield start + "\n".join(lines).lstrip()
        elif each not in (None, "") and not isinstance(each, Mapping | list | tuple):
            yield f"{label}: {_plain(each)}"


def _words(name: object) -> str:
    """`maxPages`, `max_pages` -> `max pages`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", str(name)).lower()


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else dump(value)


def read_line(question: Any, line: str, schema: Json | None = None) -> Any:
    """The answer in a line.

    Raises:
        ValueError: With a sentence that says what to write instead.
    """
    if is_approval(question):
        return {"decisions": [_decide(request["name"], line) for request in question["action_requests"]]}
    if is_clarification(question):
        return _clarify(question, line)
    if is_elicitation(question):
        answer = read_server_line(question, line)
        if fault := elicitation_fault(question, answer):
            raise ValueError(fault)
        return answer
    answer = parse_line(line)
    if is_ours(question, schema) and isinstance(answer, str):
        said = line.strip().casefold()
        word = "yes" if said in _YES else "no" if said in _NO else ""
        if word not in _words_taken(schema):
            raise ValueError(_how_to_answer(schema))
        return word == "yes"
    return answer


def _how_to_answer(schema: Json | None) -> str:
    """How to answer one of our questions that has no form of its own."""
    words = " or ".join(_words_taken(schema)).capitalize()
    return f"{(schema or {}).get('description', '')}{f' {words} will do.' if words else ''}".strip()


def _words_taken(schema: Json | None) -> tuple[str, ...]:
    """Which of yes and no the question takes. Only these two: a schema comes from a checkpoint."""
    words = (schema or {}).get(ANSWER_WORDS)
    return tuple(word for word in ("yes", "no") if not isinstance(words, list | tuple) or word in words)


def request_wording(request: Json) -> str:
    return f"Run {request['name']}({dump(request['args'])})?"


def clarification_wording(question: Json) -> str:
    """The question, its options with numbers, and how to choose."""
    options = read_options(question.get("options"))
    asked = str(question.get("question") or "The agent asks.")
    lines = [f"  {number}. {option.label}" for number, option in enumerate(options, 1)]
    return "\n".join([asked, *lines, *([explain_choice(question)] if options else [])])


def server_wording(question: Json) -> str:
    """A question of an MCP server."""
    lines = [
        f"{question['server']} asks: {question['message']}",
        *([str(question["problem"])] if question.get("problem") else []),
    ]
    if question["mode"] == "url":
        return "\n".join([*lines, f"Open {question['url']}", "Press Enter when it is done, or type [n]o or [c]ancel."])
    fields = dump(question["requested_schema"].get("properties", {}))
    return "\n".join([*lines, f"Fields: {fields}", "Type them as one JSON object, or [n]o or [c]ancel."])


def dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def parse_line(line: str) -> Any:
    """The answer in a line. A graph may expect more than text, but a line that could be text is text unless it starts with `json:`."""
    said, marked = line.strip(), False
    if said[:5].casefold() == "json:":
        said, marked = said[5:], True
    try:
        value = json.loads(said)
    except ValueError:
        return line
    return value if marked or isinstance(value, dict | list) else line


def parse_decision(tool: str, line: str) -> dict[str, Any] | str:
    """The decision in a line, or a sentence that says what is wrong with it."""
    word, _, rest = line.strip().partition(" ")
    rest = rest.strip()
    if (said := word.casefold().rstrip(",.!:;")) in _YES:
        return {"type": "approve"}
    if said in _NO:
        return {"type": "reject", "message": rest} if rest else {"type": "reject"}
    if said in ("e", "edit"):
        return _parse_edit(tool, rest)
    return f"Please type one of: {CHOICES}"


def _decide(tool: str, line: str) -> dict[str, Any]:
    decision = parse_decision(tool, line)
    if isinstance(decision, str):
        raise ValueError(decision)
    return decision


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


def _clarify(question: Json, line: str) -> dict[str, Any]:
    options = read_options(question.get("options"))
    if not options:
        if not line.strip():
            raise ValueError("Please write an answer.")
        return {"response": line.strip()}
    answer = parse_choice(question, line)
    if answer is None:
        raise ValueError(f"That is not one of the choices. {explain_choice(question)}")
    return answer


def parse_choice(question: Json, line: str) -> dict[str, Any] | None:
    """The answer in a line to a question with options; None if it is not valid."""
    text, options = line.strip(), read_options(question.get("options"))
    whole = _find(text, options)
    parts = [text] if whole else [part.strip() for part in text.split(",") if part.strip()]
    chosen = [_find(part, options) for part in parts]
    selected = list(dict.fromkeys(option.id for option in chosen if option is not None))
    if selected and None not in chosen and (question.get("allow_multiple") or len(selected) == 1):
        return {"selected": selected}
    return {"selected": [], "freeform": text} if question.get("allow_freeform") and text else None


def _find(text: str, options: Sequence[Option]) -> Option | None:
    if text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= len(options):
        return options[int(text) - 1]
    return next((option for option in options if text.casefold() in (option.label.casefold(), option.id.casefold())), None)


def read_options(given: Any) -> list[Option]:
    """The options of a question, in any form that a graph may give them."""
    found = []
    for entry in given if isinstance(given, list | tuple) else ():
        if isinstance(entry, Mapping):
            name = str(entry.get("id", entry.get("label", "")))
            found.append(Option(name, str(entry.get("label") or name)))
        else:
            found.append(Option(str(entry), str(entry)))
    return found


def explain_choice(question: Json) -> str:
    """How to choose."""
    several = ", or several separated by commas" if question.get("allow_multiple") else ""
    return f"Type a number{several}{', or your own words' if question.get('allow_freeform') else ''}."


def read_server_line(question: Json, line: str) -> dict[str, Any]:
    """The answer in a line to an MCP server; it may not fit the server's form."""
    return {**_parse_server_line(line.strip(), question["mode"]), "question_id": question["question_id"]}


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
