"""A graph that does what the conformance suite of A2A asks of an agent, by the prefix of a message's id."""

import asyncio
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

TEXTS = {
    "tck-complete-task": "Hello from TCK",
    "tck-artifact-text": "Generated text content",
    "tck-stream-001": "Stream hello from TCK",
    "tck-stream-003": "Stream task lifecycle",
    "tck-stream-ordering-001": "Ordered output",
    "tck-stream-artifact-text": "Streamed text content",
    "tck-stream-artifact-chunked": "chunk-1 chunk-2",
}


class State(MessagesState, total=False):
    structured_response: Any


async def answer(state: State) -> State:
    name = state["messages"][-1].id or ""
    if name.startswith("tck-input-required"):
        interrupt({"question": "What do you mean?"})
    if name.startswith("tck-reject-task"):
        raise ValueError("rejected")
    if name.startswith(("tck-artifact-file-url",)):
        return {
            "messages": [
                AIMessage(
                    [
                        {
                            "type": "file",
                            "url": "https://example.com/output.txt",
                            "mime_type": "text/plain",
                            "filename": "output.txt",
                        }
                    ]
                )
            ]
        }
    if "artifact-file" in name:
        return {
            "messages": [
                AIMessage([{"type": "file", "base64": "aGVsbG8=", "mime_type": "text/plain", "filename": "output.txt"}])
            ]
        }
    if "artifact-data" in name:
        return {"messages": [AIMessage("")], "structured_response": {"key": "value", "count": 42}}
    if name.startswith("test-resubscribe"):
        await asyncio.sleep(8)
    said = next((text for prefix, text in TEXTS.items() if name.startswith(prefix)), "Hello from TCK")
    return {"messages": [AIMessage(said)]}


graph = StateGraph(State).add_node("answer", answer).add_edge(START, "answer").add_edge("answer", END).compile()
