"""The arguments of `stepwell serve`, `worker` and `models`, and the function that each calls."""

from __future__ import annotations

import argparse
from pathlib import Path

from stepwell.addresses import DEFAULT_HOST, DEFAULT_PORT
from stepwell.products import installed_products
from stepwell.terminal.commands import Commands, add_database, whole_number

_PORT = whole_number(0, 65535)
_COUNT = whole_number(0, 10_000)
_SEED = whole_number(0, 1_000_000)
_SECONDS = whole_number(1, 2_592_000, "seconds")


def add_commands(commands: Commands) -> None:
    _add_serve(commands)
    _add_worker(commands)
    _add_models(commands)


def _add_serve(commands: Commands) -> None:
    demos = [name for product in installed_products() for name in product.demos]
    serve = commands.add_parser(
        "serve",
        help="start the server",
        description="Start the server: durable agents over HTTP, for any client of LangGraph's API.",
    )
    serve.add_argument("--host", metavar="ADDRESS", help=f"address to listen on (default: {DEFAULT_HOST})")
    serve.add_argument(
        "--port", metavar="NUMBER", type=_PORT, help=f"port to listen on (default: {DEFAULT_PORT}); 0 picks a free one"
    )
    serve.add_argument("--graphs", metavar="FILE", type=Path, help="serve the graphs of this langgraph.json instead of our own")
    serve.add_argument(
        "--no-demo",
        action="store_true",
        help=f"do not serve the demo graphs, which need no model and no network ({', '.join(demos)})",
    )
    serve.add_argument(
        "--database-url",
        metavar="URL",
        help="sqlite:///path/to/file.db, or postgresql://user@host/name, which several servers can share (default: "
        "STEPWELL_DATABASE_URL, DATABASE_URL, or a file in the data folder)",
    )
    serve.add_argument(
        "--concurrency",
        metavar="NUMBER",
        type=_COUNT,
        help="execute at most this many runs at once; 0 leaves all of them to `stepwell worker`",
    )
    serve.add_argument(
        "--run-timeout",
        metavar="SECONDS",
        type=_SECONDS,
        help="stop a run after this much work; time spent waiting for a person does not count",
    )
    serve.add_argument(
        "--power-loss",
        action="store_true",
        help="confirm a write only once it is on the disk: survives a power failure, but is slower",
    )
    _add_drain_seconds(serve)
    serve.add_argument(
        "--insecure", action="store_true", help="do not require sign-in, even if other machines can reach the server"
    )
    serve.add_argument(
        "--reload",
        action="store_true",
        help="start again whenever a Python file of the project, its langgraph.json or .env changes; for development",
    )
    serve.set_defaults(run=_run_serve)


def _run_serve(arguments: argparse.Namespace) -> int:
    from stepwell.cli import serve

    start = serve.run_reloading if arguments.reload else serve.run
    return start(
        host=arguments.host,
        port=arguments.port,
        graphs=arguments.graphs,
        database_url=arguments.database_url,
        insecure=arguments.insecure,
        run_timeout_s=arguments.run_timeout,
        power_loss=arguments.power_loss,
        demo=not arguments.no_demo,
        concurrency=arguments.concurrency,
        drain_s=arguments.drain_seconds,
    )


def _add_worker(commands: Commands) -> None:
    worker = commands.add_parser(
        "worker",
        help="execute runs of a shared database, without serving HTTP clients",
        description="Execute the runs that servers on the same Postgres database accept. You can start any number of workers.",
    )
    worker.add_argument(
        "--concurrency",
        metavar="NUMBER",
        type=_COUNT,
        default=100,
        help="execute at most this many runs at once (default: 100)",
    )
    worker.add_argument("--graphs", metavar="FILE", type=Path, help="the langgraph.json that the servers were started with")
    worker.add_argument("--database-url", metavar="URL", help="postgresql://user@host/name (default: DATABASE_URL)")
    worker.add_argument(
        "--metrics-port",
        metavar="NUMBER",
        type=_PORT,
        help="serve /ok, /ready and /metrics on this port, without sign-in; 0 picks a free one",
    )
    worker.add_argument(
        "--metrics-host", metavar="ADDRESS", default=DEFAULT_HOST, help=f"address for --metrics-port (default: {DEFAULT_HOST})"
    )
    _add_drain_seconds(worker)
    worker.add_argument(
        "--run-timeout",
        metavar="SECONDS",
        type=_SECONDS,
        help="stop a run after this much work; time spent waiting for a person does not count",
    )
    worker.set_defaults(run=_run_worker)


