"""A model's questions, put into the one shape in which a user is asked: one call, no ids, options that can be chosen.

Nothing is refused here. A model that asks two things asks two things, in its own words; what a call lacks is added, and calls beside a
question are carried out first, without asking the model again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage

from stepwell.answers.clarification import ASK_CHOICES, ASK_USER
from stepwell.middleware.clarify import MAX_OPTIONS
from stepwell.tutor.argument.document import Argument
from stepwell.tutor.argument.naming import capital, in_plain_words
from stepwell.tutor.argument.words import is_closer, is_question, take_questions_out
from stepwell.tutor.dialogue import QUESTION_TOOLS, Dialogue
from stepwell.tutor.lectures import shorten_question

_ASKS_NEXT = "tutor_asks_next"
"""In a message's `additional_kwargs`: the question that comes when the message's other calls are done."""


def shape_questions(message: AIMessage, argument: Argument, dialogue: Dialogue) -> AIMessage:
    """The message with at most one question, and that in a message of its own."""
    asking = [call for call in message.tool_calls if call["name"] in QUESTION_TOOLS]
    if not asking:
        return message
    others = [call for call in message.tool_calls if call["name"] not in QUESTION_TOOLS]
    asked = _merge([_mend(call, argument) for call in asking])
    if not others:
        return message if message.tool_calls == [asked] else message.model_copy(update={"tool_calls": [asked]})
    later = {**asked, "id": f"ask_next_{dialogue.length}"}
    return message.model_copy(
        update={"tool_calls": others, "additional_kwargs": {**message.additional_kwargs, _ASKS_NEXT: later}}
    )


def ask_afterwards(messages: Sequence[AnyMessage], dialogue: Dialogue) -> ToolCall | None:
    """The question that the model asked beside other calls, now that these are done; None if one of them failed."""
    asked_by = next((each for each in reversed(dialogue.this_turn) if isinstance(each, AIMessage)), None)
    later = asked_by.additional_kwargs.get(_ASKS_NEXT) if asked_by is not None else None
    if asked_by is None or later is None:
        return None
    ids = {call["id"] for call in asked_by.tool_calls}
    results = [each for each in dialogue.this_turn if isinstance(each, ToolMessage) and each.tool_call_id in ids]
    return later if results and all(each.status != "error" for each in results) else None


def questions_in(text: str) -> list[str]:
    return wanted_questions(take_questions_out(text)[1])


def wanted_questions(asked: Sequence[str]) -> list[str]:
    """Questions without those that only ask for the next message."""
    return [question for question in asked if not is_closer(question)]


def as_question(asked: Sequence[str], argument: Argument, dialogue: Dialogue) -> ToolCall:
    """Questions from a model's prose as a call."""
    call: ToolCall = {
        "name": ASK_USER,
        "args": {"question": " ".join(asked)},
        "id": f"ask_in_prose_{dialogue.length}",
        "type": "tool_call",
    }
    return _mend(call, argument)


def _mend(call: ToolCall, argument: Argument) -> ToolCall:
    args = call["args"]
    text = shorten_question(_question_of(args))
    options = _options_of(args, argument)
    if call["name"] == ASK_CHOICES and len(options) >= 2:
        more = {name: args[name] for name in ("allow_multiple", "allow_freeform") if isinstance(args.get(name), bool)}
        return {**call, "args": {"question": in_plain_words(argument, text), "options": options, **more}}
    return {**call, "name": ASK_USER, "args": {"question": in_plain_words(argument, text)}}


def _question_of(args: Mapping[str, Any]) -> str:
    """The question, also if the model called it something else."""
    said = [args.get("question"), *(value for name, value in args.items() if name not in ("question", "options"))]
    return next((each.strip() for each in said if isinstance(each, str) and each.strip()), "")


def _options_of(args: Mapping[str, Any], argument: Argument) -> list[dict[str, str]]:
    """The options as id and label: distinct, not empty, not too many. Options that ask become statements."""
    given = args.get("options")
    listed = list(given.items()) if isinstance(given, Mapping) else given if isinstance(given, list | tuple) else []
    found: dict[str, dict[str, str]] = {}
    for each in listed:
        name, label = _option(each)
        label = in_plain_words(argument, _as_statement(label))
        if label and not any(label.casefold() == other["label"].casefold() for other in found.values()):
            found.setdefault(name or label, {"id": name or label, "label": label})
    return list(found.values())[:MAX_OPTIONS]


def _option(given: Any) -> tuple[str, str]:
    if isinstance(given, Mapping):
        name = str(given.get("id") or "").strip()
        label = next((str(given[key]).strip() for key in ("label", "text", "title", "name") if given.get(key)), name)
        return name[:100], label[:500]
    if isinstance(given, tuple) and len(given) == 2:
        return str(given[0]).strip()[:100], str(given[1]).strip()[:500]
    return "", str(given).strip()[:500]


def _as_statement(label: str) -> str:
    return label.rstrip().rstrip("?？؟").rstrip() or label if is_question(label) else label


def _merge(asked: Sequence[ToolCall]) -> ToolCall:
    """Several questions of one message as one, as the model wrote them; the options are those of the first that has some."""
    first = next((call for call in asked if call["name"] == ASK_CHOICES), asked[0])
    if len(asked) == 1:
        return first
    texts = dict.fromkeys(capital(call["args"]["question"]) for call in asked if call["args"]["question"])
    return {**first, "args": {**first["args"], "question": " ".join(texts)}}
