"""Prompts, which are Markdown files beside this module."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def _text(name: str) -> str:
    return (resources.files("stepwell.apps.research") / "prompts" / f"{name}.md").read_text(encoding="utf-8")


def prompt(name: str, **values: object) -> str:
    """A prompt with its places filled."""
    return _text(name).format(**values)
