"""docs/reference/command-line.md: every command with its arguments and options, from the argument parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from reference.markdown import page, table
from stepwell.cli import make_parser
from stepwell.products import installed_products

EXIT_CODES = """| exit code | means |
|---|---|
| 0 | done |
| 1 | the turn failed, or the thing that was checked is not in order |
| 2 | wrong arguments or set-up |
| 130 | stopped by Ctrl-C |"""


def command_line() -> str:
    parser = make_parser(installed_products())
    return page(
        "Command line",
        "`stepwell COMMAND --help` prints the same. Commands of installed products are among them; this page lists ours. "
        "What the commands read from the environment: [Environment](environment.md).",
        EXIT_CODES,
        *_commands(parser, "stepwell", 2),
    )


def _commands(parser: argparse.ArgumentParser, path: str, level: int) -> Iterator[str]:
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        helps = {choice.dest: choice.help for choice in action._choices_actions}
        for name, child in action.choices.items():
            if name not in helps:
                continue  # an alias
            yield f"{'#' * level} `{path} {name}`"
            yield _sentence(child.description or helps[name] or "")
            yield f"```text\n{_usage(child, f'{path} {name}')}\n```"
            yield table(("argument", "meaning"), (_row(child, each) for each in child._actions if _is_shown(each)))
            yield _sentence(child.epilog or "")
            yield from _commands(child, f"{path} {name}", level + 1)


def _is_shown(action: argparse.Action) -> bool:
    return not isinstance(action, argparse._HelpAction | argparse._SubParsersAction) and action.help != argparse.SUPPRESS


def _sentence(text: str) -> str:
    text = text.strip()
    return f"{text[0].upper()}{text[1:]}{'' if text.endswith(('.', ':', '?')) else '.'}" if text and "\n" not in text else text


def _usage(parser: argparse.ArgumentParser, path: str) -> str:
    shown = [action for action in parser._actions if _is_shown(action)]
    words = [path]
    for action in sorted(shown, key=lambda each: bool(each.option_strings)):
        word = _form(action)
        words.append(word if action.required and action.nargs not in ("?", "*") else f"[{word}]")
    if any(isinstance(action, argparse._SubParsersAction) for action in parser._actions):
        words.append("COMMAND")
    lines, indent = [""], " " * (len(path) + 1)
    for word in words:
        if len(lines[-1]) + len(word) > 100:
            lines.append(indent.rstrip(" ") + " " * len(path))
        lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return "\n".join(lines)


def _form(action: argparse.Action) -> str:
    name = action.option_strings[-1] if action.option_strings else ""
    return f"{name} {_value(action)}".strip()


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    return {"?": f"[{value}]" if action.option_strings else value, "*": f"{value} ...", "+": f"{value} ..."}.get(
        str(action.nargs), value
    )


def _row(parser: argparse.ArgumentParser, action: argparse.Action) -> tuple[str, str]:
    names = [f"{name} {_value(action)}".strip() for name in action.option_strings] or [_value(action)]
    said = parser._get_formatter()._expand_help(action) if action.help else ""
    return ", ".join(f"`{name}`" for name in names), said.replace(str(Path.home()), "~")
