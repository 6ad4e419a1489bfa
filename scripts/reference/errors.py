"""The tree in docs/reference/errors.md: every class of `stepwell.errors`, and the HTTP problem it becomes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

from stepwell import errors
from stepwell.server.problems import KINDS


def error_tree() -> str:
    """A nested list: each class below the one it derives from."""
    return "\n".join(f"{'  ' * depth}- {_line(kind)}" for depth, kind in _tree(errors.StepwellError))


def _line(kind: type) -> str:
    members, problem = _members(kind), _problem(kind)
    parts = [f"**`{kind.__name__}`**", " ".join(_meaning(kind).split())]
    if members:
        parts.append(f"Has {members}.")
    if problem:
        parts.append(f"HTTP {problem}.")
    return " ".join(parts)


def _tree(kind: type, depth: int = 0) -> Iterator[tuple[int, type]]:
    yield depth, kind
    children = [each for each in kind.__subclasses__() if each.__module__ == errors.__name__]
    for child in sorted(children, key=lambda each: inspect.getsourcelines(each)[1]):
        yield from _tree(child, depth + 1)


def _meaning(kind: type) -> str:
    return "The root of all of them." if kind is errors.StepwellError else inspect.cleandoc(kind.__doc__ or "")


def _members(kind: type) -> str:
    """Attributes that this class adds, and the word for programs if it has its own."""
    node = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(node, ast.ClassDef)
    names = [
        target.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
    ]
    code = vars(kind).get("code")
    said = [f"`{name}`" for name in dict.fromkeys(names) if not name.startswith("_") and name != "code"]
    return ", ".join([*said, *([f'`code`: `"{code}"`'] if isinstance(code, str) else [])])


def _problem(kind: type) -> str:
    found = next((KINDS[ancestor] for ancestor in kind.__mro__ if ancestor in KINDS), None)
    return f"{found.status} `{found.name}`" if found else ""
