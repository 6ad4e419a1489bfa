"""The tools with which a model works on the argument. Each call is one move, which code makes or refuses.

Besides the rules of `argument.moves`, there are rules that depend on who said what:

- a thesis or a reply uses the user's own words, unless they asked to be told or the hints have reached level 4;
- a confidence is a number that the user said;
- "just tell me" and "I don't know" are never a reason or anything else in the argument;
- hints rise one level at a time, at most one per turn.

A weak model gets the details of a call wrong. If its meaning is plain, code does what was meant instead of refusing (`argument.reading`):
the model may name clauses by id or by name, and kinds and relations by any usual word; a paraphrase is replaced by the user's own sentence;
a confidence that the user did not say is dropped; and a change of phase stops at the first phase that still lacks something.

Several calls of one step see each other's moves in the order in which the model made them: each call replays those before it, and
stores only its own changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.types import Command
from pydantic import BaseModel, Field, ValidationError

from stepwell.middleware.own_words import refuse
from stepwell.tutor.argument import moves
from stepwell.tutor.argument.document import (
    PHASES,
    Argument,
    Author,
    MoveRefusedError,
    Relation,
    Side,
    Status,
    changes,
    from_data,
)
from stepwell.tutor.argument.exports import CHANGED, Form, describe_change, export
from stepwell.tutor.argument.lint import lint
from stepwell.tutor.argument.naming import find_clause, in_plain_words, name_of, title_of
from stepwell.tutor.argument.progress import describe_standing, subject_of
from stepwell.tutor.argument.reading import (
    means_claim,
    move_towards,
    read_kind,
    read_level,
    read_link,
    read_target,
    read_term,
    require_clause,
    shorten_hint,
)
from stepwell.tutor.argument.telling import TOP_LEVEL, hint_level
from stepwell.tutor.argument.words import asks_to_be_told, closest_saying, is_question, is_said_in, words_of
from stepwell.tutor.dialogue import Dialogue, last_answer, messages_of, read_dialogue

MIN_CLAIM_WORDS = 3
HINT_CHARS = {1: 200, 2: 300, 3: 400, 4: 2_000}
"""The lower the level, the shorter the hint, so that a hint below the last level cannot contain the whole answer."""
_RELATION_OF: Mapping[str, Relation] = {
    "citation": "supports",
    "narrative": "supports",
    "refutation": "attacks",
    "reply": "answers",
}


class SetQuestion(BaseModel):
    text: str = Field(description="what the seminar is about, as one question")


class ProposeNode(BaseModel):
    kind: str = Field(description="thesis, definition, citation, narrative, refutation, reply or conclusion")
    text: str = Field(description="one paragraph; for a thesis or a reply, the user's own words, verbatim")
    about: str = Field("", description="what it supports, attacks or answers: 'claim', 'reason 1', 'objection 1'")
    because: str = Field("", description="why it supports or attacks that")
    term: str = Field("", description="for a definition: the term")
    source: str = Field("", description="for a citation: where it stands")
    confidence: int | str | None = Field(None, description="for a thesis: 0 to 100, as the user said")
    side: Side = Field("own", description="'opposing' for the opposing seminar")


class LinkNodes(BaseModel):
    source: str = Field(description="'reason 1', 'objection 1', 'reply 1'")
    relation: str = Field(description="supports, attacks, answers or uses")
    target: str = Field(description="'claim', 'reason 1', 'objection 1'")
    because: str = ""


class UpdateNode(BaseModel):
    node: str = Field(description="'claim', 'reason 1', 'definition of marks' ...")
    text: str | None = None
    status: Status | None = None
    source: str | None = None
    confidence: int | str | None = Field(None, description="of the claim, as the user said")
    terms: list[str] | str | None = Field(None, description="of the claim: words in it that need a definition")


class Hint(BaseModel):
    about: str = Field("", description="what it is about: 'claim', 'objection 1' ...")
    level: int | str = Field(1, description="1 where to look, 2 an example elsewhere, 3 a beginning, 4 the words")
    text: str


class SetPhase(BaseModel):
    phase: str = Field(description=", ".join(PHASES))


class LintSeminar(BaseModel):
    pass


class Export(BaseModel):
    form: Form = "md"


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
    asked = moves.set_question(argument, args.text, author=author)
    return asked, f"The question is: {args.text} {describe_standing(asked)}"


def _propose(argument: Argument, args: ProposeNode, dialogue: Dialogue) -> tuple[Argument, str]:
    _require_content(args.text, args.because)
    kind = read_kind(argument, args.kind, args.source)
    about = read_target(argument, kind, args.about, args.side)
    if kind == "reply" and about is None:
        raise MoveRefusedError("There is no objection to reply to yet. Ask for one.")
    guarded = kind == "reply" or (kind == "thesis" and args.side == "own")
    target = about if kind == "reply" and about else "frame"
    text, author = _choose_words(argument, args.text, dialogue, guarded=guarded, target=target, what=kind)
    confidence = _said_confidence(args.confidence, dialogue) if kind == "thesis" else None
    grown = moves.propose_node(
        argument,
        kind,
        text,
        author=author,
        side=args.side,
        term=args.term or read_term(argument),
        source=args.source,
        confidence=confidence,
    )
    name = list(grown.nodes)[-1]
    relation = _RELATION_OF.get(kind)
    if about and relation:
        grown = moves.link(grown, name, relation, about, args.because, author=author)
    whose = "the user's" if author == "user" else "your"
    return grown, f"{title_of(grown, name)} stands, in {whose} words. {describe_standing(grown)}"


def _link(argument: Argument, args: LinkNodes, dialogue: Dialogue) -> tuple[Argument, str]:
    _require_content(args.because)
    source, relation, target = read_link(argument, args.source, args.relation, args.target)
    author: Author = "user" if is_said_in(args.because, dialogue.texts) else "tutor"
    linked = moves.link(argument, source, relation, target, args.because, author=author)
    return linked, f"{title_of(linked, source)} {relation} {name_of(linked, target)}. {describe_standing(linked)}"


def _update(argument: Argument, args: UpdateNode, dialogue: Dialogue) -> tuple[Argument, str]:
    _require_content(args.text or "")
    if argument.thesis is None and args.text and means_claim(args.node):
        return _begin(argument, args.text, args.confidence, dialogue)
    node = require_clause(argument, args.node)
    if args.text is not None and is_said_in(args.text, [node.text]):
        args = args.model_copy(update={"text": None})  # the words that stand there, or some of them
    terms = [each for each in args.terms.split(",") if each.strip()] if isinstance(args.terms, str) else args.terms
    named = moves.name_terms(argument, terms) if terms else argument
    confidence = _said_confidence(args.confidence, dialogue) if node.kind == "thesis" else None
    says_nothing = args.text is None and args.source is None and confidence is None and args.status in (None, node.status)
    if says_nothing and terms:
        return named, f"To be defined: {', '.join(named.terms)}. {describe_standing(named)}"
    if says_nothing and args.confidence is not None:
        raise MoveRefusedError(f"The user has not said {args.confidence}. Ask how sure they are, from 0 to 100.")
    guarded = args.text is not None and (node.kind == "reply" or (node.kind == "thesis" and node.side == "own"))
    targets = [link.target for link in argument.links_of("answers", source=node.id)]
    target = next(iter(targets), node.id)
    text, author = _choose_words(argument, args.text or "", dialogue, guarded=guarded, target=target, what=node.kind)
    changed = moves.update_node(
        named,
        node.id,
        text=None if args.text is None else text,
        status=args.status,
        source=args.source,
        confidence=confidence,
        author=author,
    )
    told = f"{CHANGED} {describe_change(changed)} " if len(changed.versions) > len(named.versions) > 0 else ""
    return changed, f"{title_of(changed, node.id)} is {changed.nodes[node.id].status}. {told}{describe_standing(changed)}"


def _begin(argument: Argument, text: str, confidence: int | str | None, dialogue: Dialogue) -> tuple[Argument, str]:
    """A change of the claim before there is one: the question of the seminar, or the claim itself."""
    if is_question(text):
        return _set_question(argument, SetQuestion(text=text), dialogue)
    if len(words_of(text)) < MIN_CLAIM_WORDS:
        raise MoveRefusedError("There is no claim yet, and these words do not make one. Ask what the user claims.")
    return _propose(argument, ProposeNode.model_validate({"kind": "thesis", "text": text, "confidence": confidence}), dialogue)


def _hint(argument: Argument, args: Hint, dialogue: Dialogue) -> tuple[Argument, str]:
    about = find_clause(argument, args.about) or subject_of(argument)
    if dialogue.has_done("hint"):
        raise MoveRefusedError("One hint was given in this turn. Let the user try first.")
    level = read_level(args.level, hint_level(argument, about))
    text = shorten_hint(in_plain_words(argument, args.text), HINT_CHARS[level])
    kept = moves.record(argument, "tutor", "hint", about, text, level)
    return kept, f"Hint {level} of {TOP_LEVEL}: {text}"


def _set_phase(argument: Argument, args: SetPhase, dialogue: Dialogue) -> tuple[Argument, str]:
    moved = move_towards(argument, args.phase)
    return moved, describe_standing(moved)


def _lint(argument: Argument, args: LintSeminar, dialogue: Dialogue) -> tuple[Argument, str]:
    found = [f"- {finding.severity}: {finding.sentence}" for finding in lint(argument)]
    return argument, "\n".join([describe_standing(argument), *(found or ["Nothing to mark."])])


def _export(argument: Argument, args: Export, dialogue: Dialogue) -> tuple[Argument, str]:
    return argument, export(argument, args.form)


def _choose_words(
    argument: Argument, text: str, dialogue: Dialogue, *, guarded: bool, target: str, what: str
) -> tuple[str, Author]:
    """The words and whose they are. A paraphrase of what the user said gives way to the user's sentence; `MoveRefusedError` if the words
    should be the user's and are not."""
    if is_said_in(text, dialogue.texts):
        return text, "user"
    if not guarded or dialogue.wants_to_be_told or hint_level(argument, target) >= TOP_LEVEL:
        return text, "tutor"
    if own := closest_saying(text, dialogue.texts):
        return own, "user"
    raise MoveRefusedError(
        f"The words of a {what} are the user's: take them verbatim from what the user has said. You may choose them only when the "
        f"user asks to be told, or after hint {TOP_LEVEL}; the last one was {hint_level(argument, target)}. Ask instead."
    )


