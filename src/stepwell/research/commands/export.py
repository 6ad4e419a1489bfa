"""`stepwell export`: a research from this machine or a server, as a document or as its bundle."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stepwell.errors import BundleError, needs_extra
from stepwell.research.commands.options import BUNDLE, thread_folder, write_file
from stepwell.settings import Settings
from stepwell.terminal.own_command import spell_command

if TYPE_CHECKING:
    from stepwell.research.audit.export import Format


def run(what: str, *, form: str | None, out: Path | None, url: str | None = None, settings: Settings | None = None) -> int:
    """`what` is a bundle file, or the id of a thread: one of `stepwell research` on this machine, or one on the server at `url`.

    Without `out`, text goes to standard output.
    """
    from stepwell.research.audit.export import export_bundle, format_of

    chosen = format_of(out, form)
    if out is None and chosen in ("pdf", "docx", "zip"):
        raise BundleError(f"'{chosen}' cannot be shown on a screen. Name a file with --out.")
    settings = settings or Settings.load()
    content = _write_from_server(url, what, chosen, settings) if url else export_bundle(_find_bundle(what, settings), chosen)
    if out is None:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return 0
    write_file(out, content)
    print(f"Written: {out} ({len(content)} bytes)")
    return 0


def _write_from_server(url: str, thread_id: str, form: Format, settings: Settings) -> bytes:
    with needs_extra("Talking to a server", "server"):
        from stepwell.research.commands.on_server import connect_research, write_from_server

    def say(text: str) -> None:
        print(text, file=sys.stderr)

    with asyncio.Runner() as runner, connect_research(runner, url, settings, thread_id, say) as thread:
        return write_from_server(runner, thread, form)


def _find_bundle(what: str, settings: Settings) -> Path:
    file = Path(what)
    if file.is_file() or file.suffix:
        return file
    bundle = thread_folder(settings, what, must_exist=True) / BUNDLE
    if not bundle.is_file():
        raise BundleError(
            f"The research '{what}' has not finished. Continue it with: {spell_command(f'research --continue {what}')}"
        )
    return bundle
