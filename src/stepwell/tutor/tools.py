"""The tools with which a model works on the argument. Each call is one move, which code makes or refuses.

Besides the rules of `argument.moves`, there are rules that depend on who said what:

- a thesis or a reply uses the user's own words, unless they asked to be told or the hints have reached level 4;
- a confidence is a number that the user said;
- hints rise one level at a time, at most one per turn.

Several calls of one step see each other's moves in the order in which the model made them: each call replays those before it, and
stores only its own changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.types import Command
from pydantic import BaseModel, Field, ValidationError

from stepwell.middleware.own_words import refuse
from stepwell.tutor.argument import moves
from stepwell.tutor.argument.document import (
    Argument,
    Author,
    Kind,
    MoveRefusedError,
    Phase,
    Relation,
    Side,
    Status,
    changes,
    from_data,
)
from stepwell.tutor.argument.exports import Form, describe_change, export
from stepwell.tutor.argument.lint import lint
from stepwell.tutor.argument.progress import describe_standing
from stepwell.tutor.argument.telling import TOP_LEVEL, hint_level
from stepwell.tutor.argument.words import is_said_in, take_questions_out, words_of
from stepwell.tutor.dialogue import Dialogue, last_answer, messages_of, read_dialogue

HINT_CHARS = {1: 200, 2: 300, 3: 400, 4: 2_000}
"""The lower the level, the shorter the hint, so that a hint below the last level cannot contain the whole answer."""
CHANGED = "The thesis changed:"
_RELATION_OF: Mapping[str, Relation] = {
    "citation": "supports",
    "narrative": "supports",
    "refutation": "attacks",
    "reply": "answers",
}


class SetQuestion(BaseModel):
    text: str = Field(description="what the seminar is about, as one question")


class ProposeNode(BaseModel):
    kind: Kind
    text: str = Field(description="one paragraph; for a thesis or a reply, the user's own words, verbatim")
    about: str = Field("", description="the clause it supports, attacks or answers; a reply needs it")
    because: str = Field("", description="why it supports or attacks that clause")
    term: str = Field("", description="for a definition: the term")
    source: str = Field("", description="for a citation: where it stands")
    confidence: int | None = Field(None, description="for a thesis: 0 to 100, as the user said")
    side: Side = Field("own", description="'opposing' for the opposing seminar")


class LinkNodes(BaseModel):
    source: str
    relation: Relation
    target: str
    because: str = ""


class UpdateNode(BaseModel):
    node: str
    text: str | None = None
    status: Status | None = None
    source: str | None = None
    confidence: int | None = Field(None, description="of the thesis, as the user said")
    terms: list[str] | None = Field(None, description="of the thesis: words in it that need a definition")


class Hint(BaseModel):
    about: str = Field(description="a clause, or the phase while there is no thesis")
    level: Literal[1, 2, 3, 4] = Field(description="1 where to look, 2 an example elsewhere, 3 a beginning, 4 the words")
    text: str


class SetPhase(BaseModel):
    phase: Phase


class LintSeminar(BaseModel):
    pass


class Export(BaseModel):
    form: Form


Perform = Callable[[Argument, Any, Dialogue], tuple[Argument, str]]


def build_argument_tools() -> list[BaseTool]:
    return [_make_tool(name, schema, description) for name, (schema, description, _) in _TABLE.items()]


def replay_step(state: Mapping[str, Any], call_id: str | None) -> tuple[Argument, Dialogue]:
    """The argument as a call of the running step finds it, after the earlier calls of the same message."""
    argument = from_data(state.get("argument"))
    messages = messages_of(state)
    dialogue = read_dialogue(messages)
    message = last_answer(messages)
    for call in message.tool_calls if message else ():
        if call["id"] == call_id:
            break
        if call["name"] not in _TABLE:
            continue
        schema, _, perform = _TABLE[call["name"]]
        try:
            argument, _said = perform(argument, schema.model_validate(call["args"]), dialogue)
        except (MoveRefusedError, ValidationError):  # that call gets its own error
            continue
        dialogue = replace(dialogue, done=dialogue.done | {call["name"]})
    return argument, dialogue


def _make_tool(name: str, schema: type[BaseModel], description: str) -> BaseTool:
    def run(runtime: ToolRuntime, **args: Any) -> Command[Any] | ToolMessage:
        return _run(name, runtime, args)

    async def arun(runtime: ToolRuntime, **args: Any) -> Command[Any] | ToolMessage:
        return _run(name, runtime, args)

    run.__annotations__ = arun.__annotations__ = {"runtime": ToolRuntime}
    # With a class without fields, LangChain would call the function without arguments, even without its runtime.
    args_schema = schema if schema.model_fields else schema.model_json_schema()
    return StructuredTool(name=name, description=description, func=run, coroutine=arun, args_schema=args_schema)


def _run(name: str, runtime: ToolRuntime, args: Mapping[str, Any]) -> Command[Any] | ToolMessage:
    schema, _, perform = _TABLE[name]
    call_id = runtime.tool_call_id or ""
    before, dialogue = replay_step(runtime.state, call_id)
    try:
        after, said = perform(before, schema.model_validate(dict(args)), dialogue)
    except MoveRefusedError as refused:
        return refuse({"name": name, "args": dict(args), "id": call_id, "type": "tool_call"}, str(refused))
    message = ToolMessage(said, name=name, tool_call_id=call_id)
    return message if after == before else Command(update={"messages": [message], "argument": changes(before, after)})


def _set_question(argument: Argument, args: SetQuestion, dialogue: Dialogue) -> tuple[Argument, str]:
    author: Author = "user" if is_said_in(args.text, dialogue.texts) else "tutor"
    return moves.set_question(argument, args.text, author=author), f"The question is: {args.text}"


def _propose(argument: Argument, args: ProposeNode, dialogue: Dialogue) -> tuple[Argument, str]:
    if args.kind == "reply" and argument.nodes.get(args.about) is None:
        raise MoveRefusedError("Say in 'about' which refutation the reply answers, by its id.")
    guarded = args.kind == "reply" or (args.kind == "thesis" and args.side == "own")
    target = args.about if args.kind == "reply" else "frame"
    author = _choose_author(argument, args.text, dialogue, guarded=guarded, target=target, what=args.kind)
    grown = moves.propose_node(
        argument,
        args.kind,
        args.text,
        author=author,
        side=args.side,
        term=args.term,
        source=args.source,
        confidence=_require_said(args.confidence, dialogue) if args.kind == "thesis" else None,
    )
    name = list(grown.nodes)[-1]
    relation = _RELATION_OF.get(args.kind)
    if args.about and relation:
        grown = moves.link(grown, name, relation, args.about, args.because, author=author)
    whose = "the user's" if author == "user" else "your"
    return grown, f"{name} stands, in {whose} words. {describe_standing(grown)}"


def _link(argument: Argument, args: LinkNodes, dialogue: Dialogue) -> tuple[Argument, str]:
    author: Author = "user" if is_said_in(args.because, dialogue.texts) else "tutor"
    linked = moves.link(argument, args.source, args.relation, args.target, args.because, author=author)
    return linked, f"{args.source} {args.relation} {args.target}. {describe_standing(linked)}"


def _update(argument: Argument, args: UpdateNode, dialogue: Dialogue) -> tuple[Argument, str]:
    node = moves.require_node(argument, args.node)
    named = moves.name_terms(argument, args.terms) if args.terms else argument
    if args.text is None and args.status is None and args.source is None and args.confidence is None and args.terms:
        return named, f"To be defined: {', '.join(named.terms)}. {describe_standing(named)}"
    guarded = args.text is not None and (node.kind == "reply" or (node.kind == "thesis" and node.side == "own"))
    targets = [link.target for link in argument.links_of("answers", source=node.id)]
    target = next(iter(targets), node.id)
    author = _choose_author(argument, args.text or "", dialogue, guarded=guarded, target=target, what=node.kind)
    changed = moves.update_node(
        named,
        node.id,
        text=args.text,
        status=args.status,
        source=args.source,
        confidence=_require_said(args.confidence, dialogue),
        author=author,
    )
    told = f"{CHANGED} {describe_change(changed)} " if len(changed.versions) > len(named.versions) > 0 else ""
    return changed, f"{node.id} is {changed.nodes[node.id].status}. {told}{describe_standing(changed)}"


def _hint(argument: Argument, args: Hint, dialogue: Dialogue) -> tuple[Argument, str]:
    _require_subject(argument, args.about)
    if dialogue.has_done("hint"):
        raise MoveRefusedError("One hint was given in this turn. Let the user try first.")
    given = hint_level(argument, args.about)
    if args.level > given + 1:
        raise MoveRefusedError(f"Hints rise one level at a time: the next about {args.about} is level {given + 1}.")
    if len(args.text) > HINT_CHARS[args.level]:
        raise MoveRefusedError(f"A hint of level {args.level} has at most {HINT_CHARS[args.level]} characters. Say less.")
    if take_questions_out(args.text)[1]:
        raise MoveRefusedError("A hint does not ask. Put a question with ask_user, and say the rest in the hint.")
    kept = moves.record(argument, "tutor", "hint", args.about, args.text, args.level)
    return kept, f"Hint {args.level} of {TOP_LEVEL}: {args.text}"


def _set_phase(argument: Argument, args: SetPhase, dialogue: Dialogue) -> tuple[Argument, str]:
    moved = moves.set_phase(argument, args.phase)
    return moved, describe_standing(moved)


def _lint(argument: Argument, args: LintSeminar, dialogue: Dialogue) -> tuple[Argument, str]:
    found = [f"- {finding.severity}: {finding.sentence}" for finding in lint(argument)]
    return argument, "\n".join([describe_standing(argument), *(found or ["Nothing to mark."])])


def _export(argument: Argument, args: Export, dialogue: Dialogue) -> tuple[Argument, str]:
    return argument, export(argument, args.form)


def _choose_author(argument: Argument, text: str, dialogue: Dialogue, *, guarded: bool, target: str, what: str) -> Author:
    """Whose words these are; `MoveRefusedError` if they should be the user's and are not."""
    if is_said_in(text, dialogue.texts):
        return "user"
    if not guarded or dialogue.wants_to_be_told or hint_level(argument, target) >= TOP_LEVEL:
        return "tutor"
    raise MoveRefusedError(
        f"The words of a {what} are the user's: take them verbatim from what the user has said. You may choose them only when the "
        f"user asks to be told, or after hint {TOP_LEVEL} about {target}; the last one was {hint_level(argument, target)}. Ask instead."
    )


