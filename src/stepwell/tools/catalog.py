"""The tools that an agent has but does not offer yet, and which of them fit a query.

A tool is deferred if its `extras` say `{"defer_loading": True}`, LangChain's convention. Names count more than descriptions and the names
of arguments; a query that names tools gets exactly these.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel

from stepwell.word_scores import Terms, WordScores
from stepwell.words import is_function, stem, words

DEFER = "defer_loading"
MAX_LOADED = 5
"""How many tools one query loads."""
MAX_SELECTED = 20
"""How many tools can be loaded by their names at once."""
SELECT = "select:"

_NAME_WEIGHT = 3
_WEAK = 0.25
"""A tool that scores below this share of the best one is left out, because every loaded tool costs tokens from then on."""
_DESCRIBED_CHARS = 2000
_LISTED_CHARS = 240
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NAME = re.compile(r"[A-Za-z0-9_.\-]+")


def is_deferred(tool: object) -> bool:
    """Whether a tool is loaded only when it is searched for."""
    return isinstance(tool, BaseTool) and isinstance(tool.extras, dict) and tool.extras.get(DEFER) is True


def defer(tool: BaseTool) -> BaseTool:
    """The tool, marked as deferred."""
    return tool.model_copy(update={"extras": {**(tool.extras or {}), DEFER: True}})


@dataclass(frozen=True, slots=True)
class Found:
    """What a query found: tools, best first, and names that were asked for and do not exist."""

    tools: list[BaseTool]
    unknown: list[str]


class Catalog:
    """Deferred tools by name. Its index is made when it is first searched."""

    def __init__(self, tools: Iterable[BaseTool]) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self._as_loaded: dict[str, BaseTool] = {}

    def loaded(self, names: Iterable[str]) -> list[BaseTool]:
        """The tools with these names as a model is offered them, without the mark, which some providers would not accept. Names that
        are not there any more are left out."""
        return [self._unmarked(self.tools[name]) for name in names if name in self.tools]

    def find(self, query: str) -> Found:
        """The tools that a query means: those it names, or else the best matches."""
        if query.strip().casefold().startswith(SELECT):
            wanted = [name.strip() for name in query.strip()[len(SELECT) :].split(",") if name.strip()]
            known = [self._exact[name.casefold()] for name in wanted if name.casefold() in self._exact]
            return Found(_distinct(known), [name for name in wanted if name.casefold() not in self._exact])
        asked = _NAME.findall(query)
        named = _distinct(self._exact[name.casefold()] for name in asked if name.casefold() in self._exact)
        if named and len(named) == len(asked):
            return Found(named, [])
        return Found(_distinct([*named, *self._best(query)])[:MAX_LOADED], [])

    def summary(self) -> str:
        """What there is, in a few words: all names if they are few, or else where the tools come from."""
        names = ", ".join(self.tools)
        if len(names) <= _LISTED_CHARS:
            return names
        servers = list(dict.fromkeys(str(each) for tool in self.tools.values() if (each := getattr(tool, "server", None))))
        text = ", ".join(servers)
        return text if len(text) <= _LISTED_CHARS else text[:_LISTED_CHARS].rsplit(", ", 1)[0] + " and others"

    def _best(self, query: str) -> list[BaseTool]:
        tools = list(self.tools.values())
        scores = self._scores.score(_terms(query))
        best = sorted((at for at, score in enumerate(scores) if score >= _WEAK), key=lambda at: -scores[at])
        return [tools[at] for at in best[:MAX_LOADED]]

    def _unmarked(self, tool: BaseTool) -> BaseTool:
        known = self._as_loaded.get(tool.name)
        if known is None:
            extras = {key: value for key, value in (tool.extras or {}).items() if key != DEFER}
            known = self._as_loaded[tool.name] = tool.model_copy(update={"extras": extras or None})
        return known

    @cached_property
    def _scores(self) -> WordScores:
        return WordScores([_terms_of_tool(tool) for tool in self.tools.values()])

    @cached_property
    def _exact(self) -> dict[str, BaseTool]:
        return {name.casefold(): tool for name, tool in self.tools.items()}


class CatalogMemory:
    """The catalog of the latest list of tools. Lists are compared tool by tool, because LangGraph makes a new list for every call."""

    def __init__(self) -> None:
        self._known: tuple[Sequence[BaseTool], Catalog] = ((), Catalog(()))

    def of(self, tools: Sequence[object]) -> Catalog:
        deferred = [tool for tool in tools if isinstance(tool, BaseTool) and is_deferred(tool)]
        known, catalog = self._known
        if len(known) != len(deferred) or any(one is not other for one, other in zip(known, deferred, strict=True)):
            catalog = Catalog(deferred)
            self._known = (deferred, catalog)
        return catalog


def _distinct(tools: Iterable[BaseTool]) -> list[BaseTool]:
    return list({tool.name: tool for tool in tools}.values())


def _terms_of_tool(tool: BaseTool) -> Terms:
    terms = Counter({term: count * _NAME_WEIGHT for term, count in _terms(tool.name).items()})
    terms.update(_terms(tool.description[:_DESCRIBED_CHARS]))
    terms.update(_terms(" ".join(_argument_names(tool))))
    return terms


def _terms(text: str) -> Counter[str]:
    return Counter(stem(word.text) for word in words(_CAMEL.sub(" ", text)) if not is_function(word.text))


def _argument_names(tool: BaseTool) -> list[str]:
    schema: Any = tool.args_schema
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        return [str(name) for name in properties] if isinstance(properties, Mapping) else []
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return list(schema.model_fields)  # `tool.args` would build a JSON schema, which takes a second for a thousand tools
    return list(tool.args)
