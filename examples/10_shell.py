"""Commands: the agent writes a program, runs it and mends it, in a sandbox that sees one folder and no network (needs bubblewrap)."""

import tempfile

from stepwell import CompositeBackend, FilesystemBackend, StateBackend, create_deep_agent
from stepwell.middleware.shell import ShellMiddleware

REQUEST = """Write /workspace/primes.py, which prints how many primes lie below the number given as its argument, and
/workspace/check.sh, which runs it for 10, 100 and 1000 and fails unless it prints 4, 25 and 168. Run the check until it passes."""


def main(model=None):
    with tempfile.TemporaryDirectory() as folder:
        agent = create_deep_agent(
            model,
            middleware=[ShellMiddleware(workspace_root=folder)],  # `execute`; the folder is /workspace in there
            # The file tools see the same folder under the same name, and nothing else of the disk.
            backend=CompositeBackend(StateBackend(), {"/workspace/": FilesystemBackend(root_dir=folder)}),
        )
        result = agent.invoke({"messages": [("user", REQUEST)]})

        calls = {call["id"]: call for message in result["messages"] for call in getattr(message, "tool_calls", [])}
        for message in result["messages"]:
            if message.type == "tool" and message.name == "execute":
                print(f"$ {calls[message.tool_call_id]['args']['command']}\n{message.text}\n")
        print(result["messages"][-1].text)


if __name__ == "__main__":
    from start import start

    start(main)
