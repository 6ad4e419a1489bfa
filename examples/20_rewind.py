"""Rewind: files on disk and the conversation go back to before a message, with a preview, and the rewind can be undone."""

import tempfile
from pathlib import Path

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from stepwell import FilesystemBackend, RewindMiddleware, create_deep_agent, rewind


def main(model=None):
    with tempfile.TemporaryDirectory() as folder:
        letter = Path(folder, "letter.md")
        letter.write_text("Dear roofer,\nplease come on Monday.\n")
        agent = create_deep_agent(
            model, backend=FilesystemBackend(folder), middleware=[RewindMiddleware()], checkpointer=InMemorySaver()
        )
        thread = {"configurable": {"thread_id": "letter"}}
        for number, text in enumerate(["In /letter.md, change Monday to Tuesday.", "Delete /letter.md."]):
            agent.invoke({"messages": [HumanMessage(text, id=f"message-{number}")]}, thread)
        print("After two turns:", letter.read_text() if letter.exists() else "(no letter)")

        seen = rewind(agent, thread, "message-1", dry_run=True)
        print("Going back would change:", seen["files_changed"], f"+{seen['insertions']} -{seen['deletions']}")

        done = rewind(agent, thread, "message-1")
        print("Before the second:", letter.read_text())

        rewind(agent, thread, "message-0")
        print("Before the first:", letter.read_text())

        rewind(agent, thread, done["rewind_id"])
        print("Undone:", letter.read_text() if letter.exists() else "(no letter)")


if __name__ == "__main__":
    from start import start

    start(main)
