"""Rules of the dialogue that code enforces, whatever the model says.

- At most one question per turn, by `ask_user` or `ask_choices`: any further question in a call is removed, and a second call is refused. A
  question in prose is removed; if the turn ended with it, it becomes such a call.
- Once there is a thesis, a question names a clause; if it does not, code adds the name. A question comes in a message of its own, so that
  changes are saved before it; otherwise it is refused.
- The method asks its own question instead of showing a message with nothing to read or a question that the user has just answered, and
  when a model gets nowhere (`standing_in`).
- Prose offers no thesis and no reply, unless the user asked to be told or the hints have reached level 4. Code removes such a paragraph.
- A user who asks to be told is told: the request is in the log, and there is no question before something is told.
- The message that ends a turn shows the turn's hint, and its change of the thesis as a diff with both confidences.
- Only code writes the seminar's files. A tool call that would change them is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Mapping
from typing import Any

from langchain.agents.middleware.types import ModelResponse
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from stepwell.answers.clarification import ASK_USER
from stepwell.backends import paths
from stepwell.middleware.own_words import refuse, stands_in
from stepwell.middleware.request import AsyncToolHandler, ModelCall, RequestMiddleware, ToolHandler, ToolResult
from stepwell.tutor.argument import moves
from stepwell.tutor.argument.document import Argument, changes, from_data
from stepwell.tutor.argument.exports import describe_change
from stepwell.tutor.argument.files import ARGUMENT, LOG, SEMINAR
from stepwell.tutor.argument.questions import go_on, next_question
from stepwell.tutor.argument.telling import TOP_LEVEL
from stepwell.tutor.argument.words import (
    is_closer,
    is_question,
    sentences_of,
    take_offers_out,
    take_questions_out,
    words_of,
)
from stepwell.tutor.dialogue import QUESTION_TOOLS, Dialogue, asks, last_answer, messages_of, read_dialogue, with_text
from stepwell.tutor.standing_in import ask_from_method, has_told, take_answer_in
from stepwell.tutor.tools import CHANGED, CHANGING_TOOLS, build_argument_tools

LEFT_OUT = "(I leave the words to you. Ask for a hint, or type /tell if you want mine.)"
TELL_NOW = (
    "The user asks to be told. Tell them now, in plain words: make the move for them with propose_node or update_node if the phase needs "
    "one, and say what you wrote and why. Do not ask anything before that."
)
READ_ONLY = "You read the user's files and change none of them. Say in your answer what should be written."
PROJECT_MOUNT = "/project/"
_OWN_FILES = frozenset(f"{PROJECT_MOUNT}{name}" for name in (ARGUMENT, SEMINAR, LOG))
_PATCH_ARGS = {"file_id": "file_path", "search": "old_string", "replace": "new_string"}
_FILE_CHANGES = frozenset({"write_file", "edit_file"})


class SeminarRules(RequestMiddleware):
    """The argument's tools, and the rules above around everything else."""

    def __init__(self) -> None:
        super().__init__()
        self.tools = build_argument_tools()

    def prepare(self, call: ModelCall) -> None:
        state: Mapping[str, Any] = call.request.state
        dialogue = read_dialogue(messages_of(state))
        argument = from_data(state.get("argument"))
        if dialogue.wants_to_be_told and dialogue.last is not None:
            if state.get("told") != dialogue.last.id:
                noted = moves.record(argument, "user", "tell", _subject(argument), dialogue.last.text, TOP_LEVEL)
                call.update.update({"argument": changes(argument, noted), "told": dialogue.last.id})
            call.messages = [*call.messages, _note(TELL_NOW)]
        notice = (state.get("kept") or {}).get("notice")
        if notice:
            call.messages = [*call.messages, _note(notice)]

    def review(self, call: ModelCall, response: ModelResponse[Any]) -> ModelResponse[Any]:
        state: Mapping[str, Any] = call.request.state
        argument = from_data(state.get("argument"))
        dialogue = read_dialogue(messages_of(state))
        reviewed = [review_prose(each, argument, dialogue) if isinstance(each, AIMessage) else each for each in response.result]
        last = reviewed[-1] if reviewed else None
        if isinstance(last, AIMessage) and _leads_nowhere(last, argument) and (said := ask_from_method(call)):
            reviewed[-1] = said.model_copy(update={"id": last.id})
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
    call = request.tool_call
    path = paths.resolve(str(call["args"].get("file_path", "")))
    return call["name"] in _FILE_CHANGES and paths.is_within(path, PROJECT_MOUNT.rstrip("/"))


def _note(text: str) -> HumanMessage:
    """A note to the model for this call alone. It is not stored, so it never counts as the user's words."""
    return HumanMessage(f"[{text}]")


def review_prose(message: AIMessage, argument: Argument, dialogue: Dialogue) -> AIMessage:
    """The model's message as the user may see it."""
    message = _mend_questions(_accept_patches(message), argument)
    text, asked = take_questions_out(message.text)
    left_out = False
    if not _may_tell(argument, dialogue):
        text, left_out = take_offers_out(text)
    to_show = _to_show(message, argument, dialogue)
    if not asked and not left_out and not to_show:
        return message
    text = "\n\n".join(part for part in (*to_show, text, LEFT_OUT if left_out else "") if part)
    reviewed = with_text(message, text)
    wanted = [question for question in asked if not is_closer(question)]
    if wanted and not message.tool_calls:
        return reviewed.model_copy(update={"tool_calls": [_make_call(argument, wanted[-1], dialogue.length)]})
    return reviewed


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


