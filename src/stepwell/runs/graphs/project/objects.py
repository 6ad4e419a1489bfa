"""Objects that langgraph.json names beside graphs: an `Auth`, an application, an embedding function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stepwell.errors import ConfigurationError
from stepwell.runs.graphs.sources import NODE_SUFFIXES, GraphSpec, load_named

LONGEST_MINUTES = 100 * 366 * 24 * 60
"""A hundred years: later moments cannot be shown as a date."""


def read_object(content: Mapping[str, Any], key: str, file: str, *, within: str = "") -> Mapping[str, Any]:
    """An object under a key of langgraph.json, or of the entry `within`; empty if the key is missing."""
    value = content.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigurationError(f"'{f'{within}.' if within else ''}{key}' in '{file}' must be an object.")
    return value


def read_minutes(content: Mapping[str, Any], key: str, name: str, file: str, at_least: float = 0.0) -> float | None:
    """A number of minutes under a name; None if it is missing."""
    value = content.get(name)
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not max(at_least, 1e-6) <= value <= LONGEST_MINUTES:
        least = f"at least {at_least:g}" if at_least else "above 0"
        raise ConfigurationError(
            f"'{key}.{name}' in '{file}' must be a number of minutes {least}, and at most {LONGEST_MINUTES} (100 years)."
        )
    return float(value)


def read_target(value: object, key: str, file: str) -> GraphSpec | None:
    """`./file.py:name` or `package.module:name`, checked but not loaded."""
    if value is None:
        return None
    place, _, name = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if not place or not name.isidentifier():
        raise ConfigurationError(f"'{key}' in '{file}' must name a file and an object in it, such as \"./auth.py:auth\".")
    if place.endswith(NODE_SUFFIXES):
        raise ConfigurationError(
            f"'{key}' in '{file}' is written in JavaScript or TypeScript, which cannot run here. Write it in Python, or remove it."
        )
    return GraphSpec(str(value))


def load_target(key: str, target: GraphSpec, folder: Path) -> object:
    """The object itself. May block for seconds; its errors say what is wrong."""
    return load_named(f"'{key}'", key, target, folder)


def read_flags(content: Mapping[str, Any], key: str, names: Sequence[str], file: str) -> dict[str, bool]:
    """Each of these entries as true or false; a missing one is false."""
    flags = {}
    for name in names:
        value = content.get(name, False)
        if not isinstance(value, bool):
            raise ConfigurationError(f"'{key}.{name}' in '{file}' must be true or false.")
        flags[name] = value
    return flags


def refuse_unknown(content: Mapping[str, Any], key: str, known: Sequence[str], file: str) -> None:
    """Refuse entries of a key that decides who may do what: an entry that is ignored could leave something open."""
    if unknown := [name for name in content if name not in known]:
        raise ConfigurationError(f"'{key}.{unknown[0]}' in '{file}' is unknown. There are: {', '.join(known)}.")


def read_texts(value: object, key: str, file: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(entry, str) and entry for entry in value):
        raise ConfigurationError(f"'{key}' in '{file}' must be a list of texts.")
    return tuple(value)
