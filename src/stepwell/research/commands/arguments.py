"""The arguments of `stepwell research`, `show`, `verify`, `replay` and `export`, and the function that each calls."""

from __future__ import annotations

import argparse
from pathlib import Path

from stepwell.terminal.commands import Commands, UsageError, add_url

FORMATS = ("md", "html", "pdf", "docx", "bib", "json", "zip")


def add_commands(commands: Commands) -> None:
    _add_research(commands)
    _add_show(commands)
    _add_verify(commands)
    _add_replay(commands)
    _add_export(commands)


def _add_research(commands: Commands) -> None:
    text = "research a question: approve the plan, get a report in which you can check every sentence"
    research = commands.add_parser("research", help=text, description=text[0].upper() + text[1:] + ".")
    research.add_argument("question", metavar="QUESTION", nargs="?", help="what you want to know, in quotation marks")
    add_url(research, "research on this server")
    research.add_argument(
        "--continue", dest="thread", metavar="THREAD", help="continue this research; with a question, ask it as the next one"
    )
    research.add_argument(
        "--on",
        dest="origin",
        metavar="BUNDLE",
        type=Path,
        help="build on the sources of this bundle, which is verified first and must be signed by you or by --key",
    )
    research.add_argument(
        "--refresh", metavar="BUNDLE", type=Path, help="ask this bundle's question again and show only what has changed"
    )
    research.add_argument(
        "--key", metavar="KEY|FILE", help="with --on or --refresh: the public key of the bundle's author, if that is not you"
    )
    research.add_argument(
        "--unvouched",
        action="store_true",
        help="with --on or --refresh: accept the bundle without checking who signed it; the new bundle will say so",
    )
    research.add_argument(
        "--list", action="store_true", help="list your researches, newest first; QUESTION filters them by words"
    )
    research.add_argument(
        "--demo",
        action="store_true",
        help="a demo whose scripted writer makes two mistakes; needs no model, no key and no network",
    )
    research.add_argument("--yes", action="store_true", help="approve a plan that breaks no rule without asking")
    research.add_argument(
        "--review-sources", action="store_true", help="accept or reject each source before the report is written"
    )
    research.add_argument("--outline", action="store_true", help="propose the report's sections with the plan")
    research.add_argument("--policy", metavar="FILE", type=Path, help="apply this policy instead of the default one")
    research.add_argument("--out", metavar="FILE", type=Path, help="also write the report to this file")
    research.add_argument("--format", choices=FORMATS, help="the format of --out (default: from its extension)")
    research.add_argument(
        "--context",
        metavar="PLACE",
        type=Path,
        action="append",
        default=[],
        help="a document or an image of yours to use as a source, or a folder of them (may be repeated)",
    )
    research.add_argument(
        "--context-url",
        metavar="URL",
        action="append",
        default=[],
        help="a page to read whatever the plan says (may be repeated)",
    )
    research.add_argument(
        "--only-documents",
        action="store_true",
        help="search nothing but the files of --context; this is the default for a question with --context if there is no network",
    )
    research.set_defaults(run=_run_research)


