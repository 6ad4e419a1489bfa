"""`/docs`: the API as a page. Rendered from the OpenAPI document, without scripts or external resources."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
code { font-family: ui-monospace, monospace; overflow-wrap: anywhere }
.method { display: inline-block; min-width: 4.5rem; font-weight: 600 }
li { margin: .2rem 0 } ul { list-style: none; padding: 0 } small { opacity: .75 }
"""


def render_docs(document: dict[str, Any]) -> str:
    """One heading per tag, one line per operation."""
    sections = "".join(f"<h2>{escape(tag)}</h2><ul>{''.join(lines)}</ul>" for tag, lines in _by_tag(document).items())
    about = escape(document["info"].get("description", ""))
    title = escape(f"{document['info']['title']} {document['info']['version']}")
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'><title>{title}</title>"
        f"<style>{_STYLE}</style><h1>{title}</h1><p>{about} <a href=openapi.json>openapi.json</a></p>{sections}</html>"
    )


def _by_tag(document: dict[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path, method, operation in _operations(document):
        line = f"<li><span class=method>{method.upper()}</span> <code>{escape(path)}</code> <small>{escape(operation['summary'])}</small>"
        found.setdefault(operation["tags"][0], []).append(line)
    return found


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield path, method, operation
