"""Finds the bundle that `stepwell export` or `stepwell show` is asked for: a file, a research on this machine, or one on a server."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stepwell.errors import BundleError, needs_extra
from stepwell.research.commands.options import BUNDLE, thread_folder
from stepwell.settings import Settings
from stepwell.terminal.own_command import spell_command


@contextmanager
def find_bundle(what: str, url: str | None, settings: Settings) -> Iterator[Path]:
    """`what` is a bundle file, or the id of a thread: one of `stepwell research` on this machine, or one on the server at `url`.

    Not verified yet. One from a server is deleted when the `with` block ends.
    """
    if url is None:
        yield _find_here(what, settings)
        return
    with needs_extra("Talking to a server", "server"):
        from stepwell.research.commands.on_server import connect_research, download_bundle

    def say(text: str) -> None:
        print(text, file=sys.stderr)

    with (
        asyncio.Runner() as runner,
        connect_research(runner, url, settings, what, say) as thread,
        download_bundle(runner, thread) as bundle,
    ):
        yield bundle


def _find_here(what: str, settings: Settings) -> Path:
    file = Path(what)
    if file.is_file():
        return file
    if file.suffix:
        raise BundleError(
            f"There is no file '{what}'. Name a bundle made by `stepwell research`, or the id of one of your researches, which are listed "
            f"by: {spell_command('research --list')}"
        )
    bundle = thread_folder(settings, what, must_exist=True) / BUNDLE
    if not bundle.is_file():
        raise BundleError(
            f"The research '{what}' has not finished. Continue it with: {spell_command(f'research --continue {what}')}"
        )
    return bundle
