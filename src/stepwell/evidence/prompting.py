"""Prompts, which are Markdown files in the folder `prompts` of the package that asks, and how material stands in them."""

from __future__ import annotations

import uuid
from functools import cache
from importlib import resources

from stepwell.tools.web.fencing import fence


@cache
def _text(package: str, name: str) -> str:
    return (resources.files(package) / "prompts" / f"{name}.md").read_text(encoding="utf-8")


def prompt(package: str, name: str, **values: object) -> str:
    """A prompt of a package with its places filled."""
    return _text(package, name).format(**values)


def fence_material(text: str) -> str:
    """Untrusted text between fences, with the same mark each time: what is asked has to be the same when a node runs again.

    The mark comes from the whole text, so nothing inside can be written to know it.
    """
    return fence(text, new_mark=lambda: uuid.uuid5(uuid.NAMESPACE_OID, text).hex[:16])
