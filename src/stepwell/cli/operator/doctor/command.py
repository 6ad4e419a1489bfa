"""`stepwell doctor` itself: runs all checks, and prints what they find, problems first."""

from __future__ import annotations

import json
import logging
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from stepwell.cli.operator.doctor import environment, graphs, machine, models, server, storage
from stepwell.cli.operator.doctor.finding import LEVELS, Check, Finding, Installation
from stepwell.errors import ConfigurationError, StepwellError
from stepwell.models.choice import warning_about
from stepwell.secrets.names import is_secret
from stepwell.secrets.text import hide_secrets, secrets_of_address
from stepwell.settings import Settings, current_environment, read_dotenv

CHECKS: tuple[Check, ...] = (
    *models.CHECKS,
    *environment.CHECKS,
    *machine.CHECKS,
    *storage.CHECKS,
    *graphs.CHECKS,
    *server.CHECKS,
)
Found = tuple[str, Finding]
"""A check's name, and what it found."""
_SHORTEST_SECRET = 6


def run(*, online: bool, as_json: bool, graphs_file: Path | None) -> int:
    """Run the command; returns 1 if there is a problem."""
    here = examine(online=online, graphs_file=graphs_file)
    hide = _make_hiding(here)
    # What a project prints while it is imported must not mix with our output.
    with _redacted_log(hide), redirect_stdout(sys.stderr):
        found = [(name, _redact(finding, hide)) for name, finding in run_checks(here)]
    print(_as_json(here, found) if as_json else "\n".join(map(hide, _lines(here, found))))
    return 1 if any(finding.level == "problem" for _, finding in found) else 0


def _redact(finding: Finding, hide: Callable[[str], str]) -> Finding:
    return Finding(finding.level, hide(finding.what), hide(finding.why), hide(finding.mend))


def examine(*, online: bool = False, graphs_file: Path | None = None) -> Installation:
    """The installation that this process belongs to. An unreadable `.env` is left out, and noted."""
    fault = None
    try:
        settings = Settings.load()
    except ConfigurationError as error:
        settings, fault = Settings.load(dotenv=None), str(error)
    return Installation(settings, current_environment(), Path(), fault, online, graphs_file)


def run_checks(here: Installation, checks: Iterable[Check] = CHECKS) -> list[Found]:
    """What the checks find: problems first, otherwise in the order of the checks."""
    found = [(check.name, finding) for check in checks for finding in _run(check, here)]
    return sorted(found, key=lambda each: LEVELS.index(each[1].level))


def _run(check: Check, here: Installation) -> list[Finding]:
    try:
        return list(check.look(here))
    except StepwellError as error:
        return [Finding("problem", f"The check '{check.name}' could not be finished.", str(error))]
    except Exception as error:  # one broken part must not hide what the other checks find
        return [Finding("warning", f"The check '{check.name}' failed with {type(error).__name__}.", "", "Please report this.")]


def _lines(here: Installation, found: Sequence[Found]) -> Iterator[str]:
    yield _title()
    yield _describe_model(here)
    yield ""
    for name, finding in found:
        yield f"{finding.level:8} {name}: {finding.what}"
        if finding.why:
            yield f"         {finding.why}"
        if finding.mend:
            yield f"         -> {finding.mend}"
    yield ""
    yield summarise(found)


def _title() -> str:
    return f"stepwell {version('stepwell')}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"


def _describe_model(here: Installation) -> str:
    choice = here.choice
    if isinstance(choice, StepwellError):
        return f"Model: none. {choice}"
    warning = warning_about(choice, here.settings)
    return f"Model: {choice} ({choice.reason})" + (f"\n       {warning}" if warning else "")


def summarise(found: Sequence[Found]) -> str:
    """The last line."""
    counts = [(sum(each.level == level for _, each in found), level) for level in LEVELS[:2]]
    said = [f"{count} {level}{'' if count == 1 else 's'}" for count, level in counts if count]
    return ", ".join(said) or "Nothing needs mending"


def _as_json(here: Installation, found: Sequence[Found]) -> str:
    choice = here.choice
    return json.dumps(
        {
            "version": version("stepwell"),
            "python": platform.python_version(),
            "model": None if isinstance(choice, StepwellError) else {"name": str(choice), "reason": choice.reason},
            "findings": [{"check": name, **asdict(finding)} for name, finding in found],
            "summary": summarise(found),
        },
        indent=2,
    )


def _make_hiding(here: Installation) -> Callable[[str], str]:
    """A function that removes every secret of the environment and of `.env` from a text, whatever check has let it through."""
    written = {} if here.dotenv_fault else read_dotenv(here.folder / ".env")
    values = [(name, value) for source in (written, here.variables) for name, value in source.items() if value]
    known = {value for name, value in values if is_secret(name, value)}
    known |= {secret for _, value in values if "://" in value for secret in secrets_of_address(value)}
    known = {part for value in known for part in (value, value.strip()) if len(part) >= _SHORTEST_SECRET}
    return lambda text: hide_secrets(text, known)


@contextmanager
def _redacted_log(hide: Callable[[str], str]) -> Iterator[None]:
    """Log lines of the checks go to standard error, without secrets."""

    class Redacted(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            print(hide(self.format(record)), file=sys.stderr)

    handler, root = Redacted(logging.WARNING), logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
