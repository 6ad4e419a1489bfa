"""Parses lists of papers: arXiv's Atom feed and PubMed's XML. They are foreign XML, so they are parsed where pages are read
(`reader_child`), by a parser that refuses every declared entity and loads nothing.

It only reports what is there; `engines/arxiv.py` and `engines/pubmed.py` interpret it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from stepwell.errors import FetchFailedError

_MAX_PAPERS = 200
_MAX_DEPTH = 100
_MAX_TEXT = 20_000
_MAX_AUTHORS = 4
"""Authors that are named; of more, the rest are "et al."."""


@dataclass(frozen=True)
class PaperList:
    """Rows of title, address or PubMed id, and the abstract with authors and year before it."""

    form: str
    """The root element: `feed` for Atom, `PubmedArticleSet`."""
    rows: tuple[tuple[str, str, str], ...]
    total: str
    """How many papers the search found, if the list says so."""


def read_papers(content: bytes) -> PaperList:
    """Parse a list. Raises `FetchFailedError` for XML that is malformed or declares entities."""
    reading = _Reading()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = reading.start, reading.end
    parser.CharacterDataHandler = reading.text
    parser.EntityDeclHandler = _refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise FetchFailedError("The list of papers is not well-formed XML.", "content") from error
    return PaperList(reading.form, tuple(paper.row() for paper in reading.papers), reading.total)


def _refuse(*_: object) -> None:
    raise FetchFailedError("The list of papers declares entities, which no honest one does.", "content")


@dataclass
class _Paper:
    fields: dict[str, str] = field(default_factory=dict)
    authors: list[str] = field(default_factory=list)

    def row(self) -> tuple[str, str, str]:
        named = ", ".join(self.authors[: _MAX_AUTHORS - 1]) if len(self.authors) >= _MAX_AUTHORS else ", ".join(self.authors)
        named += " et al." if len(self.authors) >= _MAX_AUTHORS else ""
        year = self.fields.get("year", "").strip()[:4]
        about = " ".join(filter(None, (named, f"({year})" if year else "")))
        abstract = " ".join(self.fields.get("abstract", "").split())
        return (
            " ".join(self.fields.get("title", "").split()),
            self.fields.get("link", "").strip() or self.fields.get("id", "").strip(),
            ": ".join(filter(None, (about, abstract))),
        )


# Where a field of a paper is, by the last elements of its path. Names are without their namespace prefix.
_PLACES = {
    "entry/title": "title", "entry/summary": "abstract", "entry/id": "id", "entry/published": "year", "author/name": "author",
    "Article/ArticleTitle": "title", "Abstract/AbstractText": "abstract", "MedlineCitation/PMID": "id",
    "PubDate/Year": "year", "PubDate/MedlineDate": "year", "Author/LastName": "author", "Author/CollectiveName": "author",
}  # fmt: skip
_PAPERS = ("entry", "PubmedArticle")


class _Reading:
    """Collects papers while the parser runs. Text inside a field's own markup, such as `<i>`, belongs to the field."""

    def __init__(self) -> None:
        self.form, self.total = "", ""
        self.papers: list[_Paper] = []
        self._path: list[str] = []
        self._paper: _Paper | None = None
        self._open: tuple[str, int] | None = None
        self._text: list[str] = []
        self._length = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        self._path.append(name)
        if len(self._path) > _MAX_DEPTH:
            raise FetchFailedError("The list of papers is nested too deeply.", "content")
        self.form = self.form or name
        if name in _PAPERS:
            self._paper = _Paper()
        elif self._paper and name == "link" and attributes.get("rel") == "alternate":
            self._paper.fields.setdefault("link", attributes.get("href", ""))
        place = "/".join(self._path[-2:])
        if self._open is None and (place == "feed/totalResults" or (self._paper and place in _PLACES)):
            self._open, self._text, self._length = (_PLACES.get(place, "total"), len(self._path)), [], 0

    def text(self, data: str) -> None:
        if self._open and self._length < _MAX_TEXT:
            self._text.append(data[: _MAX_TEXT - self._length])
            self._length += len(data)

    def end(self, _name: str) -> None:
        if self._open and self._open[1] == len(self._path):
            self._keep(self._open[0], "".join(self._text))
            self._open = None
        if self._path.pop() in _PAPERS and self._paper:
            if len(self.papers) < _MAX_PAPERS:
                self.papers.append(self._paper)
            self._paper = None

    def _keep(self, name: str, text: str) -> None:
        if self._paper is None:
            self.total = text.strip()
        elif name == "author":
            if len(self._paper.authors) < _MAX_AUTHORS:
                self._paper.authors.append(" ".join(text.split()))
        elif name == "abstract":  # PubMed's has several parts: background, methods, results
            self._paper.fields[name] = f"{self._paper.fields.get(name, '')} {text}"[:_MAX_TEXT]
        else:
            self._paper.fields.setdefault(name, text)
