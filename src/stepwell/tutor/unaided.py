"""A seminar without a model: the next question comes from what the phase's exit test finds missing, and from the lint.

```
START ─> load ─> take ─┬─> errand ───────────────┐
  (if there is a       ├─> save ─> reread ───────┼─> ask ─> take ...        until the seminar is complete
   project)            └─────────────────────────┘
```
`take` reads the user's last words: an answer to the open question, a command, or a clear errand. `ask` is one clarification, with the
clause it is about. `load`, `save`, `reread` and `errand` are one request to the device each. The tutor tells the user that it works like
this.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from stepwell.answers.clarification import ASK_CHOICES, ASK_USER, ask_choices, ask_user
from stepwell.answers.client_tools import DeviceError
from stepwell.backends.device import Device, DeviceCall, say_failure
from stepwell.middleware.clarify import USER_WORDS
from stepwell.tutor import keeping
from stepwell.tutor.argument.document import Argument, MoveRefusedError, changes, from_data, reduce_argument
from stepwell.tutor.argument.exports import CHANGED, describe_change
from stepwell.tutor.argument.method import ABOUT, is_complete
from stepwell.tutor.argument.naming import TITLES, capital
from stepwell.tutor.argument.progress import describe_progress
from stepwell.tutor.argument.questions import go_on, next_question, take_answer
from stepwell.tutor.argument.telling import tell
from stepwell.tutor.argument.words import asks_to_be_told, words_of
from stepwell.tutor.commands import carry_out
from stepwell.tutor.dialogue import as_call, last_answer, messages_of, read_dialogue
from stepwell.tutor.state import DeeptutorState, TutorInput, TutorOutput

Graph = CompiledStateGraph[Any, Any, Any, Any]
Update = dict[str, Any]

ABOUT_UNAIDED = (
    "No model is connected that could lead this dialogue, so my questions come from the method itself. I cannot judge your "
    "words: I ask what the method asks next and keep your argument in order. /help lists what else you can say."
)
COMPLETE = "The seminar is complete. /edit, /ground and /objection go on with it, and /export md shows your argument."
NO_PROJECT = "No project is open, so there are no files to work on."
_SEARCH = re.compile(r"(?:please )?search (?:in )?my files for (?:mentions of )?(.{1,200})", re.IGNORECASE)
_CREATE = re.compile(
    r"(?:please )?create a (?:new )?(?:document|file|note) (?:titled|called|named) ['\"“‘]([^'\"”’/]{1,120})['\"”’](.{0,400})",
    re.IGNORECASE,
)
_SPECIAL = re.compile(r"[\\.^$*+?()\[\]{}|]")


class UnaidedState(DeeptutorState):
    errand: NotRequired[Annotated[dict[str, Any] | None, PrivateStateAttr]]
    """An operation on the project that the user has asked for."""


def build_unaided(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    """The tutor's graph if no capable model is configured."""
    builder = StateGraph(UnaidedState, input_schema=TutorInput, output_schema=TutorOutput)
    for name, node in {
        "load": _load,
        "take": _take,
        "errand": _run_errand,
        "save": _save,
        "reread": _reread,
        "ask": _ask,
    }.items():
        builder.add_node(name, node)
    builder.add_conditional_edges(START, lambda state: "load" if keeping.needs_loading(state) else "take", ["load", "take"])
    builder.add_conditional_edges("load", lambda state: "take" if state["kept"].get("loaded") else END, ["take", END])
    builder.add_conditional_edges("take", _after_take, ["errand", "save", "ask", END])
    builder.add_conditional_edges("errand", _after_keeping, ["ask", END])
    builder.add_conditional_edges("save", _after_save, ["reread", "ask", END])
    builder.add_conditional_edges("reread", _after_keeping, ["ask", END])
    builder.add_edge("ask", "take")
    return builder.compile(checkpointer=checkpointer, name="deeptutor")


def _after_take(state: Mapping[str, Any]) -> str:
    if state.get("errand"):
        return "errand"
    following = _after_keeping(state)
    return "save" if keeping.needs_saving(state, ending=following == END) else following


def _after_save(state: Mapping[str, Any]) -> str:
    return "reread" if (state.get("kept") or {}).get("conflict") else _after_keeping(state)


def _after_keeping(state: Mapping[str, Any]) -> str:
    return END if is_complete(from_data(state.get("argument"))) else "ask"


def _load(state: UnaidedState) -> Update:
    update = keeping.load(state)
    fault = update["kept"].get("notice")
    return {**update, "messages": [AIMessage(fault)]} if fault else update


def _save(state: UnaidedState) -> Update:
    return keeping.save(state)


def _reread(state: UnaidedState) -> Update:
    update = keeping.reread(state)
    argument = from_data(reduce_argument(state.get("argument") or {}, [update["argument"]] if "argument" in update else []))
    before = last_answer(messages_of(state))
    said = _say(state, argument, [*([before.text] if before and before.text else []), update["kept"]["notice"]])
    # Replaces the question that was about to be asked, because another one may be due now.
    return {**update, "messages": [each.model_copy(update={"id": before.id}) for each in said] if before else said}


def _ask(state: UnaidedState) -> Update:
    """Ask the question in the last message. Nothing before the pause has an effect."""
    argument = from_data(state.get("argument"))
    question = next_question(argument)
    if question is None:
        return {}
    more: dict[str, Any] = {"node": question.about, "phase": argument.phase, "inquiry": question.inquiry}
    call_id = _call_id(state)
    if len(question.options) < 2:
        said = ask_user(question.text, tool_call_id=call_id, **more)
        return {"messages": [_answer(ASK_USER, call_id, said, f"The user answers: {said}")]}
    offered = [{"id": name, "label": label} for name, label in question.options]
    multiple = question.need == "basis"
    chosen = ask_choices(question.text, offered, allow_multiple=multiple, tool_call_id=call_id, **more)
    said = ", ".join(chosen.selected) or chosen.freeform or ""
    return {"messages": [_answer(ASK_CHOICES, call_id, said, f"The user chose: {said}")]}


