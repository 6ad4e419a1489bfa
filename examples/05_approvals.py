"""Approvals: the run stops before a tool that you named, for as long as you like, and goes on with your decision."""

from langgraph.checkpoint.memory import InMemorySaver  # SqliteSaver keeps a waiting run across restarts
from langgraph.types import Command

from stepwell import create_deep_agent


def send_letter(to: str, text: str) -> str:
    """Send a letter."""
    print(f"*** sent to {to}: {text}")
    return "sent"


def decide(request, ask):
    """What a person says about one call: approve it, reject it with a reason, or edit its arguments."""
    answer = ask(f"{request['name']} {request['args']}\n[y]es, [n]o and why, or another text for the letter: ").strip()
    if answer in ("y", "yes"):
        return {"type": "approve"}
    if answer.split(" ")[0] in ("", "n", "no"):
        return {"type": "reject", "message": answer.partition(" ")[2] or "The person said no."}
    return {"type": "edit", "edited_action": {"name": request["name"], "args": {**request["args"], "text": answer}}}


def main(model=None, ask=input):
    agent = create_deep_agent(model, [send_letter], interrupt_on={"send_letter": True}, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "letters"}}
    request = "Write to the landlord that the heating is cold, and ask the neighbour whether theirs is too. Two lines each."
    result = agent.invoke({"messages": [("user", request)]}, thread)
    while waiting := result.get("__interrupt__"):
        # One interrupt may hold several requests. Answers go by the interrupt's id, so none can reach the wrong question.
        answers = {one.id: {"decisions": [decide(each, ask) for each in one.value["action_requests"]]} for one in waiting}
        result = agent.invoke(Command(resume=answers), thread)
    print(result["messages"][-1].text)


if __name__ == "__main__":
    from start import start

    start(main)
