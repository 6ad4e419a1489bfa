"""Memory: what lies under /memories/ outlives the conversation, everything else ends with it."""

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore  # a SqliteStore or PostgresStore keeps memories across restarts

from stepwell import CompositeBackend, StateBackend, StoreBackend, create_deep_agent

PROMPT = """You are a cook. Before you answer, read what is in /memories/. When you learn something lasting about the person,
keep it there as one short file. Drafts go to /drafts/."""


def main(model=None):
    store = InMemoryStore()
    files = CompositeBackend(
        StateBackend(),  # the default: this conversation's own files
        # The longest prefix that fits a path decides. The namespace says whose memories these are.
        {"/memories/": StoreBackend(namespace=("cook", "user-1"))},
    )
    agent = create_deep_agent(model, system_prompt=PROMPT, backend=files, store=store, checkpointer=InMemorySaver())

    for day, words in [("monday", "I cannot eat nuts. What can I bake?"), ("tuesday", "Suggest a salad for tonight.")]:
        thread = {"configurable": {"thread_id": day}}  # a new thread: the agent knows nothing of the other one's messages
        result = agent.invoke({"messages": [("user", words)]}, thread)
        print(f"--- {day}\nyou: {words}\nagent: {result['messages'][-1].text}")
        print(f"(files of this conversation: {', '.join(result['files']) or 'none'})\n")

    print("--- remembered")
    for item in store.search(("cook", "user-1")):
        print(f"/memories{item.key}: {' '.join(item.value['content'])}")


if __name__ == "__main__":
    from start import start

    start(main)
