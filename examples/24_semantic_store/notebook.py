"""A notebook that is searched by meaning: `remember ...` stores a note, anything else finds the closest one. It needs no model and no key.

stepwell serve --graphs examples/24_semantic_store/langgraph.json
"""

import uuid

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime

NOTES = ("notes",)


async def notebook(state: MessagesState, runtime: Runtime) -> MessagesState:
    said = state["messages"][-1].text
    if said.startswith("remember "):
        await runtime.store.aput(NOTES, str(uuid.uuid4()), {"text": said.removeprefix("remember ")})
        return {"messages": [AIMessage("I will remember that.")]}
    found = await runtime.store.asearch(NOTES, query=said, limit=1)
    answer = f"{found[0].value['text']} ({found[0].score:.2f})" if found else "I know nothing yet."
    return {"messages": [AIMessage(answer)]}


graph = StateGraph(MessagesState).add_node(notebook).add_edge(START, "notebook").compile()