def _make_call(argument: Argument, question: str, number: int) -> Any:
    """The question as a call; `number` makes an id that is unique in the thread."""
    return {
        "name": ASK_USER,
        "args": {"question": with_subject(question, argument)},
        "id": f"ask_in_prose_{number}",
        "type": "tool_call",
    }


def _subject(argument: Argument) -> str:
    """The current subject of the seminar: the clause that the next question would be about, or the phase."""
    if argument.thesis is None:
        return argument.phase
    question = next_question(go_on(argument))
    return question.about if question else argument.thesis.id


def with_subject(question: str, argument: Argument) -> str:
    """The question with the clause it is about. Before there is a thesis, it needs none."""
    if argument.thesis is None or any(name in words_of(question) for name in argument.nodes):
        return question
    return f"About {_subject(argument)}: {question}"


def _leads_nowhere(message: AIMessage, argument: Argument) -> bool:
    """Whether the message has nothing to read, or asks what the user has answered since the argument last changed."""
    if not message.tool_calls:
        return not message.text.strip()
    asked = [words_of(str(call["args"].get("question", ""))) for call in message.tool_calls if call["name"] in QUESTION_TOOLS]
    since = itertools.takewhile(lambda move: move.move in ("ask", "answer"), reversed(argument.moves))
    return any(move.move == "ask" and words_of(move.text) in asked for move in since)


def _mend_questions(message: AIMessage, argument: Argument) -> AIMessage:
    """Puts the questions of a message into the required form. Otherwise a model that cannot keep to the form would be refused again and
    again, and the user would never be asked."""
    if not asks(message):
        return message
    mended = [
        {**call, "args": mend_question(call["args"], argument)} if call["name"] in QUESTION_TOOLS else call
        for call in message.tool_calls
    ]
    return message if mended == message.tool_calls else message.model_copy(update={"tool_calls": mended})


def mend_question(args: Mapping[str, Any], argument: Argument) -> dict[str, Any]:
    """A question that asks one thing and shows what it is about."""
    question = args.get("question")
    if not isinstance(question, str):
        return dict(args)  # its tool says what is wrong with it
    mended = {**args, "question": with_subject(_first_question(question), argument)}
    if isinstance(args.get("options"), list):
        mended["options"] = [_as_statement(option) for option in args["options"]]
    return mended


def _first_question(text: str) -> str:
    """The text without anything it asks after its first question."""
    kept: list[str] = []
    for sentence in sentences_of(text):
        if not is_question(sentence) or not any(map(is_question, kept)):
            kept.append(sentence)
    return "".join(kept).strip()


def _as_statement(option: Any) -> Any:
    """Turns an option into a statement, because options that ask would be several questions at once."""
    if isinstance(option, Mapping) and isinstance(option.get("label"), str):
        return {**option, "label": _as_statement(option["label"])}
    return option.rstrip().rstrip("?？؟").rstrip() or option if isinstance(option, str) and is_question(option) else option


def _call_fault(request: ToolCallRequest) -> str | None:
    call, state = request.tool_call, request.state
    if call["name"] in _FILE_CHANGES and paths.resolve(str(call["args"].get("file_path", ""))) in _OWN_FILES:
        return "The files of the seminar are written by themselves when a turn ends. Change the argument with its own tools."
    if call["name"] not in QUESTION_TOOLS:
        return None
    message = last_answer(messages_of(state))
    if message is not None and any(other["name"] in CHANGING_TOOLS for other in message.tool_calls):
        return "Ask by itself, when your changes are made: they are saved before the person is asked."
    dialogue = read_dialogue(messages_of(state))
    if dialogue.wants_to_be_told and not has_told(from_data(state.get("argument")), dialogue):
        return "The user asked to be told. Tell them first: make the move for them, or say it."
    return None


def _refuse(request: ToolCallRequest, fault: str) -> ToolMessage:
    return refuse(request.tool_call, fault)


def _with_record(request: ToolCallRequest, result: ToolResult) -> ToolResult:
    """Adds an answered question to the log, with its answer."""
    call = request.tool_call
    if call["name"] not in QUESTION_TOOLS or not isinstance(result, ToolMessage) or result.status == "error":
        return result
    argument = from_data(request.state.get("argument"))
    asked_by = last_answer(messages_of(request.state))
    if asked_by is not None and stands_in(asked_by):
        return take_answer_in(argument, result)
    question = str(call["args"].get("question", ""))
    about = next((name for name in words_of(question) if name in argument.nodes), argument.phase)
    asked = moves.record(argument, "tutor", "ask", about, question)
    answered = moves.record(asked, "user", "answer", about, result.text.partition(": ")[2])
    return Command(update={"messages": [result], "argument": changes(argument, answered)})
