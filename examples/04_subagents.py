"""Subagents: parts of the work, each in a context of its own, side by side. The main agent sees only their results."""

import time

from stepwell import create_deep_agent

reviewer = {
    "name": "reviewer",
    "description": "reviews one Python function from one point of view",
    "system_prompt": "You review code. Name at most two problems, most serious first, each with its fix. No praise.",
    "timeout_s": 120,  # a slow one gives an error result and does not hold up the others
    # also: tools, model, model_settings, middleware, interrupt_on, response_format; the main agent's where left out
}

CODE = """
def transfer(accounts, source, target, amount):
    accounts[source] -= amount
    log.append(f"{source} -> {target}: {amount}")
    accounts[target] += amount
"""


def main(model=None):
    agent = create_deep_agent(model, subagents=[reviewer])
    request = "Have this reviewed for correctness, for concurrency and for naming, by one reviewer each, all in one turn:"
    started = time.perf_counter()
    result = agent.invoke({"messages": [("user", request + CODE + "Then tell me what to change first.")]})

    for message in result["messages"]:
        if message.type == "tool" and message.name == "task":
            print(f"--- a reviewer\n{message.text}\n")
    print(f"--- the agent, after {time.perf_counter() - started:.1f} s\n{result['messages'][-1].text}")


if __name__ == "__main__":
    from start import start

    start(main)
