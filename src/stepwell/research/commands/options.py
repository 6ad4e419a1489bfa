"""The options of `stepwell research`, checked before anything starts, because a research takes minutes, and a wrong file name should not
surface only at the end."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepwell.errors import ConfigurationError, InvalidRequestError, NotFoundError
from stepwell.settings import Settings
from stepwell.terminal.own_command import spell_command

if TYPE_CHECKING:
    from stepwell.research.audit.export import Format

GRAPH = "research"
MODES = ("updates",)
"""Stream modes that the command reads, here and on a server."""
BUNDLE = "bundle.zip"
"""The file with the evidence of a research, in the folder of its thread."""
ASKED = "question.txt"
"""The file with the last question, in the same folder, for the list of researches, which opens no database."""
_THREAD = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class ResearchOptions:
    """The parsed command line."""

    question: str | None
    thread: str | None = None
    """With `--continue`: the thread to continue."""
    url: str | None = None
    yes: bool = False
    review_sources: bool = False
    outline: bool = False
    """Propose the report's sections with the plan."""
    policy: Path | None = None
    out: Path | None = None
    form: str | None = None
    context: Sequence[Path] = ()
    context_urls: Sequence[str] = ()
    only_documents: bool = False
    """Search nothing but the files of `context`."""
    origin: Path | None = None
    """With `--on`: a bundle whose sources to build on."""
    refresh: Path | None = None
    """With `--refresh`: a bundle whose question to ask again."""
    key: str | None = None
    """A signer of that bundle whom we accept besides this installation: a public key, or a file that contains one."""
    unvouched: bool = False
    """Accept that bundle without checking who signed it."""


def check_options(options: ResearchOptions) -> Format:
    """Check the options; returns the format of the report."""
    from stepwell.research.audit.export import format_of

    form = format_of(options.out, options.form)
    if options.url and options.policy:
        raise ConfigurationError("A server has its own policy. Leave out --policy.")
    if options.only_documents and options.thread and not options.question:
        raise ConfigurationError("--only-documents applies to a question. Add one, or leave out --only-documents.")
    if options.form and not options.out:
        raise ConfigurationError("--format applies to a file. Name one with --out.")
    if options.out:
        _check_out(options.out, form)
    return form


def _check_out(file: Path, form: Format) -> None:
    """Check that the file can be written, as far as that can be known in advance."""
    from stepwell.research.audit.export import require_format

    require_format(form)
    if file.is_dir():
        raise ConfigurationError(f"'{file}' is a folder. Name a file with --out.")
    if not file.parent.is_dir():
        raise ConfigurationError(
            f"There is no folder '{file.parent}' to write '{file.name}' into. Create it, or name another file with --out."
        )
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise ConfigurationError(f"You have no permission to write '{file}'. Name another file with --out.")


def make_input(options: ResearchOptions) -> dict[str, Any]:
    """The graph's input."""
    from stepwell.research.graph.schemas import MAX_QUERY_CHARS

    question = (options.question or "").strip()
    if not question:
        example = spell_command('research "..."')
        raise InvalidRequestError(f"The question is missing. Write it after the command: {example}")
    if len(question) > MAX_QUERY_CHARS:
        raise InvalidRequestError(
            f"The question has {len(question):,} characters; the limit is {MAX_QUERY_CHARS:,}. Shorten it, and put background material "
            "into files for --context."
        )
    return {
        "user_query": question,
        "context_urls": list(options.context_urls),
        "review_sources": options.review_sources,
        "outline": options.outline,
        "only_documents": options.only_documents or None,
    }


def thread_folder(settings: Settings, thread: str, *, must_exist: bool) -> Path:
    """The folder of a thread of this command."""
    folder = settings.data_folder / "research" / thread
    if not _THREAD.fullmatch(thread) or (must_exist and not folder.is_dir()):
        way_out = f"For a research on a server, add --url; list yours with: {spell_command('research --list')}"
        raise NotFoundError("research", thread, way_out)
    return folder


def write_file(file: Path, content: bytes) -> None:
    """Write the file of `--out`."""
    try:
        file.write_bytes(content)
    except OSError as error:
        raise ConfigurationError(
            f"'{file.name}' cannot be written ({error.strerror}). Name another file with --out."
        ) from error
