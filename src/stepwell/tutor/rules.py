"""Rules of the dialogue that code enforces, whatever the model says.

- A turn asks once, by `ask_user` or `ask_choices`. A question is never refused for its form: code puts it into shape (`asking`), shows
  what the model wrote as one question, and decides itself which clause it is about. Other calls of the same message come first.
- A user reads names ("your claim", "reason 1"), never ids.
- The method asks its own question instead of showing a message with nothing to read or a question that the user has just answered, and
  when a model gets nowhere (`leading`).
- Prose offers no thesis and no reply, and is no lecture (`lectures`), unless the user asked to be told or the hints have reached level 4.
- A user who asks to be told is told: the request is in the log, and there is no question before something is told.
- The message that ends a turn shows the turn's hint, and its change of the thesis as a diff with both confidences.
- Only code writes the tutor's notes. A tool call that would change them is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Mapping
from typing import Any

from langchain.agents.middleware.types import ModelResponse
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from stepwell.backends import paths
from stepwell.middleware.own_words import own_answer, refuse, stands_in
from stepwell.middleware.request import AsyncToolHandler, ModelCall, RequestMiddleware, ToolHandler, ToolResult
from stepwell.middleware.stubborn import discard_shown
from stepwell.tutor.argument import moves
from stepwell.tutor.argument.document import Argument, changes, from_data
from stepwell.tutor.argument.exports import CHANGED, describe_change
from stepwell.tutor.argument.files import ARGUMENT, LOG, SEMINAR
from stepwell.tutor.argument.naming import find_named, in_plain_words
from stepwell.tutor.argument.progress import subject_of
from stepwell.tutor.argument.questions import go_on
from stepwell.tutor.argument.telling import TOP_LEVEL
from stepwell.tutor.argument.words import asks_to_be_told, take_offers_out, take_questions_out, words_of
from stepwell.tutor.asking import as_question, ask_afterwards, questions_in, shape_questions, wanted_questions
from stepwell.tutor.dialogue import QUESTION_TOOLS, Dialogue, asks, last_answer, messages_of, read_dialogue, with_text
from stepwell.tutor.leading import MAX_CALLS, ask_again, count_calls, gets_nowhere, mark_second
from stepwell.tutor.lectures import ASK_INSTEAD, held_answer, hold_back, is_held, is_lecture
from stepwell.tutor.standing_in import ask_from_method, has_told, take_answer_in
from stepwell.tutor.tools import build_argument_tools
from stepwell.tutor.unaided import COMPLETE

LEFT_OUT = "(I leave the words to you. Ask for a hint, or type /tell if you want mine.)"
TELL_NOW = (
    "The user asks to be told. Tell them now, in plain words: make the move for them with propose_node or update_node if the phase needs "
    "one, and say what you wrote and why. Do not ask anything before that."
)
READ_ONLY = "You read the user's files and change none of them. Say in your answer what should be written."
PROJECT_MOUNT = "/project/"
_OWN_FILES = frozenset(f"{PROJECT_MOUNT}{name}" for name in (ARGUMENT, SEMINAR, LOG))
_PATCH_ARGS = {"file_id": "file_path", "search": "old_string", "replace": "new_string"}
_FILE_CHANGES = frozenset({"write_file", "edit_file", "delete", "move"})
_PATH_ARGS = ("file_path", "source", "destination")


class SeminarRules(RequestMiddleware):
    """The argument's tools, and the rules above around everything else."""

    def __init__(self) -> None:
        super().__init__()
        self.tools = build_argument_tools()

    def prepare(self, call: ModelCall) -> None:
        state: Mapping[str, Any] = call.request.state
        messages = messages_of(state)
        dialogue = read_dialogue(messages)
        argument = from_data(state.get("argument"))
        if dialogue.wants_to_be_told and dialogue.last is not None:
            if state.get("told") != dialogue.last.id:
                noted = moves.record(argument, "user", "tell", subject_of(go_on(argument)), dialogue.last.text, TOP_LEVEL)
                call.update.update({"argument": changes(argument, noted), "told": dialogue.last.id})
            if held := held_answer(messages, dialogue):
                call.answer = own_answer(held, "stubborn")
                return
            call.messages = [*call.messages, _note(TELL_NOW)]
        if asked := ask_afterwards(messages, dialogue):
            call.answer = review_prose(own_answer("", "stubborn", [asked]), argument, dialogue)
        elif gets_nowhere(messages, dialogue):
            said = ask_from_method(call) or own_answer(COMPLETE, "stubborn")
            call.answer = review_prose(said, argument, dialogue)
        if notice := (state.get("kept") or {}).get("notice"):
            call.messages = [*call.messages, _note(notice)]

    def wants_another(self, call: ModelCall, response: ModelResponse[Any]) -> bool:
        """A lecture is asked for once more as a question, and so is a question to somebody who asked to be told."""
        state: Mapping[str, Any] = call.request.state
        dialogue = read_dialogue(messages_of(state))
        argument = from_data(state.get("argument"))
        message = response.result[-1] if response.result else None
        if not isinstance(message, AIMessage) or count_calls(dialogue) + 2 > MAX_CALLS:
            return False
        if _only_asks(message, argument, dialogue):
            why = TELL_NOW
        elif not message.tool_calls and not questions_in(message.text) and _tells_too_much(message, argument, dialogue):
            why = ASK_INSTEAD
        else:
            return False
        discard_shown(call, response, "lecture")
        ask_again(call, why)
        return True

    def review(self, call: ModelCall, response: ModelResponse[Any]) -> ModelResponse[Any]:
        state: Mapping[str, Any] = call.request.state
        argument = from_data(state.get("argument"))
        dialogue = read_dialogue(messages_of(state))
        reviewed = [review_prose(each, argument, dialogue) if isinstance(each, AIMessage) else each for each in response.result]
        last = reviewed[-1] if reviewed else None
        if isinstance(last, AIMessage):
            told_first = _only_asks(last, argument, dialogue) and not stands_in(last)
            if (told_first or _leads_nowhere(last, argument)) and (said := ask_from_method(call)):
                kept = {**last.additional_kwargs, **said.additional_kwargs}
                last = review_prose(said, argument, dialogue).model_copy(update={"id": last.id, "additional_kwargs": kept})
            reviewed[-1] = mark_second(call, last)
        return ModelResponse(result=reviewed, structured_response=response.structured_response)

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        fault = _call_fault(request)
        return _refuse(request, fault) if fault else _with_record(request, handler(request))

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        return self._awrap_tool_call(request, handler)

    async def _awrap_tool_call(self, request: ToolCallRequest, handler: AsyncToolHandler) -> ToolResult:
        fault = _call_fault(request)
        return _refuse(request, fault) if fault else _with_record(request, await handler(request))


