"""What can be done to an argument. A move returns a new argument with a line in its log, or is refused with a reason.

These rules hold for every move:

- a clause comes in its phase: a refutation from `steelman` on, a reply from `reply` on, a conclusion in `close`;
- a refutation does not redefine terms; a reply brings no new evidence;
- an attack makes its target `challenged`; the target is `held` again only when every attack on it is answered or withdrawn;
- a thesis changes together with the confidence of its holder, and every version is kept;
- no phase is skipped.

Who may choose the words of a thesis or a reply depends on who says what in the dialogue, so `tools` decides it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, get_args

from stepwell.tutor.argument.document import (
    KINDS,
    MAX_NODES,
    MAX_TEXT_CHARS,
    PHASES,
    PREFIXES,
    RELATIONS,
    STATUSES,
    Argument,
    Author,
    Kind,
    Link,
    Move,
    MoveRefusedError,
    Node,
    Phase,
    Relation,
    Side,
    Status,
    Version,
    tidy,
)
from stepwell.tutor.argument.lint import known_texts
from stepwell.tutor.argument.method import missing, phase_fault, unanswered
from stepwell.tutor.argument.naming import name_of, names_of, title_of
from stepwell.tutor.argument.words import mentions, new_evidence, redefines, words_of

OPENS: Mapping[Kind, Phase] = {"refutation": "steelman", "reply": "reply", "conclusion": "close"}
"""The first phase that allows clauses of a kind; other kinds may come at any time."""
SIDED: frozenset[Kind] = frozenset({"thesis", "definition", "citation", "narrative"})
ENDS: Mapping[Relation, tuple[frozenset[Kind], frozenset[Kind]]] = {
    "supports": (frozenset({"citation", "narrative"}), frozenset({"thesis", "narrative", "refutation"})),
    "attacks": (frozenset({"refutation"}), frozenset({"thesis", "citation", "narrative"})),
    "answers": (frozenset({"reply"}), frozenset({"refutation"})),
    "uses": (frozenset({"reply"}), frozenset({"thesis", "definition", "citation", "narrative"})),
}
"""Relation -> the kinds it may lead from and to."""


def set_question(argument: Argument, text: str, *, author: Author = "user") -> Argument:
    """Set the question that the seminar is about."""
    asked = _require_text("The question", text)
    return record(replace(argument, question=asked), author, "question", text=asked)


def propose_node(
    argument: Argument,
    kind: Kind,
    text: str,
    *,
    author: Author = "user",
    side: Side = "own",
    term: str = "",
    source: str = "",
    confidence: int | None = None,
) -> Argument:
    """Add a clause; its id is the last key of `nodes`."""
    _require_one_of("kind", kind, KINDS)
    if len(argument.nodes) >= MAX_NODES:
        raise MoveRefusedError(f"The argument has {MAX_NODES} clauses. Close it and begin another one.")
    _require_phase(argument, kind)
    own: Side = side if kind in SIDED else "opposing" if kind == "refutation" else "own"
    node = Node(
        next_id(argument, kind),
        kind,
        _require_text(f"A {kind}", text),
        author=author,
        side=_require_one_of("side", own, get_args(Side)),
        term=_read_term(term) if kind == "definition" else "",
        source=tidy(source) if kind == "citation" else "",
        confidence=_read_confidence(confidence) if kind == "thesis" else None,
    )
    _check_node(argument, node)
    terms = argument.terms
    if node.kind == "definition" and node.side == "own" and not any(_same_term(term, node.term) for term in terms):
        terms = (*terms, node.term)
    grown = replace(argument, nodes={**argument.nodes, node.id: node}, terms=terms)
    if node.kind == "thesis" and node.side == "own" and node.confidence is not None:
        grown = replace(grown, versions=(*grown.versions, Version(node.text, node.confidence, grown.phase)))
    return record(grown, author, "propose", node.id, node.text)


def link(
    argument: Argument, source: str, relation: Relation, target: str, because: str = "", *, author: Author = "user"
) -> Argument:
    """Say how one clause bears on another, and why; saying it again replaces the reason."""
    made = Link(source, _require_one_of("relation", relation, RELATIONS), target)
    if fault := link_fault(argument.nodes, made):
        raise MoveRefusedError(fault)
    why = tidy(because)[:MAX_TEXT_CHARS] or argument.links.get(made, "")
    nodes = dict(argument.nodes)
    attacked = nodes[target]
    if relation == "attacks" and made not in argument.links and attacked.status in ("held", "revised"):
        nodes[target] = replace(attacked, status="challenged")
    linked = replace(argument, nodes=nodes, links={**argument.links, made: why})
    return record(linked, author, "link", source, f"{made}{': ' if why else ''}{why}")


def update_node(
    argument: Argument,
    node_id: str,
    *,
    text: str | None = None,
    status: Status | None = None,
    source: str | None = None,
    confidence: int | None = None,
    author: Author = "user",
) -> Argument:
    """Change the words, the status, the source or the confidence of a clause."""
    node = require_node(argument, node_id)
    new = node
    if text is not None and tidy(text) != node.text:
        new = replace(new, text=_require_text(f"A {node.kind}", text), author=author)
        new = replace(new, status="revised" if _was_examined(argument) or node.status == "challenged" else new.status)
        _check_node(argument, new)
    if source is not None and node.kind == "citation":
        new = replace(new, source=tidy(source))
    if confidence is not None:
        if node.kind != "thesis":
            raise MoveRefusedError(f"Only a claim has a confidence, and this is {name_of(argument, node_id)}.")
        new = replace(new, confidence=_read_confidence(confidence))
    if status is not None:
        new = _with_status(argument, node, new, _require_one_of("status", status, STATUSES))
    if new == node and confidence is None:
        raise MoveRefusedError(f"Nothing about {name_of(argument, node_id)} would change. Say what should be different.")
    return _keep(argument, node, new, author, restated=confidence is not None)


def _keep(argument: Argument, old: Node, new: Node, author: Author, *, restated: bool) -> Argument:
    kept = replace(argument, nodes={**argument.nodes, new.id: new})
    if old.kind != "thesis" or old.side != "own":
        return record(kept, author, "update", new.id, _describe(old, new))
    if new.text != old.text and not restated:
        raise MoveRefusedError(
            "A claim changes together with how sure its holder is of it. Give a confidence, from 0 to 100, too."
        )
    if restated:
        kept = replace(kept, versions=(*kept.versions, Version(new.text, new.confidence, kept.phase)))
    return record(kept, author, "update", new.id, _describe(old, new))


def _describe(old: Node, new: Node) -> str:
    said = [new.text] if new.text != old.text else []
    said += [f"source: {new.source}"] if new.source != old.source else []
    said += [f"{old.status} -> {new.status}"] if new.status != old.status else []
    said += [f"confidence {_percent(old)} -> {_percent(new)}"] if new.confidence != old.confidence else []
    return "; ".join(said) or f"confidence stays at {_percent(new)}"


def _percent(node: Node) -> str:
    return "unsaid" if node.confidence is None else str(node.confidence)


def name_terms(argument: Argument, terms: list[str], *, author: Author = "user") -> Argument:
    """Say which words carry the thesis, and so need a definition."""
    thesis = argument.thesis
    if thesis is None:
        raise MoveRefusedError("There is no claim yet, so no word can carry it. Say first what is claimed.")
    named = [_read_term(term) for term in terms]
    strange = [term for term in named if not mentions(f"{thesis.text} {argument.question}", term)]
    if strange or not named:
        raise MoveRefusedError(
            f"{_quoted(strange) or 'Nothing'} is neither in your claim nor in the question. Give only words that are there."
        )
    new = [term for term in named if not any(_same_term(term, known) for known in argument.terms)]
    return record(replace(argument, terms=(*argument.terms, *dict.fromkeys(new))), author, "terms", thesis.id, "; ".join(named))


def set_phase(argument: Argument, to: Phase) -> Argument:
    """Go back to a phase, or on to the next one."""
    _require_one_of("phase", to, PHASES)
    if fault := phase_fault(argument, to):
        raise MoveRefusedError(fault)
    if to == argument.phase:
        raise MoveRefusedError(f"The seminar is at '{to}' already.")
    return record(replace(argument, phase=to), "tutor", "phase", to)


def leave(argument: Argument, about: str, gap: str) -> Argument:
    """Leave something open that a phase would need. Somebody who adds it later closes it."""
    return record(argument, "user", "leave", about, gap)


def record(
    argument: Argument, by: Literal["user", "tutor", "file"], move: str, about: str = "", text: str = "", level: int = 0
) -> Argument:
    """The argument with one more line in its log."""
    line = Move(by, move, argument.phase, about, tidy(text)[:MAX_TEXT_CHARS], level)
    return replace(argument, moves=(*argument.moves, line))


def next_id(argument: Argument, kind: Kind) -> str:
    """An id that no clause has ever had."""
    prefix = PREFIXES[kind]
    used = [int(name[len(prefix) :]) for name, node in argument.nodes.items() if node.kind == kind]
    return f"{prefix}{max(used, default=0) + 1}"


def require_node(argument: Argument, node_id: str) -> Node:
    if node_id not in argument.nodes:
        known = names_of(argument, argument.nodes)
        raise MoveRefusedError(
            f"There is nothing called '{node_id[:40]}'. There {'are: ' + known if known else 'is nothing yet'}."
        )
    return argument.nodes[node_id]


def _no_clause(node_id: str, nodes: Mapping[str, Node]) -> str:
    known = f"There are: {', '.join(nodes)}." if nodes else "There is none yet."
    return f"There is no clause '{node_id[:40]}'. {known}"


def link_fault(nodes: Mapping[str, Node], made: Link) -> str | None:
    """Why a link is not allowed; None if it is."""
    absent = next((end for end in (made.source, made.target) if end not in nodes), None)
    if absent is not None:
        return _no_clause(absent, nodes)
    source, target = nodes[made.source], nodes[made.target]
    sources, targets = ENDS[made.relation]
    if source.kind not in sources or target.kind not in targets or source is target:
        return f"A {source.kind} cannot be linked by '{made.relation}' to a {target.kind}."
    crosses = made.relation in ("attacks", "answers")
    if crosses == (source.side == target.side):
        return f"'{made.relation}' leads to {'the other' if crosses else 'the same'} side, and this does not."
    return None


def node_fault(argument: Argument, node: Node) -> str | None:
    """Why a clause cannot be part of an argument; None if it can."""
    others = [other for other in argument.nodes.values() if other.id != node.id and other.side == node.side]
    if node.kind == "thesis" and any(other.kind == "thesis" for other in others):
        return "There is a claim on this side already; change that one."
    if node.kind == "definition":
        twin = next(
            (o for o in others if o.kind == "definition" and o.status != "withdrawn" and _same_term(o.term, node.term)), None
        )
        if node.status != "withdrawn" and twin is not None:
            return f"“{node.term}” is defined already; change that definition."
    terms = [other.term for other in argument.of_kind("definition", side="own")]
    if node.kind == "refutation" and (term := redefines(node.text, terms)):
        return (
            f"An objection does not redefine words, and this one gives “{term}” a meaning of its own. "
            "Object to what is said with the word as it is defined."
        )
    if node.kind == "reply" and (brought := new_evidence(node.text, known_texts(argument, without=node.id))):
        return (
            f"A reply brings no new evidence, and this one brings {brought}. "
            "Answer from what has been said, or add it as a reason first (/ground ...)."
        )
    return None


def _check_node(argument: Argument, node: Node) -> None:
    if fault := node_fault(argument, node):
        raise MoveRefusedError(fault)


def _with_status(argument: Argument, old: Node, new: Node, status: Status) -> Node:
    if status == "held" and (attacks := unanswered(argument, old.id)):
        open_ones = names_of(argument, [attack.source for attack in attacks])
        raise MoveRefusedError(f"{title_of(argument, old.id)} cannot stay as it is while {open_ones} has no reply.")
    if status == "revised" and new.text == old.text and old.status != "revised":
        raise MoveRefusedError(f"Say how {name_of(argument, old.id)} reads now: what is changed has new words.")
    return replace(new, status=status)


def _was_examined(argument: Argument) -> bool:
    return PHASES.index(argument.phase) >= PHASES.index("elenchus")


def _require_phase(argument: Argument, kind: Kind) -> None:
    opens = OPENS.get(kind)
    if opens is None or PHASES.index(argument.phase) >= PHASES.index(opens):
        return
    first = next(iter(missing(argument)), None)
    raise MoveRefusedError(
        f"A {kind} belongs to the phase '{opens}', and the seminar is at '{argument.phase}'. "
        f"{first.sentence if first else 'Go on to the next phase first.'}"
    )


def _require_text(what: str, text: str) -> str:
    kept = tidy(text)
    if not words_of(kept):
        raise MoveRefusedError(f"{what} needs words.")
    if len(kept) > MAX_TEXT_CHARS:
        raise MoveRefusedError(f"{what} has at most {MAX_TEXT_CHARS} characters; this has {len(kept)}. Make two clauses of it.")
    return kept


def _require_one_of(what: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    if value not in allowed:
        raise MoveRefusedError(f"There is no {what} '{str(value)[:40]}'. There are: {', '.join(allowed)}.")
    return value


def _read_term(term: str) -> str:
    kept = tidy(term).strip("'\"“”‘’.,;: ")
    if not words_of(kept) or ";" in kept or len(kept) > 80:
        raise MoveRefusedError("A term is a word or a few, without a semicolon. Give the term that is defined.")
    return kept


def _read_confidence(value: int | None) -> int | None:
    if value is not None and not 0 <= value <= 100:
        raise MoveRefusedError("A confidence is a whole number from 0 to 100.")
    return value


def _same_term(one: str, other: str) -> bool:
    return mentions(one, other) and mentions(other, one)


def _quoted(terms: list[str]) -> str:
    return ", ".join(f"'{term}'" for term in terms)
