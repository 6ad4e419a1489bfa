"""What `stepwell research` is asked for, checked before anything begins: a research takes minutes, and a wrong name must not show
only at its end."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepwell.cli.own_command import spell_command
from stepwell.errors import ConfigurationError, InvalidRequestError, NotFoundError
from stepwell.settings import Settings

if TYPE_CHECKING:
    from stepwell.audit.export import Format

GRAPH = "research"
MODES = ("updates",)
"""What the command reads of a run's stream, here and on a server."""
BUNDLE = "bundle.zip"
"""The evidence of a research, in the folder of its thread."""
ASKED = "question.txt"
"""What was asked last, there too: for the list of researches, which opens no database."""
_THREAD = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class ResearchOptions:
    """What the command line asks for."""

    question: str | None
    thread: str | None = None
    """With `--continue`: the thread to go on with."""
    url: str | None = None
    yes: bool = False
    review_sources: bool = False
    policy: Path | None = None
    out: Path | None = None
    form: str | None = None
    context: Sequence[Path] = ()
    context_urls: Sequence[str] = ()
    origin: Path | None = None
    """With `--on`: a bundle whose sources it goes on from."""
    refresh: Path | None = None
    """With `--refresh`: a bundle whose question is asked again."""
    key: str | None = None
    """Who should have signed the bundle of either, besides this installation: a public key, or a file with one."""
    unvouched: bool = False
    """Take that bundle whoever has signed it."""


def check_options(options: ResearchOptions) -> Format:
    """The format of the report, if everything fits together."""
    from stepwell.audit.export import format_of

    form = format_of(options.out, options.form)
    if options.url and options.policy:
        raise ConfigurationError("A server has its own policy, so --policy cannot apply there. Leave it out.")
    if options.form and not options.out:
        raise ConfigurationError("--format says how to write a file; name it with --out.")
    if options.out:
        _check_out(options.out, form)
    return form


def _check_out(file: Path, form: Format) -> None:
    """Whether the file can be written, as far as that can be known beforehand."""
    from stepwell.audit.export import require_format

    require_format(form)
    if file.is_dir():
        raise ConfigurationError(f"'{file}' is a folder. Name a file with --out.")
    if not file.parent.is_dir():
        raise ConfigurationError(
            f"There is no folder '{file.parent}' to write '{file.name}' into. Make it, or name another file with --out."
        )
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise ConfigurationError(f"You may not write '{file}'. Name another file with --out.")


def make_input(options: ResearchOptions) -> dict[str, Any]:
    """What the graph begins with."""
    from stepwell.apps.research.schemas import MAX_QUERY_CHARS

    question = (options.question or "").strip()
    if not question:
        example = spell_command('research "..."')
        raise InvalidRequestError(f"There is no question. Write it behind the command: {example}")
    if len(question) > MAX_QUERY_CHARS:
        raise InvalidRequestError(
            f"The question has {len(question):,} characters, at most {MAX_QUERY_CHARS:,} are taken. "
            "Ask in fewer words; material to work with goes into files for --context."
        )
    return {
        "user_query": question,
        "context_urls": list(options.context_urls),
        "review_sources": options.review_sources,
    }


def thread_folder(settings: Settings, thread: str, *, must_exist: bool) -> Path:
    """Where a thread of this command lives."""
    folder = settings.data_folder / "research" / thread
    if not _THREAD.fullmatch(thread) or (must_exist and not folder.is_dir()):
        raise NotFoundError("research", thread, "Its id was printed when it began; for a research on a server add --url.")
    return folder


def write_file(file: Path, content: bytes) -> None:
    """Write what `--out` asks for."""
    try:
        file.write_bytes(content)
    except OSError as error:
        raise ConfigurationError(
            f"'{file.name}' cannot be written ({error.strerror}). Name another file with --out."
        ) from error
