"""Streaming: every token with the name of who speaks, and the plan whenever it changes."""

from stepwell import create_deep_agent

historian = {
    "name": "historian",
    "description": "answers one question about history in three sentences",
    "system_prompt": "You answer in exactly three sentences, with dates.",
}
MARKS = {"pending": " ", "in_progress": ">", "completed": "x"}


def main(model=None):
    agent = create_deep_agent(model, subagents=[historian])
    request = "Make a plan of three steps: ask one historian about the telegraph, another about the telephone, then compare."
    speaker, plan = None, None
    stream = agent.stream({"messages": [("user", request)]}, stream_mode=["messages", "values"], subgraphs=True)
    for namespace, mode, chunk in stream:  # the namespace is empty for the main agent, and names the place of a subagent
        if mode == "messages":
            message, metadata = chunk
            if message.type != "AIMessageChunk" or not message.text:
                continue  # tool results, and pieces of a tool call
            # The call's own number tells two subagents of one name apart.
            who = (metadata["lc_agent_name"], namespace[-1][-4:]) if namespace else ("agent", "")
            if who != speaker:
                speaker = who
                print(f"\n[{' '.join(who).strip()}] ", end="")
            print(message.text, end="", flush=True)
        elif not namespace and chunk.get("todos") not in (None, plan):
            plan, speaker = chunk["todos"], None
            print("\n" + "\n".join(f"  [{MARKS[todo['status']]}] {todo['content']}" for todo in plan), end="")
    print()


if __name__ == "__main__":
    from start import start

    start(main)
