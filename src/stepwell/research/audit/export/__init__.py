"""Research as a document for people: Markdown, HTML, PDF, DOCX, its sources for reference managers, or the bundle itself.

```
bundle ─verify─> dossier.py ─┬─ report.md, below a note if it is a demo         md
                             ├─ page.py                  one file, no script    html
                             ├─ pdf.py                   reportlab              pdf
                             ├─ word.py                  python-docx            docx
                             └─ bibliography.py          the sources alone      bib, json
```

A bundle that does not verify is not exported, because a well-set page would make it look credible. The same bundle gives the
same bytes in each format except DOCX, whose container stores the time of packing.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

from stepwell.errors import BundleError, ConfigurationError, MissingExtraError
from stepwell.research.audit.export.dossier import read_dossier
from stepwell.research.audit.verification import Verification
from stepwell.research.audit.verify import verify_bundle

Format = Literal["md", "html", "pdf", "docx", "bib", "json", "zip"]
FORMATS: tuple[Format, ...] = get_args(Format)


def export_bundle(bundle: Path, form: Format) -> bytes:
    """The document. Blocking; call it outside the event loop."""
    checked = require_valid(bundle, "exported")
    if form == "zip":
        return bundle.read_bytes()
    dossier = read_dossier(bundle, checked)
    match form:
        case "md":
            from stepwell.research.audit.export.wording import markdown_of

            return markdown_of(dossier).encode()
        case "html":
            from stepwell.research.audit.export.page import to_html

            return to_html(dossier)
        case "pdf":
            from stepwell.research.audit.export.pdf import to_pdf

            return to_pdf(dossier)
        case "docx":
            from stepwell.research.audit.export.word import to_docx

            return to_docx(dossier)
        case "bib":
            from stepwell.research.audit.export.bibliography import to_bibtex

            return to_bibtex(dossier)
        case "json":
            from stepwell.research.audit.export.bibliography import to_csl_json

            return to_csl_json(dossier)


def require_valid(bundle: Path, done: str) -> Verification:
    """Verify a bundle. `BundleError` if it does not hold and so may not be `done`: "exported", "shown"."""
    checked = verify_bundle(bundle)
    if not checked.ok:
        raise BundleError(
            f"The bundle '{bundle.name}' does not hold ({checked.problems[0]}), so it is not {done}. "
            "`stepwell verify` names everything that is wrong with it."
        )
    return checked


def require_format(form: Format) -> None:
    """Raises `MissingExtraError` if a format's package is not installed, so that users learn it before research begins."""
    needed = {"pdf": ("reportlab", "Export to PDF"), "docx": ("docx", "Export to DOCX")}.get(form)
    if needed and find_spec(needed[0]) is None:
        raise MissingExtraError(needed[1], "research")


def format_of(out: Path | None, named: str | None) -> Format:
    """The format that was named, else the one that the file's extension says, else Markdown."""
    wanted = named or (out.suffix.removeprefix(".").lower() if out and out.suffix else "md")
    wanted = {"markdown": "md", "htm": "html", "bibtex": "bib", "csl": "json"}.get(wanted, wanted)
    for form in FORMATS:
        if form == wanted:
            return form
    raise ConfigurationError(f"There is no format '{wanted}'. Name one with --format: {', '.join(FORMATS)}.")
