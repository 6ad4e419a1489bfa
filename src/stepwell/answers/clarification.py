"""Questions to a person, in words or with options: what is asked, and what an answer must look like.

| asked | payload, beside `type`, `tool` and `tool_call_id` | answer |
|---|---|---|
| `ask_user` | `question` | `{"response": text}` |
| `ask_choices` | `question`, `options[{id, label}]`, `allow_multiple`, `allow_freeform` | `{"selected": [ids], "freeform": text}` |

An answer must say something: an empty text, or nothing selected and nothing written, is rejected. Each asking function is one interrupt,
so a node must do nothing with an effect before it calls one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stepwell.answers.asking import Json, ask, worded

CLARIFICATION_REQUEST: Final = "clarification_request"
ASK_USER: Final = "ask_user"
ASK_CHOICES: Final = "ask_choices"
MAX_ANSWER_CHARS = 100_000


@dataclass(frozen=True, slots=True)
class Choice:
    """The ids of the options that a person chose, and what they wrote in addition."""

    selected: list[str]
    freeform: str | None = None


def ask_user(question: str, *, tool_call_id: str = "", **more: Any) -> str:
    """Ask, and return what the person writes. `more` is added to the question that clients see."""
    request = {**more, "type": CLARIFICATION_REQUEST, "tool": ASK_USER, "tool_call_id": tool_call_id, "question": question}
    return str(ask(request, clarification_fault, clarification_schema(request))["response"])


def ask_choices(
    question: str,
    options: Sequence[Mapping[str, str]],
    *,
    allow_multiple: bool = False,
    allow_freeform: bool = True,
    tool_call_id: str = "",
    **more: Any,
) -> Choice:
    """Ask, and return what the person chooses. `more` is added to the question that clients see."""
    request = {
        **more,
        "type": CLARIFICATION_REQUEST,
        "tool": ASK_CHOICES,
        "tool_call_id": tool_call_id,
        "question": question,
        "options": [{"id": option["id"], "label": option["label"]} for option in options],
        "allow_multiple": allow_multiple,
        "allow_freeform": allow_freeform,
    }
    answer = ask(request, clarification_fault, clarification_schema(request))
    return Choice(list(answer.get("selected") or ()), answer.get("freeform") or None)


def is_clarification(question: Any) -> bool:
    """Whether a question has the complete form of a clarification. The `type` alone says little, because any graph may use it."""
    return (
        isinstance(question, Mapping)
        and question.get("type") == CLARIFICATION_REQUEST
        and question.get("tool") in (ASK_USER, ASK_CHOICES)
        and isinstance(question.get("question"), str)
    )


def clarification_fault(question: Json, answer: Any) -> str | None:
    """Why an answer is invalid for this question; None if it is valid."""
    options = _option_ids(question)
    if not options:
        return _text_fault(answer)
    if not isinstance(answer, Mapping):
        return f"The answer to a choice is an object, not {worded(answer)}. {_way_out(question, options)}"
    fault = _selection_fault(question, options, answer.get("selected")) or _freeform_fault(question, answer.get("freeform"))
    if fault is None and not answer.get("selected") and not answer.get("freeform"):
        fault = "Nothing is selected."
    return f"{fault} {_way_out(question, options)}" if fault else None


def clarification_schema(question: Json) -> dict[str, Any]:
    """The rule of `clarification_fault` as JSON schema, for clients that build a form from it."""
    options = _option_ids(question)
    text = {"type": "string", "minLength": 1, "maxLength": MAX_ANSWER_CHARS}
    if not options:
        return {"title": "Clarification", "type": "object", "required": ["response"], "properties": {"response": text}}
    selected: dict[str, Any] = {"type": "array", "items": {"enum": options}, "uniqueItems": True}
    selected["maxItems"] = len(options) if question.get("allow_multiple") else 1
    if question.get("allow_freeform"):
        own = {"type": "string", "maxLength": MAX_ANSWER_CHARS}
        return {"title": "Clarification", "type": "object", "properties": {"selected": selected, "freeform": own}}
    selected["minItems"] = 1
    return {"title": "Clarification", "type": "object", "required": ["selected"], "properties": {"selected": selected}}


def _text_fault(answer: Any) -> str | None:
    way_out = 'Send {"response": "..."}.'
    response = answer.get("response") if isinstance(answer, Mapping) else None
    if not isinstance(response, str):
        found = answer if not isinstance(answer, Mapping) else response
        return f"The answer is an object with the text of the 'response', not {worded(found)}. {way_out}"
    if not response.strip():
        return f"The response is empty. {way_out}"
    return _length_fault("response", response)


def _selection_fault(question: Json, options: Sequence[str], selected: Any) -> str | None:
    if selected is None:
        return None
    if not isinstance(selected, list | tuple) or not all(isinstance(each, str) for each in selected):
        return f"'selected' is {worded(selected)} where a list of option ids is needed."
    if unknown := sum(each not in options for each in selected):
        return f"'selected' names {unknown} {'option' if unknown == 1 else 'options'} that the question does not have."
    if len(set(selected)) < len(selected):
        return "'selected' names an option twice."
    if len(selected) > 1 and not question.get("allow_multiple"):
        return f"'selected' names {len(selected)} options, but the question allows only one."
    return None


def _freeform_fault(question: Json, freeform: Any) -> str | None:
    if freeform is None:
        return None
    if not isinstance(freeform, str):
        return f"'freeform' is {worded(freeform)} where a text is needed."
    if freeform and not question.get("allow_freeform"):
        return "The question does not allow free text."
    if freeform and not freeform.strip():
        return "'freeform' is empty."
    return _length_fault("freeform", freeform)


def _length_fault(field: str, text: str) -> str | None:
    if len(text) <= MAX_ANSWER_CHARS:
        return None
    return f"'{field}' has {len(text):,} characters; at most {MAX_ANSWER_CHARS:,} are allowed. Send a shorter one."


def _way_out(question: Json, options: Sequence[str]) -> str:
    how_many = "one or more" if question.get("allow_multiple") else "one"
    own = ", or your own words as 'freeform'" if question.get("allow_freeform") else ""
    return f"Send 'selected' with {how_many} of: {', '.join(options)}{own}."


def _option_ids(question: Json) -> list[str]:
    """The options' ids. A third-party graph may offer plain texts."""
    options = question.get("options")
    listed = options if isinstance(options, list | tuple) else ()
    return [str(each.get("id", each.get("label", ""))) if isinstance(each, Mapping) else str(each) for each in listed]
