"""Guardrails: functions check what comes in, what tools do and what goes out, and send the agent back if it stops too early."""

import re

from stepwell import HooksMiddleware, Refusal, SendBack, create_deep_agent


def no_cards(event):
    return Refusal("Please leave out card numbers. I have not read them.") if re.search(r"\d{4} \d{4}", event.text) else None


def at_most_fifty(event):
    too_much = event.name == "refund" and event.args["euros"] > 50
    return Refusal("Refunds above 50 euros need a person. Refund at most 50.") if too_much else None


def refunded(event):
    results = [message for message in event.state["messages"] if message.type == "tool" and message.status == "success"]
    return None if results else SendBack("You have refunded nothing yet. Do it, then answer.")


def refund(euros: int) -> str:
    """Refund an amount to the customer."""
    print(f"*** refunded {euros} euros")
    return "done"


def main(model=None):
    checks = HooksMiddleware(on_input=no_cards, before_tool=at_most_fifty, on_stop=refunded)
    agent = create_deep_agent(model, [refund], system_prompt="You help customers of a lamp shop.", middleware=[checks])
    for request in ("Charge 4111 1111 1111 1111.", "My lamp for 80 euros arrived broken. Give me the money back."):
        print(f"> {request}\n{agent.invoke({'messages': [('user', request)]})['messages'][-1].text}\n")


if __name__ == "__main__":
    from start import start

    start(main)
