"""Checked before done: code and a model check an answer, and what is missing goes back to the agent."""

from stepwell import RubricMiddleware, create_deep_agent

RUBRIC = """
- Somebody who has never seen a stepwell understands the text.
- It says what a stepwell was good for.
"""


def is_in_the_file(state):
    return None if "/stepwell.md" in (state.get("files") or {}) else "There is no file /stepwell.md yet. Write the text there."


def at_most_sixty_words(state):
    file = (state.get("files") or {}).get("/stepwell.md")
    count = len("\n".join(file["content"]).split()) if file else 0
    return f"The text has {count} words. Cut it to 60." if count > 60 else None


def tell(evaluation):
    for each in evaluation["criteria"]:
        print(f"{'✓' if each['passed'] else '✗'} {each['name']} (by {each['by']}) {each.get('gap', '')}".rstrip())
    print(f"--- check {evaluation['iteration'] + 1}: {evaluation['result']}\n")


def main(model=None):
    checked = RubricMiddleware(checks=[is_in_the_file, at_most_sixty_words], rubric=RUBRIC, on_evaluation=tell)
    agent = create_deep_agent(model, middleware=[checked])
    result = agent.invoke({"messages": [("user", "Explain what a stepwell is, in the file /stepwell.md.")]})
    print(result["messages"][-1].text)


if __name__ == "__main__":
    from start import start

    start(main)
