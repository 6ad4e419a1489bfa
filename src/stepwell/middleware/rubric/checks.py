"""Graders that are code: functions of the agent's state. They cost nothing, so they come before any model's judgement.

| a check returns | meaning |
|---|---|
| `None`, `True`, an empty text or list | met |
| a text, or a list of texts | not met, and why |
| `False` | not met; the first line of its docstring says what is wanted |
| `(True, text)`, `(False, text)` | met or not, and why |
| `Undecided(question)` | code cannot tell: the model that grades is asked |

A check that raises an error says nothing about the answer: the evaluation says that it broke.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from inspect import getdoc, isawaitable, iscoroutinefunction
from typing import Any

from stepwell.control_flow import let_pass
from stepwell.errors import ConfigurationError, MiddlewareError
from stepwell.in_thread import in_thread
from stepwell.secrets.errors import words_of

Function = Callable[[Any], Any]
Checks = Mapping[str, Function] | Iterable[Function] | Function

_log = logging.getLogger(__name__)
_MAY_RETURN = (
    "None, True, False, a text that says what is missing, a list of such texts, (True or False, text), or Undecided(...)"
)


@dataclass(frozen=True, slots=True)
class Undecided:
    """Code cannot tell whether this is met; the model that grades is asked this question."""

    question: str

    def __post_init__(self) -> None:
        given: object = self.question
        if not isinstance(given, str) or not given.strip():
            raise ConfigurationError(f"Undecided({given!r}) asks nothing. Write Undecided('Is the tone friendly?').")


@dataclass(frozen=True, slots=True)
class Check:
    """One check with its name."""

    name: str
    function: Function

    @property
    def task_name(self) -> str:
        """Its name among the tasks of a graph, where some characters have a meaning."""
        return "check " + "".join(each if each.isalnum() else " " for each in self.name)

    @property
    def is_async(self) -> bool:
        call = getattr(self.function, "__call__", None)  # noqa: B004  an object with an async `__call__` is async too
        return iscoroutinefunction(self.function) or iscoroutinefunction(call)

    def ask(self, state: Any) -> dict[str, Any]:
        """The outcome as plain data, which can be stored: a criterion, or an `undecided` question."""
        if self.is_async:
            raise MiddlewareError(
                f"The check '{self.name}' is async, and this run is sync. Call the agent with ainvoke or astream."
            )
        try:
            return self._read(self.function(_copied(state)))
        except Exception as error:
            return self._broken(error)

    async def aask(self, state: Any) -> dict[str, Any]:
        """The same from async code, where a sync function runs in a thread."""
        try:
            given = _copied(state)
            answer = self.function(given) if self.is_async else await in_thread(self.function, given)
            return self._read(await answer if isawaitable(answer) else answer)
        except Exception as error:
            return self._broken(error)

    def _read(self, answer: Any) -> dict[str, Any]:
        if isinstance(answer, Undecided):
            return {"name": self.name, "undecided": answer.question}
        passed, why = _read(answer)
        if passed:
            return {"name": self.name, "passed": True, "by": "code"}
        return {"name": self.name, "passed": False, "by": "code", "gap": why or _wanted(self.function)}

    def _broken(self, error: Exception) -> dict[str, Any]:
        let_pass(error)
        _log.warning("The check '%s' failed", self.name, exc_info=error)
        gap = f"could not be checked: {type(error).__name__}: {words_of(error)}"
        return {"name": self.name, "passed": False, "by": "code", "gap": gap, "broken": True}


def _copied(state: Any) -> Any:
    """The state with lists and dicts of its own, so that a check that sorts or empties one changes nothing in the run."""
    if not isinstance(state, Mapping):
        return state
    return {name: copy(value) if isinstance(value, list | dict) else value for name, value in state.items()}


def read_checks(given: object) -> tuple[Check, ...]:
    """The checks with their names: a mapping's keys, or the functions' own names."""
    if isinstance(given, Mapping):
        named = [(str(name), function) for name, function in given.items()]
    elif callable(given):
        named = [(_name_of(given), given)]
    elif isinstance(given, str) or not isinstance(given, Iterable):
        raise ConfigurationError(
            f"checks is {given!r}. Pass a list of functions of the agent's state, or a dict of them by name."
        )
    else:
        named = [(_name_of(function), function) for function in given]
    names = [name for name, _ in named]
    for name, function in named:
        if not callable(function):
            raise ConfigurationError(f"The check '{name}' is {function!r}. Pass a function of the agent's state.")
        if names.count(name) > 1:
            raise ConfigurationError(f"Two checks are called '{name}'. Pass a dict with a name for each.")
    return tuple(Check(name, function) for name, function in named)


def _name_of(function: Any) -> str:
    name = getattr(function, "__name__", None) or type(function).__name__
    return str(name).strip("_").replace("_", " ") if name != "<lambda>" else "check"


def _read(answer: Any) -> tuple[bool, str]:
    if answer is None or isinstance(answer, bool):
        return answer is not False, ""
    if isinstance(answer, str):
        return not answer.strip(), answer.strip()
    if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[0], bool) and isinstance(answer[1], str):
        return answer[0], answer[1].strip()
    if isinstance(answer, Sequence) and all(isinstance(each, str) for each in answer):
        return not answer, "; ".join(each.strip() for each in answer)
    raise TypeError(f"it returned a {type(answer).__name__}. A check may return {_MAY_RETURN}")


def _wanted(function: Function) -> str:
    said = (getdoc(function) or "").strip().split("\n")[0] if hasattr(function, "__name__") else ""
    return f"wanted: {said}" if said else "not met"
