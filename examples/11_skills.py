"""Skills: the agent knows what each is for, and reads its instructions only when a task needs them."""

import tempfile
from pathlib import Path

from stepwell import FilesystemBackend, create_deep_agent

LETTERS = """---
name: letters
description: Write letters to customers. Use it for every letter, reminder or reply.
---
Begin with "Good day". Name the order. At most three sentences. End with "Yours, the well makers".
"""
RECIPES = """---
name: recipes
description: Write recipes for the canteen, for 40 people, with shopping lists.
---
"""


def main(model=None):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {"letters": LETTERS, "recipes": RECIPES}.items():
            Path(folder, "skills", name).mkdir(parents=True)
            Path(folder, "skills", name, "SKILL.md").write_text(text, encoding="utf-8")

        agent = create_deep_agent(model, backend=FilesystemBackend(folder), skills=["/skills"])
        request = "Tell Ada that her pump (order 17) comes on Friday. Write the letter to /letter.md."
        result = agent.invoke({"messages": [("user", request)]})

        for message in result["messages"]:
            for call in getattr(message, "tool_calls", ()):
                print(f"{call['name']}: {call['args'].get('file_path', '')}")
        print(f"--- /letter.md\n{Path(folder, 'letter.md').read_text(encoding='utf-8')}")


if __name__ == "__main__":
    from start import start

    start(main)
