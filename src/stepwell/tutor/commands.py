"""The slash commands of a user. Some only show something and never need a model; the others are moves."""

from __future__ import annotations

from stepwell.tutor.argument import moves
from stepwell.tutor.argument.document import PHASES, Argument, MoveRefusedError, Phase
from stepwell.tutor.argument.exports import FORMS, Form, export
from stepwell.tutor.argument.lint import lint
from stepwell.tutor.argument.naming import find_clause
from stepwell.tutor.argument.questions import SKIP, Question, read_percent, split_source, take_answer
from stepwell.tutor.argument.telling import give_hint

HELP = f"""/hint               a hint, a little more each time
/tell               the words themselves ("just tell me" does the same)
/skip               leave a question that comes from the lint
/edit NAME WORDS    put something in other words, as in "/edit reason 1 New words."; end the claim with how sure you are of it
/withdraw NAME      give something up, as in "/withdraw reason 1"
/ground WORDS       one more reason for your claim
/objection WORDS    one more objection
/lint               what a careful reader would mark
/export FORM        your argument as {", ".join(FORMS)}"""


_MAX_NAME_WORDS = 8
"""As in "your definition of" and a term of a few words."""


def show(argument: Argument, text: str) -> str | None:
    """The output of a command that changes nothing; None for any other text."""
    name, _, rest = text.strip().partition(" ")
    match name.casefold():
        case "/help":
            return HELP
        case "/lint":
            return "\n".join(f"- {finding.sentence}" for finding in lint(argument)) or "Nothing to mark."
        case "/export":
            form = next((form for form in FORMS if form == rest.strip()), None)
            return (
                f"There is no form '{rest.strip()[:40]}'. There are: {', '.join(FORMS)}."
                if form is None
                else _fence(argument, form)
            )
    return None


def _fence(argument: Argument, form: Form) -> str:
    return f"````\n{export(argument, form)}````"


def carry_out(argument: Argument, question: Question | None, text: str) -> tuple[Argument, str]:
    """The argument after a command, and what to say about it; `MoveRefusedError` if it is not allowed."""
    name, _, rest = text.partition(" ")
    if (shown := show(argument, text)) is not None:
        return argument, shown
    match name.casefold(), rest.strip():
        case "/hint", _ if question is not None:
            return give_hint(argument, question)
        case "/skip", _ if question is not None:
            if question.need != "lint":
                raise MoveRefusedError("This question cannot be left: the phase needs its answer. /hint and /tell help.")
            return take_answer(argument, question, SKIP), ""
        case "/ground", words if words and argument.thesis is not None:
            return _add_ground(argument, words), ""
        case "/objection", words if words and argument.thesis is not None:
            return _add_objection(argument, words), ""
        case "/edit", words if words:
            return _edit(argument, words), ""
        case "/withdraw", name if name:
            node_id = find_clause(argument, name) or name
            return moves.update_node(argument, node_id, status="withdrawn"), ""
    return argument, HELP


def _add_ground(argument: Argument, words: str) -> Argument:
    """Adds a ground for the thesis; the seminar goes back to ask why the ground supports the thesis."""
    text, source = split_source(words)
    grown = moves.propose_node(argument, "citation" if source else "narrative", text, source=source)
    thesis = grown.thesis
    linked = moves.link(grown, list(grown.nodes)[-1], "supports", thesis.id) if thesis else grown
    return _go_back(linked, "grounds")


def _add_objection(argument: Argument, words: str) -> Argument:
    return _go_back(moves.propose_node(argument, "refutation", words), "steelman")


def _go_back(argument: Argument, to: Phase) -> Argument:
    return moves.set_phase(argument, to) if PHASES.index(argument.phase) > PHASES.index(to) else argument


def _edit(argument: Argument, words: str) -> Argument:
    """Changes a clause, as in `reason 1 the new words`; for a thesis, the confidence follows the words."""
    node_id, text = _split_name(argument, words)
    thesis = argument.thesis
    if thesis is None or node_id != thesis.id:
        return moves.update_node(argument, node_id, text=text)
    body, _, last = text.rstrip("% ").rpartition(" ")
    return moves.update_node(argument, node_id, text=body, confidence=read_percent(last))


def _split_name(argument: Argument, words: str) -> tuple[str, str]:
    """The id of the clause whose name the words begin with, and the rest. The longest name wins."""
    parts = words.split(" ")
    for length in range(min(_MAX_NAME_WORDS, len(parts) - 1), 0, -1):
        if node_id := find_clause(argument, " ".join(parts[:length])):
            return node_id, " ".join(parts[length:])
    return parts[0], " ".join(parts[1:])
