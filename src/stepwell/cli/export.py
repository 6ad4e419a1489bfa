"""`stepwell export`: a research as Markdown, HTML, PDF, DOCX or as its bundle."""

from __future__ import annotations

import sys
from pathlib import Path

from stepwell.cli.research import thread_folder, write_file
from stepwell.errors import BundleError
from stepwell.settings import Settings


def run(what: str, *, form: str | None, out: Path | None) -> int:
    """`what` is a bundle's file, or the id of a thread of `stepwell research`. Without `out`, text goes to the standard output."""
    from stepwell.apps.research.export import export_bundle, form_of

    chosen = form_of(out, form)
    if out is None and chosen in ("pdf", "docx", "zip"):
        raise BundleError(f"'{chosen}' is not for a screen. Name a file with --out.")
    content = export_bundle(_bundle(what), chosen)
    if out is None:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return 0
    write_file(out, content)
    print(f"Written: {out} ({len(content)} bytes)")
    return 0


def _bundle(what: str) -> Path:
    file = Path(what)
    if file.is_file() or file.suffix:
        return file
    bundle = thread_folder(Settings.load(), what, must_exist=True) / "bundle.zip"
    if not bundle.is_file():
        raise BundleError(f"The research '{what}' has not ended. Go on with: stepwell research --continue {what}")
    return bundle
