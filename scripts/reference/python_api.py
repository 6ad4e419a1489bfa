"""docs/reference/python-api.md: signature and docstring of every name in `stepwell.__all__` and `stepwell.testing.__all__`.

Signatures come from the source, not from `inspect`, so that they look the same with every version of Python. Their blocks are
marked `python3`, because those marked `python` are run as examples.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import stepwell
import stepwell.testing
from reference.markdown import docstring, page

LINE = 100
GROUPS = {
    "Agents": ("stepwell.agent",),
    "Middleware": ("stepwell.middleware", "stepwell.payments.middleware", "stepwell.workspace.middleware"),
    "Backends": ("stepwell.backends",),
    "Models": ("stepwell.models",),
    "State": ("stepwell.state",),
    "Errors": ("stepwell.errors",),
}
"""Title -> packages whose exports stand under it."""
OWN_PAGES = {"create_deep_agent": "What it takes and returns: [`create_deep_agent`](create-deep-agent.md)."}
"""Names whose parameters a page explains with links and examples."""


def python_api() -> str:
    by_group: dict[str, list[str]] = {title: [] for title in GROUPS}
    for name in sorted(stepwell.__all__, key=str.lower):
        if not name.startswith("_"):
            by_group[_group(stepwell._HOME_OF[name])].append(entry(stepwell, name))
    parts = [part for title, entries in by_group.items() if entries for part in (f"## {title}", *entries)]
    testing = [entry(stepwell.testing, name) for name in sorted(stepwell.testing.__all__, key=str.lower)]
    return page(
        "Python API",
        "Every public name. `from stepwell import NAME` imports it, and nothing else is imported with it. "
        "[`create_deep_agent`](create-deep-agent.md) and [Tools and backends](tools-and-backends.md) explain the most used ones with "
        "examples; methods that only carry out a protocol of LangChain or `BackendProtocol` are left out.",
        *parts,
        "## Testing",
        "From `stepwell.testing`; [Test your agent without a model](../how-to/test-your-agent.md) shows them at work.",
        *testing,
    )


def _group(module: str) -> str:
    return next(title for title, packages in GROUPS.items() if any(f"{module}.".startswith(f"{each}.") for each in packages))


def _module_of(package: ModuleType, name: str) -> str:
    value = getattr(package, name)
    module = getattr(value, "__module__", None)
    return module if isinstance(module, str) and module.startswith("stepwell") else package.__name__


def entry(package: ModuleType, name: str) -> str:
    """One name: heading, signature, docstring, and for a class its fields and methods."""
    value = getattr(package, name)
    node, text = _definition(_module_of(package, name), name)
    parts = [f"### `{name}`", f"```python3\n{_signature(node, name)}\n```", OWN_PAGES.get(name) or docstring(text)]
    if isinstance(node, ast.ClassDef):
        parts += [_fields(node), *_methods(node, value)]
    return "\n\n".join(part for part in parts if part)


def _definition(module: str, name: str) -> tuple[ast.stmt, str | None]:
    """Where a name is defined, through the modules that pass it on."""
    loaded = importlib.import_module(module)
    body = ast.parse(Path(str(loaded.__file__)).read_text(encoding="utf-8")).body
    for place, node in enumerate(body):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return node, ast.get_docstring(node)
        if name in _assigned(node):
            return node, _string(body[place + 1]) if place + 1 < len(body) else None
    for node in ast.walk(ast.Module(body, [])):
        if isinstance(node, ast.ImportFrom) and node.module and any((each.asname or each.name) == name for each in node.names):
            return _definition(node.module, name)
    raise LookupError(f"{module} does not define {name}")


def _assigned(node: ast.stmt) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _string(node: ast.stmt) -> str | None:
    value = node.value if isinstance(node, ast.Expr) else None
    return inspect.cleandoc(value.value) if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def _signature(node: ast.stmt, name: str) -> str:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return _function(node, name)
    if isinstance(node, ast.ClassDef):
        init = next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
        if init is not None:
            return _function(init, name, keyword="class", skip_self=True)
        bases = ", ".join(ast.unparse(base) for base in node.bases)
        return f"class {name}({bases})" if bases else f"class {name}"
    return ast.unparse(node)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str, *, keyword: str = "", skip_self: bool = False) -> str:
    arguments = list(_arguments(node.args))
    if skip_self and arguments and arguments[0] in ("self", "cls"):
        arguments = arguments[1:]
    keyword = keyword or ("async def" if isinstance(node, ast.AsyncFunctionDef) else "def")
    result = f" -> {ast.unparse(node.returns)}" if node.returns and keyword != "class" else ""
    line = f"{keyword} {name}({', '.join(arguments)}){result}"
    if len(line) <= LINE:
        return line
    return f"{keyword} {name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + f"){result}"


def _arguments(args: ast.arguments) -> Iterator[str]:
    plain = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [*[None] * (len(plain) - len(args.defaults)), *args.defaults]
    for place, (argument, default) in enumerate(zip(plain, defaults, strict=True), 1):
        yield _argument(argument, default)
        if place == len(args.posonlyargs):
            yield "/"
    if args.vararg:
        yield f"*{_argument(args.vararg, None)}"
    elif args.kwonlyargs:
        yield "*"
    for argument, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield _argument(argument, default)
    if args.kwarg:
        yield f"**{_argument(args.kwarg, None)}"


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    text = argument.arg + (f": {ast.unparse(argument.annotation)}" if argument.annotation else "")
    if default is None:
        return text
    return f"{text}{' = ' if argument.annotation else '='}{ast.unparse(default)}"


def _fields(node: ast.ClassDef) -> str:
    lines = []
    for place, each in enumerate(node.body):
        if not isinstance(each, ast.AnnAssign) or not isinstance(each.target, ast.Name) or each.target.id.startswith("_"):
            continue
        said = _string(node.body[place + 1]) if place + 1 < len(node.body) else None
        lines.append(f"- `{each.target.id}: {ast.unparse(each.annotation)}`{': ' + ' '.join(said.split()) if said else ''}")
    return "\n".join(lines)


def _methods(node: ast.ClassDef, value: Any) -> Iterator[str]:
    inherited = {name for base in value.__mro__[1:] for name in vars(base)}
    from stepwell import BackendProtocol

    verbs = set() if value.__name__.endswith("Protocol") else set(dir(BackendProtocol))
    for each in node.body:
        if (
            not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
            or each.name.startswith("_")
            or not ast.get_docstring(each)
        ):
            continue
        if each.name in inherited | verbs and not value.__name__.endswith("Protocol"):
            continue
        kinds = {ast.unparse(decorator) for decorator in each.decorator_list}
        yield f"#### `{value.__name__}.{each.name}`"
        if "property" in kinds or "cached_property" in kinds:
            yield f"```python3\n{each.name}: {ast.unparse(each.returns) if each.returns else 'Any'}\n```"
        else:
            yield f"```python3\n{_function(each, each.name, skip_self='staticmethod' not in kinds)}\n```"
        yield docstring(ast.get_docstring(each))
