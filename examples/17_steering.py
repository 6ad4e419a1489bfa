"""Steering: a message enters a run while it works, before the agent's next model call."""

import threading

from stepwell import Steering, create_deep_agent

steering = Steering()
working, answered = threading.Event(), threading.Event()


def survey(place: str) -> str:
    """Measure the depth of a well. This takes a while."""
    working.set()
    answered.wait(timeout=10)
    return f"{place}: 27 metres"


def someone_has_second_thoughts():
    """In a program of yours this is another request, a button, or a second thread."""
    working.wait(timeout=60)
    place = steering.send("Give the depth in feet, please.")
    print(f"*** sent while it works, number {place} in line")
    answered.set()


def main(model=None):
    agent = create_deep_agent(model, [survey], system_prompt="You survey stepwells.")
    threading.Thread(target=someone_has_second_thoughts, daemon=True).start()
    result = agent.invoke({"messages": [("user", "How deep is Chand Baori?")]}, steering.config())
    for message in result["messages"]:
        print(f"{message.type}: {message.text}")
    for late in steering.take_left(result["messages"]):
        print(f"came too late, send it as the next request: {late.content}")


if __name__ == "__main__":
    from start import start

    start(main)
