"""Reads prompts, which are Markdown files in the folder `prompts` of the calling package, and fences untrusted material in them."""

from __future__ import annotations

import uuid
from functools import cache
from importlib import resources

from stepwell.tools.web.fencing import fence


@cache
def _text(package: str, name: str) -> str:
    return (resources.files(package) / "prompts" / f"{name}.md").read_text(encoding="utf-8")


def prompt(package: str, name: str, **values: object) -> str:
    """A package's prompt with its placeholders filled."""
    return _text(package, name).format(**values)


def judge_prompt() -> str:
    """What every judge is told. How well a model judges is measured with it, so the figures hold for this text."""
    return prompt("stepwell.research.evidence", "judge")


def fence_material(text: str) -> str:
    """Fences untrusted text. The same text always gets the same mark, because a node that runs again must ask exactly the same.

    The mark is derived from the whole text, so no text can be written to contain its own mark.
    """
    return fence(text, new_mark=lambda: uuid.uuid5(uuid.NAMESPACE_OID, text).hex[:16])
