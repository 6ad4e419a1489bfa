"""The arguments of `stepwell acp`. `--help` imports this module, so it must stay light."""

from __future__ import annotations

import argparse
from pathlib import Path

from stepwell.errors import needs_extra
from stepwell.terminal.commands import Commands, UsageError


def add_commands(commands: Commands) -> None:
    acp = commands.add_parser(
        "acp",
        help="be an agent for an editor (Agent Client Protocol)",
        description="Talk to an editor over standard input and output, in the Agent Client Protocol. The editor starts this command.",
    )
    acp.add_argument(
        "--graph",
        metavar="NAME",
        help="the graph or assistant to talk to (default: an agent that works on the editor's folder)",
    )
    acp.add_argument("--graphs", metavar="FILE", type=Path, help="take the graph from this langgraph.json")
    acp.add_argument("--server", metavar="ADDRESS", dest="url", help="talk to an assistant of this server")
    acp.add_argument(
        "--model", metavar="PROVIDER:NAME", help="the model to use, such as ollama:llama3.2 (default: from the environment)"
    )
    acp.add_argument(
        "--deny",
        metavar="PATTERN",
        action="append",
        default=[],
        help="files below the folder that the agent may neither read nor change, as in a .gitignore: '.env', '/secrets' (may be repeated)",
    )
    acp.set_defaults(run=_run_acp)


def _run_acp(arguments: argparse.Namespace) -> int:
    if arguments.url and (arguments.graphs or arguments.model or arguments.deny):
        raise UsageError(
            "An agent on a server has its own model and rules. Leave out --graphs, --model and --deny, or --server."
        )
    if (arguments.graphs or arguments.graph) and (arguments.model or arguments.deny):
        raise UsageError("A graph has its own model and rules. Leave out --model and --deny, or --graph and --graphs.")
    with needs_extra("Talking to an editor", "acp"):
        from stepwell.cli.acp import command
    return command.run(
        url=arguments.url, graph=arguments.graph, graphs=arguments.graphs, model=arguments.model, deny=tuple(arguments.deny)
    )
