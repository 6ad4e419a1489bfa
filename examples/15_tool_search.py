"""A hundred tools that cost the model one: it searches for those it needs, and they stay loaded for the conversation."""

from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from stepwell import create_deep_agent

ROOMS = ("kitchen", "cellar", "attic", "garage", "garden", "bath", "hall", "study", "nursery", "porch")
THINGS = ("light", "heating", "window", "blind", "door", "alarm", "fan", "camera", "socket", "speaker")


def switch(room: str, thing: str) -> StructuredTool:
    def run(state: str) -> str:
        print(f"*** {thing} in the {room}: {state}")
        return f"The {thing} in the {room} is now {state}."

    return StructuredTool.from_function(
        run,
        name=f"set_{room}_{thing}",
        description=f"Set the {thing} in the {room}, for example to on, off, open or closed.",
        extras={"defer_loading": True},  # not listed until the model searches for it
    )


def main(model=None):
    tools = [switch(room, thing) for room in ROOMS for thing in THINGS]
    agent = create_deep_agent(model, tools, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "house"}}
    for wish in ("It is dark in the cellar.", "I am done there."):
        result = agent.invoke({"messages": [("user", wish)]}, thread)
        print(f"{wish} -> {result['messages'][-1].text}")


if __name__ == "__main__":
    from start import start

    start(main)