def _run_worker(arguments: argparse.Namespace) -> int:
    from stepwell.cli import worker

    return worker.run(
        graphs=arguments.graphs,
        database_url=arguments.database_url,
        concurrency=arguments.concurrency,
        run_timeout_s=arguments.run_timeout,
        drain_s=arguments.drain_seconds,
        metrics_host=arguments.metrics_host,
        metrics_port=arguments.metrics_port,
    )


def _add_drain_seconds(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--drain-seconds",
        metavar="SECONDS",
        type=_COUNT,
        help="on shutdown, give runs this long to finish before handing them back (default: STEPWELL_DRAIN_SECONDS, or 10)",
    )


def _add_models(commands: Commands) -> None:
    models = commands.add_parser(
        "models",
        help="connect, test and download models",
        description="Connect providers and model servers, test models, and download models that run on this machine.",
    )
    actions = models.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the connected models, and those that can be downloaded")
    listing.set_defaults(name=None)
    use = actions.add_parser(
        "use",
        help="connect a provider, and use its model by default",
        description="Test a model, store its key encrypted, and use it by default. The key is typed without showing it, or piped in.",
    )
    use.add_argument(
        "name", metavar="PROVIDER[:MODEL]", help="such as anthropic, openai:gpt-5.5, ollama:qwen3:8b, local:qwen3-4b"
    )
    use.add_argument("--address", metavar="URL", help="the address of the server, if it is not the provider's usual one")
    use.add_argument("--remove", action="store_true", help="delete the provider's stored key and connection instead")
    test = actions.add_parser("test", help="test a model", description="Test a model: does it answer, stream and call tools.")
    test.add_argument("name", metavar="PROVIDER:MODEL", nargs="?", help="default: the model that is used by default")
    judge = actions.add_parser(
        "judge",
        help="measure how well a model judges sentences",
        description="Measure how well a model judges: precision and recall on pairs of claim and evidence, beside the rules. Reports that "
        "it judges afterwards carry the figures. Answers are kept, so that a second run asks only what is missing.",
    )
    add_judge_options(judge)
    judge.add_argument(
        "folder", metavar="FOLDER", type=Path, help="a folder of .jsonl files with claim, evidence and label, or one file"
    )
    for parser in (listing, use, test, judge):
        add_database(parser)
    for action, text in {
        "pull": "download a model",
        "load": "load a model, downloading it if necessary, and print how long it took",
        "remove": "delete a downloaded model",
    }.items():
        parser = actions.add_parser(action, help=text, description=text.capitalize() + ".")
        parser.add_argument(
            "name", metavar="ID", nargs=None if action == "remove" else "?", help="an id from `stepwell models list`"
        )
    models.set_defaults(run=_run_models)


def add_judge_options(parser: argparse.ArgumentParser) -> None:
    """What to measure a judge on; `make eval` has the same options."""
    parser.add_argument("--model", metavar="PROVIDER:MODEL", help="the model to measure (default: the one that would judge)")
    parser.add_argument(
        "--claims",
        metavar="NUMBER",
        type=whole_number(2, 100_000),
        default=200,
        help="at most this many per set (default: 200)",
    )
    parser.add_argument(
        "--half", choices=("all", "odd", "even"), default="all", help="draw only from the odd or the even lines (default: all)"
    )
    parser.add_argument("--seed", metavar="NUMBER", type=_SEED, default=1, help="another seed draws other claims (default: 1)")


def _run_models(arguments: argparse.Namespace) -> int:
    from stepwell.cli import connected_models, models

    if arguments.action == "use":
        given = {"address": arguments.address, "remove": arguments.remove, "database_url": arguments.database_url}
        return connected_models.use(arguments.name, **given)
    if arguments.action == "test":
        return connected_models.test(arguments.name, database_url=arguments.database_url)
    if arguments.action == "judge":
        from stepwell.cli import judge_measurement

        return judge_measurement.run(
            arguments.folder,
            model=arguments.model,
            claims=arguments.claims,
            half=arguments.half,
            seed=arguments.seed,
            database_url=arguments.database_url,
        )
    if arguments.action == "list":
        connected_models.show(arguments.database_url)
    return models.run(arguments.action, arguments.name)
