"""A graph is described to clients as LangGraph's own server does. The expected values were seen there for the same graph."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from langgraph.func import entrypoint
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel
from typing_extensions import TypedDict

from stepwell.errors import InvalidRequestError
from stepwell.runs.graphs.schemas import graph_drawing, graph_schemas, subgraph_schemas


class Context(TypedDict, total=False):
    model: str


class Inner(TypedDict):
    words: Annotated[list[str], operator.add]


@dataclass
class Point:
    x: int
    y: int = 0


class Note(BaseModel):
    text: str


class State(TypedDict):
    words: Annotated[list[str], operator.add]
    point: Point
    note: Note


class Closed:
    """Nothing that JSON could hold."""


class Odd(TypedDict):
    closed: Closed


def _leaf(state: Inner) -> dict[str, Any]:
    return {"words": ["leaf"]}


def _one(state: State) -> dict[str, Any]:
    return {"words": ["one"]}


LEAF = StateGraph(Inner).add_node("leaf", _leaf).add_edge(START, "leaf").compile(name="leafg")
INNER = StateGraph(Inner).add_node("a", _leaf).add_node("deep", LEAF).add_edge(START, "a").add_edge("a", "deep").compile()
NESTED = (
    StateGraph(State, context_schema=Context)
    .add_node("one", _one)
    .add_node("sub", INNER)
    .add_edge(START, "one")
    .add_conditional_edges("one", lambda state: "sub", {"sub": "sub", "stop": END})
    .add_edge("sub", END)
    .compile(name="nested")
)


@entrypoint()
def func(n: int) -> str:
    return str(n)


POINT = {
    "properties": {"x": {"title": "X", "type": "integer"}, "y": {"default": 0, "title": "Y", "type": "integer"}},
    "required": ["x"],
    "title": "Point",
    "type": "object",
}
NOTE = {"properties": {"text": {"title": "Text", "type": "string"}}, "required": ["text"], "title": "Note", "type": "object"}
WORDS = {"items": {"type": "string"}, "title": "Words", "type": "array"}
CONTEXT = {"properties": {"model": {"title": "Model", "type": "string"}}, "title": "Context", "type": "object"}
INNER_IO = {"properties": {"words": WORDS}, "required": ["words"], "title": "Inner", "type": "object"}


def test_the_schemas_are_those_of_langgraphs_server() -> None:
    whole = {
        "$defs": {"Note": NOTE, "Point": POINT},
        "properties": {"words": WORDS, "point": {"$ref": "#/$defs/Point"}, "note": {"$ref": "#/$defs/Note"}},
        "required": ["words", "point", "note"],
        "title": "State",
        "type": "object",
    }
    state = {
        "$defs": {"Note": NOTE, "Point": POINT},
        "properties": {
            "words": {"default": None, **WORDS},
            "point": {"$ref": "#/$defs/Point", "default": None},
            "note": {"$ref": "#/$defs/Note", "default": None},
        },
        "title": "nested_state",
        "type": "object",
    }
    assert graph_schemas("nested", NESTED) == {
        "graph_id": "nested",
        "input_schema": whole,
        "output_schema": whole,
        "state_schema": state,
        "config_schema": CONTEXT,
        "context_schema": CONTEXT,
    }


def test_a_function_graph_has_schemas_too() -> None:
    assert graph_schemas("func", func) == {
        "graph_id": "func",
        "input_schema": {"title": "LangGraphInput", "type": "integer"},
        "output_schema": {"title": "LangGraphOutput", "type": "string"},
        "state_schema": {
            "properties": {"__end__": {"default": None, "title": "End", "type": "string"}},
            "title": "LangGraphState",
            "type": "object",
        },
        "config_schema": {},
        "context_schema": None,
    }


def test_a_schema_that_cannot_be_generated_is_null_and_the_rest_is_there() -> None:
    builder = StateGraph(Odd, input_schema=Inner, output_schema=Inner)
    graph = builder.add_node("a", lambda state: {}).add_edge(START, "a").compile()

    described = graph_schemas("odd", graph)

    assert described["state_schema"] is None
    assert described["input_schema"]["properties"] == {"words": WORDS}


def _node(name: str) -> dict[str, Any]:
    return {"id": name, "type": "runnable", "data": {"name": name}}


def test_the_drawing_is_that_of_langgraphs_server() -> None:
    assert graph_drawing(NESTED) == {
        "nodes": [_node("__start__"), _node("one"), _node("sub"), {"id": "__end__"}],
        "edges": [
            {"source": "__start__", "target": "one"},
            {"source": "one", "target": "__end__", "data": "stop", "conditional": True},
            {"source": "one", "target": "sub", "conditional": True},
            {"source": "sub", "target": "__end__"},
        ],
    }


@pytest.mark.parametrize(
    ("xray", "shown"),
    [
        (False, {"one", "sub"}),
        (1, {"one", "sub:a", "sub:deep"}),
        (2, {"one", "sub:a", "sub:deep:leaf"}),
        (True, {"one", "sub:a", "sub:deep:leaf"}),
    ],
)
def test_xray_shows_subgraphs_to_the_depth_that_is_asked_for(xray: bool | int, shown: set[str]) -> None:
    nodes = {node["id"] for node in graph_drawing(NESTED, xray)["nodes"]}
    assert nodes - {"__start__", "__end__"} == shown


@pytest.mark.parametrize("xray", [0, -1])
def test_a_depth_below_one_is_refused(xray: int) -> None:
    with pytest.raises(InvalidRequestError, match="a depth of 1 or more"):
        graph_drawing(NESTED, xray)


@pytest.mark.parametrize(
    ("namespace", "recurse", "found"),
    [
        (None, False, {"sub"}),
        (None, True, {"sub", "sub|deep"}),
        ("sub", False, {"sub"}),
        ("sub", True, {"sub"}),
        ("sub|deep", False, set()),
        ("sub|deep", True, {"sub|deep"}),
        ("none", True, set()),
    ],
)
def test_subgraphs_are_found_as_langgraphs_server_finds_them(namespace: str | None, recurse: bool, found: set[str]) -> None:
    described = subgraph_schemas("nested", NESTED, namespace, recurse)

    assert set(described) == found
    for schemas in described.values():
        assert (schemas["graph_id"], schemas["input_schema"], schemas["config_schema"]) == ("nested", INNER_IO, {})
