"""Memory files: what is in /AGENTS.md is known in every conversation, and the agent may add to it."""

import tempfile
from pathlib import Path

from langgraph.checkpoint.memory import InMemorySaver

from stepwell import FilesystemBackend, create_deep_agent


def main(model=None):
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder, "AGENTS.md")
        notes.write_text("# The garden\n- Beds are numbered 1 to 4.\n<!-- only for people -->\n", encoding="utf-8")
        agent = create_deep_agent(model, backend=FilesystemBackend(folder), memory=["/AGENTS.md"], checkpointer=InMemorySaver())

        turns = [
            ("spring", "I have sown carrots in bed 2. Remember that."),
            ("summer", "What grows in bed 2?"),  # another conversation: it knows only what the file says
        ]
        for thread, words in turns:
            config = {"configurable": {"thread_id": thread}}
            result = agent.invoke({"messages": [("user", words)]}, config)
            print(f"you: {words}\nagent: {result['messages'][-1].text}\n")
        print(f"--- /AGENTS.md\n{notes.read_text(encoding='utf-8')}")


if __name__ == "__main__":
    from start import start

    start(main)
