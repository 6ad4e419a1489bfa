"""Finds every regular expression of the package, and writes texts that each of them should find hard.

What makes a pattern slow is a piece that repeats and a text in which that piece goes on and on without what should follow it. So
the texts are the pattern's own letters and words, alone and in pairs, many times over, with an end that fits nothing.
"""

from __future__ import annotations

import ast
import importlib
import itertools
import pkgutil
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import stepwell

FUNCTIONS = {"compile", "sub", "subn", "match", "fullmatch", "search", "findall", "finditer", "split"}
_SAMPLES = {
    _constants.CATEGORY_DIGIT: "1",
    _constants.CATEGORY_NOT_DIGIT: "a",
    _constants.CATEGORY_SPACE: " ",
    _constants.CATEGORY_NOT_SPACE: "a",
    _constants.CATEGORY_WORD: "a",
    _constants.CATEGORY_NOT_WORD: "-",
}


@dataclass(frozen=True)
class Found:
    """A pattern, and where it stands."""

    where: str
    pattern: re.Pattern[Any]
    ways: frozenset[str]
    """How it is asked for: `search` everywhere in a text, `match` and `fullmatch` at one place."""


def patterns_of_modules(sources: dict[str, str]) -> list[Found]:
    """The compiled patterns that modules and classes hold, also in tuples, lists and dictionaries."""
    found: dict[int, Found] = {}
    everything = "\n".join(sources.values())
    for info in pkgutil.walk_packages(stepwell.__path__, "stepwell."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            for pattern in _patterns_in(value):
                source = sources[_path(info.name)] if name.startswith("_") else everything
                asked = re.findall(rf"\b{name}\.(\w+)\(", source) if isinstance(value, re.Pattern) else []
                found.setdefault(id(pattern), Found(f"{info.name.removeprefix('stepwell.')}.{name}", pattern, _ways(asked)))
    return list(found.values())


def _path(module: str) -> str:
    place = importlib.import_module(module).__file__ or ""
    return Path(place).relative_to(Path(stepwell.__file__).parent).as_posix()


def _ways(asked: Iterable[str]) -> frozenset[str]:
    """Of methods that are called; of a pattern that is handed on, nobody knows."""
    return frozenset(each if each in ("match", "fullmatch") else "search" for each in asked) or frozenset({"search"})


def _patterns_in(value: Any, depth: int = 3) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, dict):
        yield from itertools.chain.from_iterable(_patterns_in(each, depth - 1) for each in value.values())
    elif depth and isinstance(value, list | tuple | set | frozenset):
        yield from itertools.chain.from_iterable(_patterns_in(each, depth - 1) for each in value)
    elif depth and isinstance(value, type) and value.__module__.startswith("stepwell"):
        yield from itertools.chain.from_iterable(_patterns_in(each, depth - 1) for each in vars(value).values())


def patterns_in_calls(name: str, tree: ast.Module) -> tuple[list[Found], list[str]]:
    """The patterns that are written into a call (`re.sub(r"...")`), and the places of those that are put together there."""
    found, made = [], []
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)):
            continue
        if node.func.value.id != "re" or node.func.attr not in FUNCTIONS or not node.args:
            continue
        if node.func.attr == "compile":
            continue  # held by its module, or made anew in a function
        if isinstance(node.args[0], ast.Constant):
            flags = next((_flags(each) for each in (*node.args[1:], *(k.value for k in node.keywords)) if _flags(each)), 0)
            found.append(Found(f"{name}:{node.lineno}", re.compile(node.args[0].value, flags), _ways([node.func.attr])))
        else:
            made.append(f"{name}:{node.lineno}")
    return found, made


def _flags(node: ast.expr) -> int:
    if isinstance(node, ast.BinOp):
        return _flags(node.left) | _flags(node.right)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "re":
        return int(getattr(re, node.attr))
    return 0


def hard_texts(pattern: re.Pattern[Any], most: int) -> Iterator[tuple[str, str, str]]:
    """(before, again, end): texts of one piece of the pattern again and again, perhaps behind the words it begins with."""
    pieces = list(dict.fromkeys(_pieces(_parser.parse(pattern.pattern, pattern.flags))))
    letters = [piece for piece in pieces if len(piece) == 1][:10]
    words = [piece for piece in pieces if len(piece) > 1][:10]
    again = [*letters, *words, *("".join(pair) for pair in itertools.permutations(letters, 2))]
    again += [word + letter for word in words[:6] for letter in letters[:6]]
    plain = [("", each, "\x00") for each in dict.fromkeys(again)]
    begun = [(before, each, end) for before in [*words[:4], *letters[:4]] for each in letters for end in ("\x00", "\n!", "")]
    mixed = itertools.chain.from_iterable(itertools.zip_longest(plain, begun))
    return itertools.islice((each for each in mixed if each), most)


def _pieces(tree: Any) -> Iterator[str]:
    """Every literal of a pattern, every run of them, and one letter of every class."""
    run = ""
    for operator, argument in tree:
        if operator is _constants.LITERAL:
            yield chr(argument)
            run += chr(argument)
            continue
        if len(run) > 1:
            yield run
        run = ""
        yield from _pieces_of(operator, argument)
    if len(run) > 1:
        yield run


def _pieces_of(operator: Any, argument: Any) -> Iterator[str]:
    if operator is _constants.IN:
        yield from _class_samples(argument)
    elif operator is _constants.NOT_LITERAL or operator is _constants.ANY:
        yield "a"
    elif operator in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT):
        yield from _pieces(argument[2])
    elif operator is _constants.SUBPATTERN:
        yield from _pieces(argument[3])
    elif operator is _constants.BRANCH:
        yield from itertools.chain.from_iterable(_pieces(branch) for branch in argument[1])
    elif operator in (_constants.ASSERT, _constants.ASSERT_NOT):
        yield from _pieces(argument[1])


def _class_samples(members: Any) -> Iterator[str]:
    if members[0][0] is _constants.NEGATE:
        refused = (
            re.compile("[" + "".join(re.escape(each) for each in _class_samples(members[1:])) + "]") if members[1:] else None
        )
        yield next(each for each in "a1 -_é" if refused is None or not refused.match(each))
        return
    for operator, argument in members[:6]:
        if operator is _constants.LITERAL:
            yield chr(argument)
        elif operator is _constants.RANGE:
            yield chr(argument[0])
        elif operator is _constants.CATEGORY:
            yield _SAMPLES.get(argument, "a")


def ask(found: Found, text: str) -> None:
    """Ask for a pattern in all of a text, in the ways in which the package asks for it."""
    asked: Any = text if isinstance(found.pattern.pattern, str) else text.encode("utf-8", "replace")
    if "search" in found.ways:
        for _ in found.pattern.finditer(asked):
            pass
    if "match" in found.ways:
        found.pattern.match(asked)
    if "fullmatch" in found.ways:
        found.pattern.fullmatch(asked)