def _run_research(arguments: argparse.Namespace) -> int:
    if arguments.demo and (arguments.url or arguments.thread or arguments.policy or arguments.context_url):
        raise UsageError("--demo has its own web and policy. Leave out --url, --continue, --policy and --context-url.")
    ways = [arguments.thread, arguments.origin, arguments.refresh, arguments.list or None, arguments.demo or None]
    if sum(way is not None for way in ways) > 1 and not (arguments.demo and (arguments.origin or arguments.refresh)):
        raise UsageError("--continue, --on, --refresh, --list and --demo cannot be combined. Choose one.")
    if (arguments.key or arguments.unvouched) and not (arguments.origin or arguments.refresh):
        raise UsageError("--key and --unvouched apply to the bundle of --on or --refresh. Add one of these.")
    if arguments.origin and arguments.question is None:
        raise UsageError("--on needs a question too: what do you want to know next?")
    if arguments.refresh and (arguments.question or arguments.url):
        raise UsageError("--refresh asks the bundle's own question on this machine. Leave out the question and --url.")
    if arguments.origin and arguments.url:
        raise UsageError("--on reads the bundle on this machine. Leave out --url.")
    if arguments.only_documents and arguments.context_url:
        raise UsageError("--only-documents reads nothing on the web. Leave out --context-url, or --only-documents.")
    if arguments.only_documents and not (arguments.context or arguments.thread or arguments.refresh):
        raise UsageError("--only-documents needs documents to search. Name files or folders with --context.")
    if arguments.list:
        from stepwell.research.commands import listing

        return listing.run(arguments.question or "", url=arguments.url)
    if arguments.question is None and not any(way is not None for way in ways):
        raise UsageError("research needs a question, --continue THREAD, --refresh BUNDLE, --list, or --demo.")
    from stepwell.research.commands import command
    from stepwell.research.commands.options import ResearchOptions

    start = command.demonstrate if arguments.demo else command.run
    return start(
        ResearchOptions(
            arguments.question,
            thread=arguments.thread,
            url=arguments.url,
            yes=arguments.yes,
            review_sources=arguments.review_sources,
            outline=arguments.outline,
            policy=arguments.policy,
            out=arguments.out,
            form=arguments.format,
            context=arguments.context,
            context_urls=arguments.context_url,
            only_documents=arguments.only_documents,
            origin=arguments.origin,
            refresh=arguments.refresh,
            key=arguments.key,
            unvouched=arguments.unvouched,
        )
    )


def _add_show(commands: Commands) -> None:
    text = "show where the sentences of a report stand in their sources"
    show = commands.add_parser("show", help=text, description=text[0].upper() + text[1:] + ".")
    add_url(show, "show a research of this server")
    show.add_argument("what", metavar="BUNDLE|THREAD", help="a bundle file, or the id of a research")
    show.add_argument(
        "sentence",
        metavar="SENTENCE",
        nargs="*",
        help="its number, or words of it (default: list all sentences with their places)",
    )
    show.set_defaults(run=_run_show)


def _run_show(arguments: argparse.Namespace) -> int:
    from stepwell.research.commands import show

    return show.run(arguments.what, " ".join(arguments.sentence), url=arguments.url)


def _add_verify(commands: Commands) -> None:
    verify = _add_bundle(
        commands, "verify", "check a bundle: every hash, quote, sentence, verdict and request, and who signed it"
    )
    verify.add_argument("--head", metavar="HASH", help="the trail hash that the research printed at its end")
    verify.add_argument(
        "--key", metavar="KEY|FILE", help="the public key of the expected author, who gets it from `stepwell doctor`"
    )
    verify.add_argument(
        "--strict",
        action="store_true",
        help="also fail if something is unproven: who signed it or what it builds on, where its pages came from, that it has a report",
    )
    verify.add_argument("--seconds", metavar="N", type=float, help="give up after this many seconds (default: 120)")
    verify.set_defaults(run=_run_verify)


def _run_verify(arguments: argparse.Namespace) -> int:
    from stepwell.research.commands import verify

    options = {"head": arguments.head, "key": arguments.key, "strict": arguments.strict, "seconds": arguments.seconds}
    return verify.run(arguments.bundle, **options)


def _add_replay(commands: Commands) -> None:
    replay = _add_bundle(commands, "replay", "run a research again from its bundle, without network, and compare the reports")
    replay.set_defaults(run=_run_replay)


def _run_replay(arguments: argparse.Namespace) -> int:
    from stepwell.research.commands import replay

    return replay.run(arguments.bundle)


def _add_export(commands: Commands) -> None:
    export = commands.add_parser(
        "export", help="export a research as a document", description="Export a research as a document."
    )
    export.add_argument("what", metavar="THREAD|BUNDLE", help="the id of a research, or a bundle file")
    add_url(export, "export from this server")
    export.add_argument("--format", choices=FORMATS, help="the format (default: from the extension of --out, or md)")
    export.add_argument("--out", metavar="FILE", type=Path, help="the file to write (default: standard output, for text)")
    export.set_defaults(run=_run_export)


def _run_export(arguments: argparse.Namespace) -> int:
    from stepwell.research.commands import export

    return export.run(arguments.what, form=arguments.format, out=arguments.out, url=arguments.url)


def _add_bundle(commands: Commands, name: str, text: str) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    command.add_argument("bundle", metavar="BUNDLE", type=Path, help="a bundle file made by `stepwell research`")
    return command
