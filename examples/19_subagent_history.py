"""Subagent history: read what a subagent did, continue its task later, and ask a copy of the agent that knows the conversation."""

from langgraph.checkpoint.memory import InMemorySaver

from stepwell import create_deep_agent, list_transcripts

SUBAGENTS = [
    {
        "name": "researcher",
        "description": "finds out one thing",
        "system_prompt": "Answer in two sentences, and say how sure you are.",
        "continuable": True,  # its results name an id, and task(..., task_id=) goes on from there
    },
    {"name": "critic", "description": "looks at this conversation with fresh eyes", "mode": "fork"},
]
REQUESTS = (
    "Have a researcher find out how deep the stepwell of Chand Baori is.",
    "Ask the same researcher, who remembers it, how many steps it has.",
    "Ask the critic which of the two answers is weaker, and tell me.",
)


def main(model=None):
    saver = InMemorySaver()
    agent = create_deep_agent(model, subagents=SUBAGENTS, checkpointer=saver)
    for request in REQUESTS:
        result = agent.invoke({"messages": [("user", request)]}, {"configurable": {"thread_id": "wells"}})
        print(f"> {request}\n{result['messages'][-1].text}\n")

    for task in list_transcripts(saver, "wells"):
        print(f"--- {task.name}" + (f", continuing {task.continues}" if task.continues else ""))
        for message in task.own:  # a fork's own messages come after its parent's conversation
            print(f"{message.type}: {message.text[:200]}")


if __name__ == "__main__":
    from start import start

    start(main)
