"""Sphinx's configuration of the documentation site; `make docs` calls it with the pages that `staging.py` has put together."""

from __future__ import annotations

from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

project = "Stepwell"
author = "The Stepwell authors"
version = release = version_of("stepwell")
language = "en"

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
nitpicky = True

myst_enable_extensions = ["attrs_block", "colon_fence"]
myst_heading_anchors = 4  # as on code hosts: a link such as `#the-server` leads to its heading

highlight_language = "none"
html_theme = "furo"
html_title = "Stepwell"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).parent / "static/scorer.js")
html_favicon = "static/icon.svg"
html_copy_source = False  # the Markdown files are beside the pages, for llms.txt
html_show_sphinx = False
html_show_copyright = False
html_last_updated_fmt = None
html_theme_options = {
    "light_logo": "icon.svg",
    "dark_logo": "icon.svg",
    "light_css_variables": {
        "color-brand-primary": "#0b6660",
        "color-brand-content": "#0b6660",
        "color-brand-visited": "#0b6660",
        "color-background-primary": "#fdfcfa",
        "color-background-secondary": "#f6f3ed",
    },
    "dark_css_variables": {
        "color-brand-primary": "#5cc4bb",
        "color-brand-content": "#5cc4bb",
        "color-brand-visited": "#5cc4bb",
    },
}


def setup(app: Any) -> None:
    """Sphinx calls this. The handler has to come before Furo's, which has priority 500."""
    app.connect("html-page-context", _open_only_the_current_branch, priority=400)


def _open_only_the_current_branch(_app: Any, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """The whole tree on each of some hundred and fifty pages would be half of the time and most of the size of the site."""
    toctree = context.get("toctree")
    if toctree is not None:
        context["toctree"] = lambda **options: toctree(**{**options, "collapse": True})
