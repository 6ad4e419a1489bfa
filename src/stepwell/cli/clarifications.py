"""A question with choices, and the line that a person typed for it.

The wire is `clarification_request` of the architecture: `question`, `options[{id, label}]`, `allow_multiple`, `allow_freeform`.
The answer is `{response}` where there are no options, and `{selected: [ids], freeform?}` where there are. An option is chosen by
its number, its label or its id; several are separated by commas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


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
