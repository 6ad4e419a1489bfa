"""Files on your disk: the agent works in one folder, sees it as `/`, and cannot leave it."""

import tempfile
from pathlib import Path

from stepwell import FilesystemBackend, create_deep_agent

NOTES = {
    "monday.txt": "Roof: two tiles are loose. Call the roofer before Friday.\nThe new lamp hangs.",
    "tuesday.txt": "Cellar dry again.\nTODO buy a filter for the pump.",
}


def main(model=None):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "house")
        folder.mkdir()
        for name, text in NOTES.items():
            folder.joinpath(name).write_text(text, encoding="utf-8")
        Path(place, "secret.txt").write_text("outside of the folder", encoding="utf-8")

        backend = FilesystemBackend(root_dir=folder)
        agent = create_deep_agent(model, backend=backend)
        request = "Collect from the notes what is left to do in /todo.md. Move monday.txt to /archive, and delete tuesday.txt."
        result = agent.invoke({"messages": [("user", request)]})

        print(result["messages"][-1].text)
        for path in sorted(folder.rglob("*.*")):
            print(f"\n--- on disk: {path.relative_to(folder)}\n{path.read_text(encoding='utf-8')}")
        # The same verbs that the agent's tools use. A refusal is an answer that the model can act on, not an exception.
        print("\n--- outside:", backend.read("/../secret.txt"))
        print("--- outside:", backend.move("/todo.md", "/../todo.md").error)


if __name__ == "__main__":
    from start import start

    start(main)
