"""Write the pages of docs/reference that come from the code; `make reference` calls it.

A page is generated whole, or has a generated part between two comments:

    <!-- generated: errors -->
    <!-- end of generated part -->
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from reference.command_line import command_line
from reference.errors import error_tree
from reference.python_api import python_api
from reference.routes import http_routes
from reference.streams import interrupts, stream_events

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PAGES: Mapping[str, Callable[[], str]] = {
    "python-api.md": python_api,
    "command-line.md": command_line,
    "http-routes.md": http_routes,
    "stream-events.md": stream_events,
    "interrupts.md": interrupts,
}
PARTS: Mapping[str, Callable[[], str]] = {"errors.md": error_tree}
PART = re.compile(r"(?P<start><!-- generated: [a-z ]+ -->\n)[^\0]*?(?P<end><!-- end of generated part -->)")


def made(name: str) -> str:
    """A page as it has to be."""
    if name in PAGES:
        return PAGES[name]()
    stands = (REFERENCE / name).read_text(encoding="utf-8")
    part = PARTS[name]()
    return PART.sub(lambda found: f"{found['start']}\n{part}\n\n{found['end']}", stands, count=1)


def main() -> None:
    """Write the pages that are out of step, and name them."""
    for name in (*PAGES, *PARTS):
        page, text = REFERENCE / name, made(name)
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
            print(f"wrote docs/reference/{name}")


if __name__ == "__main__":
    main()
