"""The smallest deep agent: a request goes in, an answer and a file come out.

The model is the environment's choice: set ANTHROPIC_API_KEY, OPENAI_API_KEY, OLLAMA_MODEL_NAME ... (docs/how-to/choose-a-model.md).
"""

from stepwell import create_deep_agent


def main(model=None):
    agent = create_deep_agent(model)
    request = "Plan a walk through Bergen for one rainy afternoon. Put the plan into /walk.md and tell me its best moment."
    result = agent.invoke({"messages": [("user", request)]})

    print(result["messages"][-1].text)
    for path, file in result["files"].items():  # files live in the agent's state, not on your disk
        print(f"\n--- {path}")
        print("\n".join(file["content"]))


if __name__ == "__main__":
    from start import start

    start(main)
