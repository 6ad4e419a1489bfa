"""What a careful reader would mark in an argument. An `error` keeps the seminar from closing; a `note` is worth a question.

| finding | severity | what it says |
|---|---|---|
| undefined | note | a word that the thesis and another clause use has no definition |
| unused | note | a term is defined, but no clause uses it |
| absolute | note | "always", "never", "everybody": one counter-example would do |
| question | error | the thesis asks instead of claiming |
| circle | error | a clause supports itself, through others |
| restated | error | a ground says the thesis again |
| self-defined | error | a definition uses its own term |
| sourceless | error | a citation does not name its source |
| withdrawn-ground | error | something still rests on a clause that was withdrawn, and on nothing else |
| new-evidence | error | a reply brings evidence that was not in the argument |
| redefinition | error | a refutation gives a term a meaning of its own |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from stepwell.tutor.argument.document import Argument, Node
from stepwell.tutor.argument.naming import name_of, names_of, title_of
from stepwell.tutor.argument.words import mentions, new_evidence, redefines, words_of

_ABSOLUTES = frozenset(
    {"always", "never", "everybody", "everyone", "nobody", "all", "none", "every", "obviously", "undoubtedly"}
)
_COMMON = frozenset(
    words_of(
        "about above across after again against almost along already although always among another around because become becomes "
        "before behind being below better between beyond cannot could despite during either enough especially every everybody everyone "
        "few first from further given hardly having however indeed instead itself least less likely little makes making many might "
        "more most mostly much myself nearly need needs neither never nobody nothing often only other others ought ourselves people "
        "perhaps person possible probably rather really reason reasons same several shall should simply since something sometimes "
        "still such than that their theirs them themselves then there therefore these they thing things think this those though "
        "through together toward towards under unless until upon usually various very want wants well were what whatever when where "
        "whether which while whole whose will with within without would your yours"
    )
)
_LEAST_LETTERS = 5
_ALIKE = 0.8


@dataclass(frozen=True, slots=True)
class Finding:
    code: str
    severity: Literal["error", "note"]
    about: str
    sentence: str
    detail: str = ""


def lint(argument: Argument) -> tuple[Finding, ...]:
    """Everything there is to mark, errors first."""
    checks = (_thesis, _circles, _definitions, _grounds, _exchanges, _undefined, _absolutes)
    found = [finding for check in checks for finding in check(argument)]
    return tuple(sorted(found, key=lambda finding: finding.severity != "error"))


def _thesis(argument: Argument) -> Iterator[Finding]:
    thesis = argument.thesis
    if thesis is not None and thesis.text.endswith("?"):
        yield Finding("question", "error", thesis.id, "Your claim asks a question; a claim says something.")


def _circles(argument: Argument) -> Iterator[Finding]:
    supports: dict[str, list[str]] = {}
    for link in argument.links_of("supports"):
        supports.setdefault(link.source, []).append(link.target)
    for name in _left_in_circles(supports):
        if _leads_to(supports, name, name):
            yield Finding("circle", "error", name, f"{title_of(argument, name)} supports itself, by way of others.")


def _left_in_circles(supports: Mapping[str, list[str]]) -> list[str]:
    """Repeatedly drops clauses that support nothing that is left. What remains are circles and the clauses that lead to them. Most
    arguments have none; checking for each clause whether it leads to itself would take quadratic time."""
    waits = {source: len(targets) for source, targets in supports.items()}
    supporters: dict[str, list[str]] = {}
    for source, targets in supports.items():
        for target in targets:
            supporters.setdefault(target, []).append(source)
    done = [target for target in supporters if target not in waits]
    while done:
        for source in supporters.get(done.pop(), ()):
            waits[source] -= 1
            if waits[source] == 0:
                done.append(source)
    return [source for source, left in waits.items() if left]


def _leads_to(supports: Mapping[str, list[str]], start: str, goal: str) -> bool:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for target in supports.get(waiting.pop(), ()):
            if target == goal:
                return True
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return False


def _definitions(argument: Argument) -> Iterator[Finding]:
    others = [node for node in argument.nodes.values() if node.kind != "definition" and node.status != "withdrawn"]
    for node in argument.of_kind("definition"):
        if mentions(node.text, node.term):
            sentence = f"Your definition uses “{node.term}” to say what “{node.term}” means."
            yield Finding("self-defined", "error", node.id, sentence)
        if not any(mentions(other.text, node.term) for other in others):
            yield Finding("unused", "note", node.id, f"You define “{node.term}”, and nothing else uses it.")


def _grounds(argument: Argument) -> Iterator[Finding]:
    thesis = argument.thesis
    for node in argument.of_kind("citation", "narrative"):
        if node.kind == "citation" and not node.source:
            sentence = f"{title_of(argument, node.id)} is cited without saying where it comes from."
            yield Finding("sourceless", "error", node.id, sentence)
        if thesis is not None and node.side == "own" and _likeness(node, thesis) >= _ALIKE:
            sentence = f"{title_of(argument, node.id)} says your claim again, so it cannot support it."
            yield Finding("restated", "error", node.id, sentence)
    for target in argument.of_kind("thesis", "narrative", side="own"):
        sources = [link.source for link in argument.links if link.relation == "supports" and link.target == target.id]
        if sources and all(argument.nodes[each].status == "withdrawn" for each in sources):
            sentence = f"{title_of(argument, target.id)} rests only on what you gave up: {names_of(argument, sources)}."
            yield Finding("withdrawn-ground", "error", target.id, sentence)


def _likeness(one: Node, other: Node) -> float:
    first, second = set(words_of(one.text)), set(words_of(other.text))
    return len(first & second) / len(first | second) if first | second else 0.0


def _exchanges(argument: Argument) -> Iterator[Finding]:
    terms = [node.term for node in argument.of_kind("definition", side="own")]
    for node in argument.of_kind("refutation"):
        if term := redefines(node.text, terms):
            yield Finding(
                "redefinition", "error", node.id, f"{title_of(argument, node.id)} gives “{term}” a meaning of its own."
            )
    for node in argument.of_kind("reply"):
        if brought := new_evidence(node.text, known_texts(argument, without=node.id)):
            sentence = f"{title_of(argument, node.id)} brings {brought}, which is nowhere else in your argument."
            yield Finding("new-evidence", "error", node.id, sentence)


def known_texts(argument: Argument, without: str = "") -> list[str]:
    """The texts that a reply may refer to: all of the argument except replies and the clause `without`."""
    others = [node for node in argument.nodes.values() if node.id != without and node.kind != "reply"]
    names = [name_of(argument, each) for each in argument.nodes]
    return [argument.question, *argument.nodes, *names, *(f"{node.text} {node.source} {node.term}" for node in others)]


def _undefined(argument: Argument) -> Iterator[Finding]:
    thesis = argument.thesis
    if thesis is None:
        return
    defined = [node.term for node in argument.of_kind("definition", side="own")]
    clauses = argument.of_kind("citation", "narrative", side="own")
    for word in dict.fromkeys(words_of(thesis.text)):
        if len(word) < _LEAST_LETTERS or word in _COMMON or any(mentions(term, word) for term in defined):
            continue
        user = next((node for node in clauses if mentions(node.text, word)), None)
        if user is not None:
            sentence = f"You use “{word}” in your claim and in {name_of(argument, user.id)}, and have not said what it means."
            yield Finding("undefined", "note", user.id, sentence, word)


def _absolutes(argument: Argument) -> Iterator[Finding]:
    for node in argument.of_kind("thesis", "citation", "narrative", side="own"):
        if found := next((word for word in words_of(node.text) if word in _ABSOLUTES), None):
            sentence = f"{title_of(argument, node.id)} says “{found}”, so one case to the contrary would refute it."
            yield Finding("absolute", "note", node.id, sentence, found)
