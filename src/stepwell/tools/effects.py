"""What running a tool does to the world, declared by the tool.

| effect | meaning | after a crash in the middle |
|---|---|---|
| `read` | changes nothing | run again |
| `idempotent` | running it twice is like running it once; the default | run again |
| `once` | a second run would do harm | not run again: the outcome is reported as unknown |

This module only holds the declaration. `EffectsMiddleware` enforces it if the run has a journal (`effect_journal`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, get_args

from langchain_core.tools import BaseTool

from stepwell.errors import ConfigurationError

Effect = Literal["read", "idempotent", "once"]

EFFECT = "stepwell_effect"
"""The key in a tool's metadata, and the attribute name on a plain function."""

CHANGES_FILES = "stepwell_changes_files"
"""The attribute name on the function of a file tool that changes files."""

T = TypeVar("T")


def with_effect(effect: Effect) -> Callable[[T], T]:
    """Declare the effect of a plain function (as a decorator) or of a tool: `with_effect("once")(tool)` returns a copy of it."""
    if effect not in get_args(Effect):
        raise ConfigurationError(f"Unknown effect '{effect}'. A tool's effect is one of: {', '.join(get_args(Effect))}.")

    def declare(tool: T) -> T:
        if isinstance(tool, BaseTool):
            return tool.model_copy(update={"metadata": {**(tool.metadata or {}), EFFECT: effect}})
        setattr(tool, EFFECT, effect)
        return tool

    return declare


def changes_files(function: T) -> T:
    """Mark the function of one of our file tools that change files. Runs with `accept_edits` know them by it, not by a name."""
    setattr(function, CHANGES_FILES, True)
    return function


def is_file_change(tool: Any) -> bool:
    """Whether a tool is one of our file tools that change files."""
    return getattr(getattr(tool, "func", None), CHANGES_FILES, False) is True


def effect_of(tool: Any) -> Effect:
    """The effect of a tool: the declared one, or the default."""
    return declared_effect(tool) or "idempotent"


def declared_effect(tool: Any) -> Effect | None:
    """The effect that a tool declares, in its metadata or on its function; None if it declares none."""
    metadata = getattr(tool, "metadata", None) or {}
    functions = (tool, getattr(tool, "func", None), getattr(tool, "coroutine", None))
    declared = (metadata.get(EFFECT), *(getattr(function, EFFECT, None) for function in functions))
    known: tuple[Effect, ...] = get_args(Effect)
    return next((effect for said in declared for effect in known if said == effect), None)