def _answer(tool: str, call_id: str, said: str, text: str) -> ToolMessage:
    return ToolMessage(text, name=tool, tool_call_id=call_id, additional_kwargs={USER_WORDS: said})


def _call_id(state: Mapping[str, Any]) -> str:
    message = last_answer(messages_of(state))
    return (message.tool_calls[0]["id"] or "") if message and message.tool_calls else ""


def _say(state: Mapping[str, Any], argument: Argument, notes: list[str]) -> list[AnyMessage]:
    """What the user sees next, in the form a model would use: a text, and the question as a tool call."""
    question = next_question(argument)
    if question is None:
        return [AIMessage("\n\n".join(notes))] if notes else []
    number = sum(isinstance(each, AIMessage) for each in messages_of(state)) + 1
    return [AIMessage("\n\n".join(notes), tool_calls=[as_call(question, f"ask_{number}")])]


def _take(state: UnaidedState) -> Update:
    """Make one move from the user's last words, then go to the next phase if nothing is missing any more."""
    dialogue = read_dialogue(messages_of(state))
    before = from_data(state.get("argument"))
    first = not any(isinstance(each, AIMessage) for each in messages_of(state))
    notes = [ABOUT_UNAIDED] if first else []
    if first and before != Argument():
        notes.append(f"We go on with “{before.question}” ({TITLES[before.phase]}).")
    text = dialogue.last.text if dialogue.last and not dialogue.this_turn else ""
    if errand := read_errand(text):
        return {"errand": errand, "messages": [AIMessage(note) for note in notes]}
    after, note = respond(before, text, first=first)
    moved = go_on(after)
    notes += [note] if note else []
    notes += _announce(before, moved)
    update: Update = {"argument": changes(before, moved), "progress": describe_progress(moved), "errand": None}
    return {**update, "messages": _say(state, moved, notes)}


def respond(argument: Argument, text: str, *, first: bool = False) -> tuple[Argument, str]:
    """How the method responds to the user's words: the argument after them, and what to say about it."""
    question = next_question(argument)
    said = text.strip()
    try:
        if said.startswith("/") and not asks_to_be_told(said):
            return carry_out(argument, question, said)
        if question is None:
            return argument, COMPLETE if said else ""
        if asks_to_be_told(said):
            return tell(argument, question)
        if not said or (first and not (question.need == "question" and is_opening_question(said))):
            return argument, ""  # they have not seen the question yet, so this cannot be an answer
        return take_answer(argument, question, said), ""
    except MoveRefusedError as refused:
        return argument, str(refused)


def is_opening_question(text: str) -> bool:
    return text.strip().endswith("?") and len(words_of(text)) > 3


def _announce(before: Argument, after: Argument) -> list[str]:
    """Changes that the user should see: the thesis, and the phase."""
    notes: list[str] = []
    if len(after.versions) > max(1, len(before.versions)):
        notes.append(f"{CHANGED} {describe_change(after)}")
    if is_complete(after) and not is_complete(before):
        notes.append("The seminar is complete. /export md shows your argument.")
    elif after.phase != before.phase:
        notes.append(f"Next: {TITLES[after.phase].lower()}. {capital(ABOUT[after.phase])}.")
    return notes


def read_errand(text: str) -> dict[str, Any] | None:
    """An operation on the project that a text clearly asks for."""
    if found := _SEARCH.fullmatch(text.strip().rstrip(".")):
        wanted = found[1].strip("'\"“”‘’ ")
        pattern = _SPECIAL.sub(lambda hit: f"\\{hit[0]}", wanted)
        return {"name": "grep_files", "args": {"pattern": pattern, "case_sensitive": False}, "about": wanted}
    if found := _CREATE.fullmatch(text.strip()):
        title, rest = found[1].strip(), found[2].strip(" .")
        content = f"# {title}\n" + (f"\n({rest})\n" if rest else "")
        args = {"title": f"{title}.md", "content": content, "file_type": "draft", "path": f"/{title}.md"}
        return {"name": "write_file", "args": args, "about": title}
    return None


def _run_errand(state: UnaidedState) -> Update:
    errand = state.get("errand") or {}
    argument = from_data(state.get("argument"))
    if keeping.project_of(state) is None:
        return {"errand": None, "messages": _say(state, argument, [NO_PROJECT])}
    call = DeviceCall(errand["name"], errand["args"])
    (said,) = Device(keeping.project_of(state)).bind(state=state).perform([call])
    return {"errand": None, "messages": _say(state, argument, [_tell_result(errand, call, said)])}


def _tell_result(errand: Mapping[str, Any], call: DeviceCall, said: Any) -> str:
    if isinstance(said, DeviceError):
        return str(say_failure(said, call, str(call.args.get("path", "/"))))
    if errand["name"] == "write_file":
        return (
            f"'{errand['about']}' is in your project. I have no model to write with: it holds its title and what you asked for."
        )
    lines = [f"{row.path}:{row.line_number}: {row.line_content.strip()[:200]}" for row in said.matches[:20]]
    head = f"{len(said.matches)} mentions of '{errand['about']}'" if said.matches else f"No mention of '{errand['about']}'."
    return "\n".join([head, *lines])
