"""`stepwell export`: a research from this machine or a server, as a document or as its bundle."""

from __future__ import annotations

import sys
from pathlib import Path

from stepwell.errors import BundleError
from stepwell.research.commands.bundles import find_bundle
from stepwell.research.commands.options import write_file
from stepwell.settings import Settings


def run(what: str, *, form: str | None, out: Path | None, url: str | None = None, settings: Settings | None = None) -> int:
    """Export a bundle or a thread (`find_bundle`). Without `out`, text goes to standard output."""
    from stepwell.research.audit.export import export_bundle, format_of

    chosen = format_of(out, form)
    if out is None and chosen in ("pdf", "docx", "zip"):
        raise BundleError(f"'{chosen}' cannot be shown on a screen. Name a file with --out.")
    settings = settings or Settings.load()
    with find_bundle(what, url, settings) as bundle:
        content = export_bundle(bundle, chosen)
    if out is None:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return 0
    write_file(out, content)
    print(f"Written: {out} ({len(content)} bytes)")
    return 0
