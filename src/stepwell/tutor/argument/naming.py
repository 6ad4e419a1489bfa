"""The names of clauses, as users and models read and write them: "your claim", "reason 2", "objection 1". Ids stay inside.

Reasons are counted through, whether they have a source or not; a clause that is given up keeps its number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from stepwell.tutor.argument.document import Argument, Kind, Node, Phase
from stepwell.tutor.argument.words import words_of

_COUNTED: Mapping[Kind, str] = {
    "citation": "reason",
    "narrative": "reason",
    "refutation": "objection",
    "reply": "reply",
    "conclusion": "conclusion",
}
_SAME_WORD: Mapping[str, str] = {
    "claim": "claim",
    "thesis": "claim",
    "reason": "reason",
    "ground": "reason",
    "narrative": "reason",
    "citation": "reason",
    "evidence": "reason",
    "premise": "reason",
    "objection": "objection",
    "refutation": "objection",
    "counterargument": "objection",
    "reply": "reply",
    "answer": "reply",
    "rebuttal": "reply",
    "conclusion": "conclusion",
    "definition": "definition",
}
TITLES: Mapping[Phase, str] = {
    "frame": "Claim",
    "define": "Words",
    "grounds": "Reasons",
    "warrant": "Why they count",
    "steelman": "Objections",
    "elenchus": "Examination",
    "reply": "Replies",
    "revise": "Revision",
    "close": "Conclusion",
}
"""What users call the phases."""
_SAID_NAME = re.compile(r"(?:the |your |my )?(opposing )?([a-z]+)(?: (?:no\. ?|#)?(\d{1,3}))?", re.IGNORECASE)
_DEFINITION = re.compile(r"(?:the |your |my )?definition of (.+)", re.IGNORECASE)
_ID = re.compile(r"(?<![\w/.-])[tdcnrpk][1-9]\d{0,2}(?![\w/-])")
_ABOUT = re.compile(r"^\s*(?:about|regarding|re)\s+([tdcnrpk][1-9]\d{0,2})\s*[:,-]\s*", re.IGNORECASE)
_PHASE_LABEL = re.compile(
    r"^\s*(?:phase\s+)?['\"“*]*(?:frame|define|grounds|warrant|steelman|elenchus|reply|revise|close)['\"”*]*\s*:\s*",
    re.IGNORECASE,
)


def name_of(argument: Argument, node_id: str) -> str:
    """The name of a clause, in the middle of a sentence. A phase, or anything else that is no clause, is "your argument"."""
    node = argument.nodes.get(node_id)
    if node is None:
        return "your argument"
    if node.kind == "thesis":
        return "your claim" if node.side == "own" else "the opposing claim"
    if node.kind == "definition":
        return f"your definition of “{node.term}”"
    word = _COUNTED[node.kind]
    alike = _of_word(argument, word, node)
    if word == "conclusion" and len(alike) == 1:
        return "your conclusion"
    side = "opposing " if word == "reason" and node.side == "opposing" else ""
    return f"{side}{word} {alike.index(node.id) + 1}"


def title_of(argument: Argument, node_id: str) -> str:
    """The same, at the beginning of a line."""
    return capital(name_of(argument, node_id))


def quote_of(argument: Argument, node_id: str, chars: int = 60) -> str:
    """A clause by its name and the beginning of its words; the claim by its name alone, because everybody remembers it."""
    node = argument.nodes[node_id]
    name = name_of(argument, node_id)
    return name if node.kind == "thesis" and node.side == "own" else f"{name} (“{cut(node.text, chars)}”)"


def names_of(argument: Argument, node_ids: Iterable[str]) -> str:
    return ", ".join(name_of(argument, each) for each in node_ids)


def find_clause(argument: Argument, said: str) -> str | None:
    """The id of the clause that somebody means: by its id or its name, and by its kind alone if there is only one."""
    wanted = " ".join(said.split()).strip(" .:'\"“”")
    if wanted.casefold() in argument.nodes:
        return wanted.casefold()
    if found := _DEFINITION.fullmatch(wanted):
        term = found[1].strip(" '\"“”").casefold()
        return next(
            (node.id for node in argument.nodes.values() if node.kind == "definition" and node.term.casefold() == term), None
        )
    name = _SAID_NAME.fullmatch(wanted)
    if name is None:
        return None
    opposing, number = bool(name[1]), name[3]
    word = _SAME_WORD.get(name[2].casefold()) or _SAME_WORD.get(name[2].casefold().removesuffix("s"))
    if word is None:
        return None
    alike = [
        node.id
        for node in argument.nodes.values()
        if _word_of(node) == word and (word not in ("claim", "reason") or (node.side == "opposing") == opposing)
    ]
    if number is None:
        return alike[0] if len(alike) == 1 else None
    return alike[int(number) - 1] if 0 < int(number) <= len(alike) else None


def find_named(argument: Argument, text: str) -> str | None:
    """The id of the first clause that a text names, by its name or its id."""
    said = f" {' '.join(words_of(text))} "
    places: list[tuple[int, str]] = []
    for node_id in argument.nodes:
        name = " ".join(words_of(name_of(argument, node_id).removeprefix("your ")))
        places += [(place, node_id) for each in (name, node_id) if (place := said.find(f" {each} ")) >= 0]
    return min(places)[1] if places else None


def in_plain_words(argument: Argument, text: str) -> str:
    """A text without ids and without the labels of phases before a question: "About n1: why?" becomes "Why?"."""
    bare = _PHASE_LABEL.sub("", _ABOUT.sub("", text))
    if bare != text:
        bare = capital(bare)
    return _ID.sub(lambda hit: name_of(argument, hit[0]) if hit[0] in argument.nodes else hit[0], bare)


def capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def cut(text: str, chars: int = 70) -> str:
    """The beginning of a text, up to a word's end."""
    if len(text) <= chars:
        return text
    begun = text[: chars - 1]
    return f"{begun[: begun.rfind(' ')] if ' ' in begun[chars // 2 :] else begun}…"


def _word_of(node: Node) -> str:
    return "claim" if node.kind == "thesis" else "definition" if node.kind == "definition" else _COUNTED[node.kind]


def _of_word(argument: Argument, word: str, like: Node) -> list[str]:
    return [node.id for node in argument.nodes.values() if _COUNTED.get(node.kind) == word and node.side == like.side]
