"""Parses DuckDuckGo's page of results. It is foreign HTML, so it is parsed where pages are read (`reader_child`).

It only reports what is there; `engines/duckduckgo.py` interprets it.
"""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser

_MAX_ROWS = 200
_BOT_CHECKS = ("anomaly-modal", "anomaly.js", 'id="challenge-form"', "bots use duckduckgo too")
_VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})


@dataclass(frozen=True)
class ResultPage:
    """Rows of title, link and excerpt, without advertisements, and whether the page says "no results" or shows a bot check."""

    rows: tuple[tuple[str, str, str], ...]
    says_none: bool
    has_bot_check: bool


def read_result_page(html: str) -> ResultPage:
    page = _ResultPage()
    page.feed(html)
    page.close()
    rows = tuple((row.title, row.link, row.snippet) for row in page.rows if not row.ad)
    lower = html.lower()
    return ResultPage(rows[:_MAX_ROWS], page.says_none, any(mark in lower for mark in _BOT_CHECKS))


class _Row:
    def __init__(self, depth: int, ad: bool) -> None:
        self.depth = depth
        self.ad = ad
        self.title = self.link = self.snippet = ""


class _ResultPage(HTMLParser):
    """Rows of `div.result`: the link `a.result__a`, the excerpt `.result__snippet`. Texts have no markup."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[_Row] = []
        self.says_none = False
        self._depth = 0
        self._row: _Row | None = None
        self._field: tuple[str, int] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            return
        self._depth += 1
        values = {name: value or "" for name, value in attrs}
        classes = values.get("class", "").split()
        if "no-results" in classes or "result--no-result" in classes:
            self.says_none = True
        elif tag == "div" and "result" in classes:
            self._row = _Row(self._depth, "result--ad" in classes)
            self.rows.append(self._row)
        if self._row is None or self._field is not None:
            return
        if tag == "a" and "result__a" in classes:
            self._row.link = values.get("href", "")
            self._field = ("title", self._depth)
        elif "result__snippet" in classes:
            self._field = ("snippet", self._depth)

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        if self._field and self._field[1] >= self._depth:
            self._field = None
        if self._row and self._row.depth >= self._depth:
            self._row = None
        self._depth -= 1

    def handle_data(self, data: str) -> None:
        if self._row is None or self._field is None:
            return
        if self._field[0] == "title":
            self._row.title += data
        else:
            self._row.snippet += data