def _require_said(confidence: int | None, dialogue: Dialogue) -> int | None:
    if confidence is None or any(str(confidence) in words_of(text) for text in dialogue.texts):
        return confidence
    raise MoveRefusedError(f"The user has not said {confidence}. Ask how sure they are, from 0 to 100, and take their number.")


def _require_subject(argument: Argument, about: str) -> None:
    if argument.thesis is None and about == argument.phase:
        return
    moves.require_node(argument, about)


_TABLE: Mapping[str, tuple[type[BaseModel], str, Perform]] = {
    "set_question": (SetQuestion, "Name the question of the seminar.", _set_question),
    "propose_node": (
        ProposeNode,
        "Add a clause to the argument. The words of a thesis or a reply are the user's own; anything else is refused.",
        _propose,
    ),
    "link": (LinkNodes, "Say how one clause bears on another, or why.", _link),
    "update_node": (UpdateNode, "Change a clause's words, status, source or confidence, or name the thesis's terms.", _update),
    "hint": (
        Hint,
        "Help with what the user is stuck on; it is shown to them. Begin at level 1; one level more each time they stay stuck.",
        _hint,
    ),
    "set_phase": (SetPhase, "Go on to the next phase when nothing is missing, or back to an earlier one.", _set_phase),
    "lint_seminar": (LintSeminar, "What a careful reader would mark, and what the phase still needs.", _lint),
    "export": (Export, "The whole argument as Markdown, JSON, Argdown or Mermaid.", _export),
}
CHANGING_TOOLS = frozenset(_TABLE) - {"lint_seminar", "export"}
