"""Reads prompts, which are Markdown files beside the code that uses them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def load_prompt(name: str) -> str:
    """The text of `<name>.md` in this folder."""
    return files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
