"""An agent that reports on a schedule. It needs no model: it says which cron has started it. Its threads live 30 days (langgraph.json)."""

from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]


def report(state: State, config: RunnableConfig) -> dict[str, Any]:
    asked = state["messages"][-1].content
    return {"messages": [("ai", f"{asked} Nothing new, says cron {config['configurable'].get('cron_id', 'nobody')}.")]}


graph = StateGraph(State).add_node(report).add_edge(START, "report").add_edge("report", END).compile()