def _said_confidence(confidence: int | str | None, dialogue: Dialogue) -> int | None:
    """The confidence, if it is a number that the user said."""
    figures = (
        [word for word in words_of(str(confidence)) if word.isascii() and word.isdigit()] if confidence is not None else []
    )
    said = figures and any(figures[0] in words_of(text) for text in dialogue.texts)
    return int(figures[0]) if said else None


def _require_content(*texts: str) -> None:
    """Somebody who says "just tell me" has not given a reason."""
    if any(text and asks_to_be_told(text) for text in texts):
        raise MoveRefusedError("The user asks to be told with that; it is no part of an argument. Tell them in your own words.")


_TABLE: Mapping[str, tuple[type[BaseModel], str, Perform]] = {
    "set_question": (SetQuestion, "Name the question of the seminar.", _set_question),
    "propose_node": (
        ProposeNode,
        "Add something to the argument. The words of a thesis or a reply are the user's own; anything else is refused.",
        _propose,
    ),
    "link": (LinkNodes, "Say how one part of the argument bears on another, or why.", _link),
    "update_node": (
        UpdateNode,
        "Change the words, status, source or confidence of something, or name the claim's terms.",
        _update,
    ),
    "hint": (
        Hint,
        "Help with what the user is stuck on; it is shown to them. Begin at level 1; one level more each time they stay stuck.",
        _hint,
    ),
    "set_phase": (SetPhase, "Go on to the next phase when nothing is missing, or back to an earlier one.", _set_phase),
    "lint_seminar": (LintSeminar, "What a careful reader would mark, and what the phase still needs.", _lint),
    "export": (Export, "The whole argument as Markdown, JSON, Argdown or Mermaid.", _export),
}
ARGUMENT_TOOLS = frozenset(_TABLE)
