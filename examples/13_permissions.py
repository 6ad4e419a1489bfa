"""Permissions: what the agent never sees, what it may only read, what it asks about first, and a run that only plans."""

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from stepwell import FilesystemPermission, create_deep_agent

FILES = {"/notes/monday.md": "Call the roofer.", "/private/diary.md": "Dear diary", "/templates/letter.md": "Dear …"}
RULES = [  # the first rule that matches wins; what no rule matches is allowed
    FilesystemPermission(operations=["read", "write"], paths=["/private/**"], mode="deny"),
    FilesystemPermission(operations=["write"], paths=["/templates/**"], mode="deny"),
    FilesystemPermission(operations=["write"], paths=["/letters/**"], mode="interrupt"),
]


def main(model=None):
    agent = create_deep_agent(model, permissions=RULES, checkpointer=InMemorySaver())
    request = {"messages": [("user", "List all files, then write a letter to the roofer from the template to /letters/.")]}

    config = {"configurable": {"thread_id": "plan", "permission_mode": "plan"}}
    planned = agent.invoke({**request, "files": FILES}, config)
    print("Planned:", planned["messages"][-1].text, "Files changed:", sorted(planned["files"].keys() - FILES.keys()))

    config = {"configurable": {"thread_id": "work"}}
    state = agent.invoke({**request, "files": FILES}, config)
    while questions := state.get("__interrupt__"):
        asked = questions[0].value["action_requests"]
        for action in asked:
            print("Asks:", action["name"], action["args"].get("file_path"))
        answers = {"decisions": [{"type": "approve"} for _ in asked]}
        state = agent.invoke(Command(resume={questions[0].id: answers}), config)
    print("Done:", state["messages"][-1].text, "Files:", sorted(state["files"]))


if __name__ == "__main__":
    from start import start

    start(main)