class ProjectIsRead(RequestMiddleware):
    """Keeps a reading subagent from changing anything in the project, whatever it is told. The rules of the dialogue do not reach it, and
    a thesis that it wrote into the seminar's files would look like the user's own edit."""

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        return _refuse(request, READ_ONLY) if _changes_project(request) else handler(request)

    def awrap_tool_call(  # type: ignore[override]  # as above
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        return self._awrap_tool_call(request, handler)

    async def _awrap_tool_call(self, request: ToolCallRequest, handler: AsyncToolHandler) -> ToolResult:
        return _refuse(request, READ_ONLY) if _changes_project(request) else await handler(request)


def _changes_project(request: ToolCallRequest) -> bool:
    changed = _changed_paths(request)
    return any(paths.is_within(path, PROJECT_MOUNT.rstrip("/")) for path in changed)


def _changed_paths(request: ToolCallRequest) -> list[str]:
    """The paths that a call would write, delete or move."""
    call = request.tool_call
    if call["name"] not in _FILE_CHANGES:
        return []
    return [str(paths.resolve(str(call["args"][name]))) for name in _PATH_ARGS if name in call["args"]]


def _note(text: str) -> HumanMessage:
    """A note to the model for this call alone. It is not stored, so it never counts as the user's words."""
    return HumanMessage(f"[{text}]")


def review_prose(message: AIMessage, argument: Argument, dialogue: Dialogue) -> AIMessage:
    """The model's message as the user may see it."""
    message = shape_questions(_accept_patches(message), argument, dialogue)
    text, asked = take_questions_out(message.text)
    left_out = False
    if not _may_tell(argument, dialogue):
        text, left_out = take_offers_out(text)
    if _tells_too_much(message, argument, dialogue):
        message, text = hold_back(message, text), ""
    to_show = _to_show(message, argument, dialogue)
    text = "\n\n".join(part for part in (*to_show, in_plain_words(argument, text), LEFT_OUT if left_out else "") if part)
    reviewed = message if text == message.text else with_text(message, text)
    wanted = wanted_questions(asked)
    if wanted and not message.tool_calls:
        return reviewed.model_copy(update={"tool_calls": [as_question(wanted, argument, dialogue)]})
    return reviewed


def _tells_too_much(message: AIMessage, argument: Argument, dialogue: Dialogue) -> bool:
    return not _may_tell(argument, dialogue) and is_lecture(message, dialogue)


def _only_asks(message: AIMessage, argument: Argument, dialogue: Dialogue) -> bool:
    """Whether a message asks somebody who wants to be told and has been told nothing."""
    if not dialogue.wants_to_be_told or has_told(argument, dialogue):
        return False
    only_questions = message.tool_calls and all(call["name"] in QUESTION_TOOLS for call in message.tool_calls)
    return bool(only_questions) and not take_questions_out(message.text)[0]


def _to_show(message: AIMessage, argument: Argument, dialogue: Dialogue) -> list[str]:
    """The hints and the change of the thesis that the user must still see when this message ends the turn, as no text has shown them."""
    if message.tool_calls and not asks(message):
        return []
    results = [each for each in dialogue.this_turn if isinstance(each, ToolMessage) and each.status != "error"]
    wanted = [str(each.text) for each in results if each.name == "hint"]
    if any(each.name == "update_node" and CHANGED in each.text for each in results):
        wanted.append(f"{CHANGED} {describe_change(argument)}")
    said = "\n".join(each.text for each in (*dialogue.this_turn, message) if isinstance(each, AIMessage))
    return [each for each in wanted if each not in said]


def _accept_patches(message: AIMessage) -> AIMessage:
    """Turns calls of `patch_file`, an alias with its own names for the arguments, into calls of `edit_file`."""
    if not any(call["name"] == "patch_file" for call in message.tool_calls):
        return message
    renamed = [
        {**call, "name": "edit_file", "args": {_PATCH_ARGS.get(name, name): value for name, value in call["args"].items()}}
        if call["name"] == "patch_file"
        else call
        for call in message.tool_calls
    ]
    return message.model_copy(update={"tool_calls": renamed})


def _may_tell(argument: Argument, dialogue: Dialogue) -> bool:
    hinted = [move.about for move in argument.moves if move.move == "hint" and move.level >= TOP_LEVEL]
    return dialogue.wants_to_be_told or bool(hinted)


def _leads_nowhere(message: AIMessage, argument: Argument) -> bool:
    """Whether the message has nothing to read, or asks what the user has answered since the argument last changed."""
    if not message.tool_calls:
        return not message.text.strip()
    if stands_in(message):
        return False
    asked = [words_of(str(call["args"].get("question", ""))) for call in message.tool_calls if call["name"] in QUESTION_TOOLS]
    if any(not words for words in asked):
        return True
    since = itertools.takewhile(lambda move: move.move in ("ask", "answer"), reversed(argument.moves))
    return any(move.move == "ask" and words_of(move.text) in asked for move in since)


def _call_fault(request: ToolCallRequest) -> str | None:
    if any(paths.is_within(own, path) for path in _changed_paths(request) for own in _OWN_FILES):
        return "The tutor's notes are written by themselves when a turn ends. Change the argument with its own tools."
    return None


def _refuse(request: ToolCallRequest, fault: str) -> ToolMessage:
    return refuse(request.tool_call, fault)


def _with_record(request: ToolCallRequest, result: ToolResult) -> ToolResult:
    """Adds an answered question to the log, with its answer. A command, or the wish to be told, is no answer."""
    call = request.tool_call
    if call["name"] not in QUESTION_TOOLS or not isinstance(result, ToolMessage) or result.status == "error":
        return result
    argument = from_data(request.state.get("argument"))
    asked_by = last_answer(messages_of(request.state))
    said = result.text.partition(": ")[2]
    wants_long_answer = asked_by is not None and is_held(asked_by) and asks_to_be_told(said)
    if asked_by is not None and stands_in(asked_by) and not wants_long_answer:
        return take_answer_in(argument, result)
    question = str(call["args"].get("question", ""))
    about = find_named(argument, question) or subject_of(argument)
    logged = moves.record(argument, "tutor", "ask", about, question)
    if not said.lstrip().startswith("/") and not asks_to_be_told(said):
        logged = moves.record(logged, "user", "answer", about, said)
    return Command(update={"messages": [result], "argument": changes(argument, logged)})
