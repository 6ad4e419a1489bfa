"""Python, programs, extras of Stepwell, files with secrets, and limits of the operating system."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import metadata
from pathlib import Path

from stepwell.cli.operator.doctor.extras import missing_packages
from stepwell.cli.operator.doctor.finding import Check, Finding, Installation
from stepwell.errors import ConfigurationError, StepwellError
from stepwell.private_files import others_may_read
from stepwell.settings import Settings
from stepwell.terminal.database_place import PostgresPlace

_FEW_FILES = 1024
_ENOUGH_FILES = 65_536
_ZONE = "Europe/Berlin"
_TESTED = "Programming Language :: Python :: 3."


def _check_python(here: Installation) -> Iterator[Finding]:
    yield judge_python(sys.version_info[:2])


def judge_python(running: tuple[int, int]) -> Finding:
    tested = [
        int(line.removeprefix(_TESTED)) for line in metadata("stepwell").get_all("Classifier") or () if line.startswith(_TESTED)
    ]
    name = f"Python {running[0]}.{running[1]}"
    if tested and not min(tested) <= running[1] <= max(tested):
        return Finding(
            "warning",
            f"{name} is not one of the versions that Stepwell is tested with.",
            f"These are 3.{min(tested)} to 3.{max(tested)}.",
            f"Install Stepwell in an environment with Python 3.{max(tested)}.",
        )
    return Finding("ok", f"{name} is supported.")


def _check_open_files(here: Installation) -> Iterator[Finding]:
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < _FEW_FILES:
        most = _ENOUGH_FILES if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH_FILES)
        by_yourself = f"ulimit -n {most}" if most > soft else "ask the administrator for a higher limit (ulimit -Hn)"
        yield Finding(
            "warning",
            f"A process may open only {soft} files.",
            "Each client and stream of a server needs one.",
            f"{by_yourself}; for a service, LimitNOFILE={_ENOUGH_FILES}",
        )


def _check_time_zones(here: Installation) -> Iterator[Finding]:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo(_ZONE)
    except ZoneInfoNotFoundError:
        yield Finding(
            "warning",
            "There is no time zone data.",
            "Crons with a time zone are rejected.",
            "pip install tzdata, or install the system's tzdata",
        )


def _check_programs(here: Installation) -> Iterator[Finding]:
    from stepwell.tools.shell.sandbox import BubblewrapPolicy

    try:
        BubblewrapPolicy().resolve_program()
    except ConfigurationError as error:
        mend = "apt-get install bubblewrap" if sys.platform == "linux" else ""
        yield Finding("note", "Agents cannot run commands in a sandbox here.", str(error), mend)
    if (here.folder / ".git").exists() and shutil.which("git") is None:
        yield Finding("note", "The program git is missing.", "Whether .env is ignored was not checked.", "apt-get install git")
    for server, program in _mcp_programs(here.settings.search.mcp_servers):
        if shutil.which(program) is None:
            yield Finding(
                "problem",
                f"The MCP server '{server}' needs the program '{Path(program).name}', which was not found.",
                "STEPWELL_MCP_SERVERS names it.",
                "Install it, or write its whole path.",
            )


def _mcp_programs(file: Path | None) -> Iterator[tuple[str, str]]:
    """The servers in the file of `STEPWELL_MCP_SERVERS` that are programs."""
    if file is None:
        return
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return  # reported by `extras`
    servers = data.get("mcpServers", data) if isinstance(data, Mapping) else {}
    for name, entry in servers.items() if isinstance(servers, Mapping) else ():
        if isinstance(entry, Mapping) and isinstance(entry.get("command"), str):
            yield str(name), entry["command"]


def _check_extras(here: Installation) -> Iterator[Finding]:
    settings = here.settings
    wanted = {
        "postgres": ("A Postgres database", isinstance(here.place, PostgresPlace)),
        "redis": ("Redis", settings.redis_url is not None),
        "objects": ("A bucket", bool(settings.buckets)),
        "otel": ("Sending traces", settings.telemetry is not None),
        "payments": ("Payments", bool(settings.payments)),
        "mcp": ("Research over MCP", settings.search.mcp_sources is not None),
        "server": ("A server", bool(settings.server)),
    }
    for extra, (feature, is_configured) in wanted.items():
        missing = missing_packages(extra)
        if missing and (is_configured or extra == "server"):
            yield Finding(
                "problem" if is_configured else "note",
                f"{feature} needs packages that are missing: {', '.join(missing)}.",
                "It is configured here." if is_configured else "",
                f"pip install 'stepwell[{extra}]'",
            )
    if settings.search.mcp_sources:
        from stepwell.tools.mcp_web import read_sources

        try:
            read_sources(settings.search.mcp_sources, settings.search.mcp_servers)
        except StepwellError as error:
            yield Finding("problem", "Research over MCP is configured wrongly.", str(error), "Correct STEPWELL_RESEARCH_MCP.")


def _check_secret_files(here: Installation) -> Iterator[Finding]:
    from stepwell.connections.encryption import FILE
    from stepwell.research.audit.signing import KEY_FILE

    settings = here.settings
    files = [settings.data_folder / FILE, settings.signing_key_file or settings.data_folder / KEY_FILE]
    files += [file for file in (settings.search.mcp_servers, settings.workspace_grants) if file]
    if isinstance(here.place, Path):
        files.append(here.place)
    for file in files:
        if file.is_file() and others_may_read(file):
            yield Finding(
                "warning",
                f"Other users of this machine can read '{file}'.",
                "It contains secrets or private data.",
                f"chmod 600 '{file}'",
            )


def _check_evidence_key(here: Installation) -> Iterator[Finding]:
    if isinstance(here.place, PostgresPlace) and isinstance(here.condition, StepwellError):
        return  # reported by `database`
    public = describe_evidence_key(here.settings)
    if isinstance(public, StepwellError):
        yield Finding(
            "problem",
            "Bundles of evidence cannot be signed.",
            str(public),
            "Restore the key, or name another with STEPWELL_SIGNING_KEY_FILE.",
        )
    else:
        yield Finding(
            "ok", f"Evidence key: {public}" if public else "Evidence key: none yet; created when the first bundle is signed."
        )


def describe_evidence_key(settings: Settings) -> str | StepwellError | None:
    """The public key of this installation's signatures. Others pass it to `stepwell verify --key`. None if there is none yet."""
    from stepwell.research.audit.signing import SigningKey
    from stepwell.terminal.database_place import database_place

    key = SigningKey(settings.data_folder, settings.signing_key_file)
    try:
        database = database_place(None, settings)
        if isinstance(database, PostgresPlace) and not key.is_chosen:
            from stepwell.research.installation_key import kept_key

            return kept_key(database.url.reveal())
        return key.public_key()
    except StepwellError as error:
        return error


