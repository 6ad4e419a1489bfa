"""Sphinx's configuration of the documentation site; `make docs` calls it with the pages that `staging.py` has put together."""

from __future__ import annotations

from importlib.metadata import version as version_of

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
