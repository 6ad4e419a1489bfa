"""Research a question from the command line: `python examples/research/run_local.py "question" [--model provider:name] [--out DIR]`.

Shows what happens while it happens, and saves the agent's files at the end, also when it was stopped half-way.
"""

import argparse
import sys
from pathlib import Path

from research_agent import build_agent, find_key

from stepwell import ConfigurationError, FilesystemBackend

REPORT = "/final_report.md"
WIDTH = 110


def main(argv=None, model=None, search=None):
    """Run one question; gives the exit code."""
    options = parse(argv)
    try:
        agent = build_agent(options.model or model, search)
    except ConfigurationError as error:
        print(error, file=sys.stderr)
        return 1
    if search is None and not find_key():
        print("No TAVILY_API_KEY is set: the agent works without the web, and its report will say so.")
    files, answer = {}, ""
    try:
        for state in research(agent, options.question):
            files, answer = state.get("files", {}), state["messages"][-1].text
    except KeyboardInterrupt:
        print("(stopped)")
        return 130
    except Exception as error:  # whatever a provider raised: what was written so far is saved below
        print(f"The research failed: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    finally:
        save(files, options.out)
    print(f"\n{answer}")
    if REPORT not in files:
        print(f"The agent wrote no {REPORT}. Ask again, perhaps with a stronger model (--model).", file=sys.stderr)
        return 1
    return 0


def parse(argv):
    parser = argparse.ArgumentParser(description="Research a question and write a report.")
    parser.add_argument("question")
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="otherwise the environment decides")
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("research"), help="where files go (default: research)")
    return parser.parse_args(argv)


def research(agent, question):
    """Drive the agent, show progress, and give the main agent's state after each step."""
    start = {"messages": [("user", question)], "files": {"/question.txt": question}}
    seen = set()
    for namespace, mode, chunk in agent.stream(start, stream_mode=["updates", "values"], subgraphs=True):
        if mode == "values":
            if not namespace:
                yield chunk
            continue
        for update in chunk.values():
            for part in update if isinstance(update, list) else [update]:
                for message in (part or {}).get("messages", []):
                    if message.id not in seen:  # some steps hand on messages that were shown already
                        seen.add(message.id)
                        show(message, who=message.name if namespace and message.type == "ai" else "research")


def show(message, who):
    """One line for each tool call, and for each failure."""
    for call in getattr(message, "tool_calls", []):
        line(who, f"{call['name']}: {told(call['name'], call['args'])}")
    if message.type == "tool" and message.status == "error":
        line("  failed", message.text)


def told(tool, args):
    """What is worth seeing of a call's arguments."""
    if tool == "write_todos":
        return " | ".join(f"{todo['content']} ({todo['status']})" for todo in args.get("todos", []))
    if tool == "task":
        return f"{args.get('subagent_type')} <- {args.get('description')}"
    return next((str(args[name]) for name in ("query", "file_path", "pattern", "path") if name in args), "")


def line(who, text):
    text = " ".join(text.split())
    print(f"{who:>12}  {text if len(text) <= WIDTH else text[: WIDTH - 1] + '…'}", flush=True)


def save(files, folder):
    """Put the agent's files below a folder, through a backend that cannot leave it."""
    folder.mkdir(parents=True, exist_ok=True)
    disk = FilesystemBackend(folder)
    for path, file in files.items():
        result = disk.write(path, "\n".join(file["content"]), overwrite=True)
        print(result.error or f"saved {folder}{path}")


if __name__ == "__main__":
    sys.exit(main())
