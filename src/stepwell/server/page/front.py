"""`/` for programs, and for people if the web page is not built: what this is and where to continue.

Shows no user data.
"""

from __future__ import annotations

from html import escape
from importlib.metadata import version
from typing import Any

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem; color-scheme: light dark }
pre { overflow-x: auto }
"""
_NOT_BUILT = (
    "<p>The web page is not built here. In a clone of the project, build it with <code>make page</code>; this address then shows "
    "it. An installed package includes it.</p>"
)
_ASKS_WHO = (
    "<p>You need to sign in to this server. Programs send an API key: put yours into <code>STEPWELL_API_KEY</code> for the first line, and "
    "into <code>api_key=</code> for the second. A browser <a href=/login>signs in</a>.</p>"
)


def describe_front(prefix: str = "") -> dict[str, Any]:
    return {
        "name": "Stepwell",
        "version": version("stepwell"),
        "about": "A server for durable agents, with the API of LangGraph's SDKs.",
        "docs": f"{prefix}/docs",
        "openapi": f"{prefix}/openapi.json",
        "health": "/ok",
    }


def render_front(address: str, *, asks_who: bool) -> str:
    """A substitute for the web page: two ways to start without it. `address` is the address that the visitor used."""
    front, shown = describe_front(), escape(address)
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>Stepwell</title><style>{_STYLE}</style><h1>Stepwell {escape(front['version'])}</h1><p>{escape(front['about'])}</p>"
        f"{_NOT_BUILT}"
        f"<p>Talk to an agent in a terminal:</p><pre>stepwell chat --url {shown}</pre>"
        f"<p>Or from Python:</p><pre>from langgraph_sdk import get_client\nclient = get_client(url=&quot;{shown}&quot;)</pre>"
        f"{_ASKS_WHO if asks_who else ''}<p><a href=/docs>All routes</a> · <a href=/openapi.json>OpenAPI</a></p></html>"
    )