def _check_embeddings(here: Installation) -> Iterator[Finding]:
    from stepwell.models.embedding.embedder import choose_embedder

    try:
        yield Finding("ok", f"Embeddings: {choose_embedder(here.settings).describe()}")
    except ConfigurationError:
        return  # reported by `variable-values`


CHECKS = (
    Check("python", "a Python that Stepwell is not tested with", "an environment with a newer or older Python", _check_python),
    Check(
        "extras",
        "packages are missing for something that is configured: Postgres, Redis, a bucket, traces, payments, MCP, a server",
        "`pip install 'stepwell[EXTRA]'`",
        _check_extras,
    ),
    Check(
        "programs",
        "bubblewrap, git, or the program of an MCP server is missing",
        "install it",
        _check_programs,
    ),
    Check(
        "secret-files",
        "other users can read the database, stored keys, the signing key, or the files of MCP servers and grants",
        "`chmod 600 FILE`",
        _check_secret_files,
    ),
    Check("open-files", "a process may open fewer than 1024 files", "`ulimit -n 65536`", _check_open_files),
    Check("time-zones", "time zone data is missing", "`pip install tzdata`", _check_time_zones),
    Check(
        "evidence-key",
        "the key that signs bundles cannot be read; prints its public part",
        "restore the key; `STEPWELL_SIGNING_KEY_FILE`",
        _check_evidence_key,
    ),
    Check(
        "embeddings",
        "nothing wrong: says what compares texts by meaning, and what is missing for a better one",
        "`pip install 'stepwell[local]'`",
        _check_embeddings,
    ),
)
