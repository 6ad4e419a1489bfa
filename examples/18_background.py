"""Background subagents: two researchers work while the agent goes on, and the agent hears of each when it is done."""

import asyncio

from langgraph.checkpoint.memory import InMemorySaver

from stepwell import AsyncSubAgentMiddleware, create_deep_agent

RESEARCHER = {
    "name": "researcher",
    "description": "finds out one thing about a place; takes a while.",
    "system_prompt": "Answer in one sentence.",
}
REQUEST = ("user", "What are the stepwells of Abhaneri and Patan known for? Research both in the background.")
THREAD = {"configurable": {"thread_id": "trip"}}


def look_up(place: str) -> str:
    """Look up a place."""
    return {"Abhaneri": "13 storeys", "Patan": "500 sculptures"}.get(place, "nothing known")


async def converse(model):  # a server wakes the agent by itself; in a process, `notify` gets the message for it
    done = asyncio.Queue()
    researchers = AsyncSubAgentMiddleware(async_subagents=[RESEARCHER], notify=lambda report, told: done.put_nowait(told))
    agent = create_deep_agent(model, [look_up], middleware=[researchers], checkpointer=InMemorySaver())
    await done.put(REQUEST)
    for _ in range(3):
        final = await agent.ainvoke({"messages": [await done.get()]}, THREAD)
        print(final["messages"][-1].text)


def main(model=None):
    asyncio.run(converse(model))


if __name__ == "__main__":
    from start import start

    start(main)
