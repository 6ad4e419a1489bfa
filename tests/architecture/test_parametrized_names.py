"""Every process that collects the tests gives them the same names: xdist refuses to start otherwise, after minutes of collecting."""

from __future__ import annotations

import ast

CHANGING = {"uuid1", "uuid4", "uuid6", "uuid7", "now", "today", "urandom", "token_hex", "token_urlsafe", "monotonic", "mkdtemp"}


def _called(node: ast.AST) -> set[str]:
    """What is called to make a value. What a lambda calls, it calls in the test."""
    if isinstance(node, ast.Lambda):
        return set()
    name = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else getattr(node, "id", "")
    return {name}.union(*map(_called, ast.iter_child_nodes(node)))


def _wrong(source: str) -> list[int]:
    """Lines with a parametrized value that differs from process to process. A value with an id of its own may."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    parametrized = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "parametrize"]
    return [
        call.lineno for call in parametrized if len(call.args) == 2 and not call.keywords and _called(call.args[1]) & CHANGING
    ]


def test_no_parametrized_value_differs_from_process_to_process(project_texts: dict[str, str]) -> None:
    sources = {name: text for name, text in project_texts.items() if name.startswith("tests/") and name.endswith(".py")}
    assert [f"{name}:{line}" for name, text in sources.items() for line in _wrong(text)] == []


def test_a_changing_value_is_found() -> None:
    assert _wrong("@pytest.mark.parametrize('x', [str(uuid.uuid4())])\ndef test(x): ...") == [1]
    assert _wrong("@pytest.mark.parametrize('x', [lambda: uuid4()])\ndef test(x): ...") == []
