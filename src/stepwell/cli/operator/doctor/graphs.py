"""`langgraph.json` and its graphs. The project's code runs only with `--graphs`."""

from __future__ import annotations

import ast
import asyncio
import difflib
import importlib.util
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from stepwell.cli.operator.doctor.finding import Check, Finding, Installation, count
from stepwell.errors import ConfigurationError, GraphBuildError
from stepwell.terminal.own_command import spell_command

if TYPE_CHECKING:
    from stepwell.runs.graphs.langgraph_json import LanggraphProject
    from stepwell.runs.graphs.sources import GraphSpec

FILE = "langgraph.json"


def _read(here: Installation) -> LanggraphProject | ConfigurationError | None:
    file = here.graphs or here.folder / FILE
    if here.graphs is None and not file.is_file():
        return None
    from stepwell.runs.graphs.langgraph_json import read_langgraph_json  # imports LangGraph, which takes seconds

    try:
        return read_langgraph_json(file)
    except ConfigurationError as error:
        return error


def _check_file(here: Installation) -> Iterator[Finding]:
    project = _read(here)
    if project is None:
        names = [entry.name for entry in here.folder.iterdir() if entry.suffix in (".json", ".jsn", "")]
        if near := difflib.get_close_matches(FILE, names, n=1, cutoff=0.85):
            yield Finding(
                "warning", f"There is no {FILE}, but '{near[0]}'.", "Projects are found by the name.", f"mv {near[0]} {FILE}"
            )
        return
    if isinstance(project, ConfigurationError):
        yield Finding(
            "problem", f"The project's {FILE} cannot be used.", str(project), f"Correct the file; then {_import_them()}"
        )
        return
    for note in project.notes:
        yield Finding("warning", note, "", "Correct or remove it.")


def _check_graphs(here: Installation) -> Iterator[Finding]:
    project = _read(here)
    if project is None or isinstance(project, ConfigurationError):
        return
    if here.graphs is None:
        faults = {name: fault for name, spec in project.graphs.items() if (fault := _look_at(spec, project))}
        for name, fault in faults.items():
            yield Finding("problem", f"The graph '{name}' cannot be loaded.", fault, f"Correct 'graphs' in {FILE}.")
        if not faults:
            yield Finding(
                "ok",
                f"{FILE} names {count(len(project.graphs), 'graph', 'graphs')}; none was imported.",
                "",
                f"To import them: {_import_them()}",
            )
        return
    yield from _import(project)


def _import_them() -> str:
    return spell_command("doctor --graphs")


def _look_at(spec: GraphSpec, project: LanggraphProject) -> str | None:
    """What shows without running anything: a missing file, a syntax error, a name that nothing in the file has."""
    if not spec.is_file:
        top = spec.place.partition(".")[0]
        inside = any((folder / top).exists() or (folder / f"{top}.py").exists() for folder in project.import_folders)
        return (
            None
            if inside or importlib.util.find_spec(top)
            else f"The package '{top}' is not installed. Install it, or add its folder to 'dependencies'."
        )
    file = project.folder / spec.place
    if not file.is_file():
        return f"It names the file '{file.name}', which does not exist. Paths start at the folder of {FILE}."
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError) as error:
        line = error.lineno if isinstance(error, SyntaxError) else None
        return f"'{file.name}' is not valid Python{f': see line {line}' if line else ''}."
    names = _names(tree)
    if names is None or spec.name in names:
        return None
    near = difflib.get_close_matches(spec.name, sorted(names), n=1)
    return f"Nothing in '{file.name}' is named '{spec.name}'.{f' Did you mean {near[0]!r}?' if near else ''}"


def _names(tree: ast.Module) -> set[str] | None:
    """Names that a module may have; None if it imports all names of another."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                return None
            case ast.ImportFrom(names=names) | ast.Import(names=names):
                found.update(alias.asname or alias.name.partition(".")[0] for alias in names)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
    return found


def _import(project: LanggraphProject) -> Iterator[Finding]:
    from stepwell.runs.graphs.registry import GraphRegistry

    project.enter()
    registry = GraphRegistry.from_project(project)
    with suppress(GraphBuildError):  # raised if no graph can be built; each is in `problems`
        asyncio.run(registry.check())
    for name, fault in registry.problems.items():
        yield Finding("problem", f"The graph '{name}' cannot be built.", fault, f"Then try again: {_import_them()}")
    if built := [name for name in registry.names if name not in registry.problems]:
        yield Finding("ok", f"These graphs can be built: {', '.join(built)}.")


CHECKS = (
    Check(
        "langgraph-json",
        "`langgraph.json` is missing or its name misspelt, is not JSON, or has keys that are unknown or not honoured",
        "correct the file",
        _check_file,
    ),
    Check(
        "graphs",
        "a graph's file is missing, not valid Python, or lacks the name; with `--graphs`: it cannot be imported or built",
        "correct `graphs`; install what is missing",
        _check_graphs,
    ),
)
