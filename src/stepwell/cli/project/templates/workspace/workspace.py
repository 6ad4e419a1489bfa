"""An agent on the files of one folder. `make_graph` is what langgraph.json serves."""

from pathlib import Path

from stand_in import stand_in
from stepwell import FilesystemBackend, create_deep_agent
from stepwell.middleware.rewind import RewindMiddleware
from stepwell.models import find_model, resolve_model
from stepwell.settings import Settings

FILES = Path(__file__).parent / "files"
PROMPT = "You keep the user's files in order. Read before you change, and change only what was asked for."
ASK_BEFORE = {"write_file": True, "edit_file": True, "delete": True, "move": True}


def build(model, files=FILES, checkpointer=None):
    """The agent on a model and a folder of the caller's. It cannot reach anything outside of that folder."""
    return create_deep_agent(
        model,
        system_prompt=PROMPT,
        backend=FilesystemBackend(root_dir=files, virtual_mode=True),
        interrupt_on=ASK_BEFORE,
        middleware=[RewindMiddleware()],  # turns can be taken back, files included
        checkpointer=checkpointer,
        name="workspace",
    )


def make_graph():
    """The agent on the model you have connected, in .env or on the page; before that, on the script in stand_in.py."""
    settings = Settings.load()
    return build(resolve_model(None, settings=settings) if find_model(settings) else stand_in())
