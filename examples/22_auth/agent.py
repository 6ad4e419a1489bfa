"""An agent that knows who it works for. It needs no model: it answers with the name and the team of its user."""

from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]


def answer(state: State, config: RunnableConfig) -> dict[str, Any]:
    user = config["configurable"]["langgraph_auth_user"]
    return {"messages": [("ai", f"Hello {user['identity']} of team {user['team']}")]}


graph = StateGraph(State).add_node(answer).add_edge(START, "answer").add_edge("answer", END).compile()
