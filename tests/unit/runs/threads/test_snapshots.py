"""A thread's state has on the wire the form that LangGraph's SDK reads, and holds nothing that is not a client's business."""

from __future__ import annotations

import operator
from typing import Annotated, Any

import orjson
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from stepwell.runs.interrupts import root_interrupts
from stepwell.runs.threads.snapshots import empty_state, status_of, thread_state

CONFIG: RunnableConfig = {"configurable": {"thread_id": "t1"}}
NAMES = {"values", "next", "tasks", "metadata", "created_at", "checkpoint", "parent_checkpoint", "interrupts"}
OLD_NAMES = {"checkpoint_id", "parent_checkpoint_id"}


class Words(TypedDict, total=False):
    way: str
    words: Annotated[list[str], operator.add]


def _inner(state: Words) -> Words:
    return {"words": [interrupt({"question": "inside?"})]}


INNER = StateGraph(Words).add_node("ask", _inner).add_edge(START, "ask").compile()


def _outer(state: Words) -> Words:
    match state["way"]:
        case "fails":
            raise ValueError("no such word")
        case "asks":
            return {"words": [interrupt({"question": "which?"})]}
    return {"words": ["outer"]}


def _way(state: Words) -> str:
    return "inner" if state["way"] == "inner" else "outer"


def _graph() -> Any:
    graph = (
        StateGraph(Words).add_node("first", lambda _: {"words": ["first"]}).add_node("outer", _outer).add_node("inner", INNER)
    )
    graph.add_edge(START, "first").add_conditional_edges("first", _way, ["outer", "inner"])
    return graph.compile(checkpointer=InMemorySaver())


async def _after(way: str) -> Any:
    graph = _graph()
    try:
        await graph.ainvoke({"way": way, "words": []}, CONFIG)
    except ValueError:
        assert way == "fails"
    return graph


async def test_a_thread_without_checkpoints_has_the_empty_state() -> None:
    state = thread_state(await _graph().aget_state(CONFIG))
    assert state == empty_state()
    assert state["values"] == {}
    assert state["checkpoint"] is None


async def test_a_finished_thread_has_values_and_nothing_next() -> None:
    snapshot = await (await _after("ends")).aget_state(CONFIG)
    state = thread_state(snapshot)
    assert state.keys() == NAMES | OLD_NAMES
    assert state["values"] == {"way": "ends", "words": ["first", "outer"]}
    assert (state["next"], state["tasks"], state["interrupts"]) == ([], [], [])
    assert state["checkpoint"].keys() == {"thread_id", "checkpoint_ns", "checkpoint_id"}
    assert state["checkpoint"]["checkpoint_id"] == state["checkpoint_id"]
    assert state["parent_checkpoint"]["checkpoint_id"] == state["parent_checkpoint_id"] != state["checkpoint_id"]
    assert (state["metadata"]["source"], state["metadata"]["step"]) == ("loop", 2)
    assert state["created_at"] == snapshot.created_at
    assert status_of(snapshot) == "idle"


async def test_history_tells_what_each_task_gave_and_where_it_began() -> None:
    graph = await _after("ends")
    states = [thread_state(snapshot) async for snapshot in graph.aget_state_history(CONFIG)]
    assert [state["next"] for state in states] == [[], ["outer"], ["first"], ["__start__"]]
    (task,) = states[1]["tasks"]
    assert (task["name"], task["result"]) == ("outer", {"words": ["outer"]})
    assert task["path"] == ["__pregel_pull", "outer"]
    assert states[-1]["parent_checkpoint"] is None


async def test_a_question_stands_in_its_task_and_in_the_state() -> None:
    snapshot = await (await _after("asks")).aget_state(CONFIG)
    state = thread_state(snapshot)
    (question,) = state["interrupts"]
    assert question["value"] == {"question": "which?"}
    assert question.keys() == {"id", "value"}
    (task,) = state["tasks"]
    assert task == {
        "id": snapshot.tasks[0].id,
        "name": "outer",
        "path": ["__pregel_pull", "outer"],
        "error": None,
        "interrupts": [question],
        "checkpoint": None,
        "state": None,
        "result": None,
    }
    (kept,) = root_interrupts(snapshot)
    assert (kept.interrupt_id, kept.value, kept.task_id) == (question["id"], question["value"], task["id"])
    assert status_of(snapshot) == "interrupted"


async def test_a_failed_task_names_its_error() -> None:
    snapshot = await (await _after("fails")).aget_state(CONFIG)
    state = thread_state(snapshot)
    assert state["next"] == ["outer"]
    assert state["tasks"][0]["error"] == "ValueError('no such word')"
    assert status_of(snapshot) == "error"


async def test_a_subgraph_is_pointed_to_or_nested() -> None:
    graph = await _after("inner")
    pointed = thread_state(await graph.aget_state(CONFIG))["tasks"][0]
    assert pointed["state"] is None
    assert pointed["checkpoint"] == {"thread_id": "t1", "checkpoint_ns": f"inner:{pointed['id']}"}
    nested = thread_state(await graph.aget_state(CONFIG, subgraphs=True))["tasks"][0]
    assert nested["checkpoint"] is None
    inside = nested["state"]
    assert inside["next"] == ["ask"]
    assert inside["interrupts"] == nested["interrupts"] != []
    assert inside["checkpoint"]["checkpoint_ns"] == pointed["checkpoint"]["checkpoint_ns"]
    assert inside["checkpoint"]["checkpoint_map"].keys() == {"", pointed["checkpoint"]["checkpoint_ns"]}


async def test_the_whole_state_is_json_also_with_messages() -> None:
    graph = StateGraph(MessagesState).add_node("reply", lambda _: {"messages": [AIMessage("hello", id="a")]})
    chat = graph.add_edge(START, "reply").compile(checkpointer=InMemorySaver())
    await chat.ainvoke({"messages": [HumanMessage("hi", id="h")]}, CONFIG)
    state = thread_state(await chat.aget_state(CONFIG))
    assert orjson.loads(orjson.dumps(state)) == state
    assert [(message["type"], message["content"], message["id"]) for message in state["values"]["messages"]] == [
        ("human", "hi", "h"),
        ("ai", "hello", "a"),
    ]


async def test_a_config_lends_nothing_but_the_names_of_a_checkpoint() -> None:
    graph = _graph()
    config: RunnableConfig = {"configurable": {"thread_id": "t1", "openai_api_key": "sk-1", "user": "u", "__mine": 1}}
    await graph.ainvoke({"way": "asks", "words": []}, config)
    text = orjson.dumps(thread_state(await graph.aget_state(config, subgraphs=True))).decode()
    assert "sk-1" not in text
    assert "__mine" not in text
    assert '"user":"u"' in text
