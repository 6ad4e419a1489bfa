"""`.env`, the names and values of variables, certificates, and proxies."""

from __future__ import annotations

import difflib
import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from stepwell.addresses import DEFAULT_HOST
from stepwell.cli.operator.doctor.extras import missing_packages
from stepwell.cli.operator.doctor.finding import Check, Finding, Installation, count
from stepwell.errors import ConfigurationError
from stepwell.private_files import others_may_read
from stepwell.settings import PROVIDER_VARIABLES, known_variables, read_dotenv
from stepwell.variables import is_loopback

_OURS = "STEPWELL_"
_NEAR = 0.8
_NEAR_KEY = 0.9
"""Names of other programs' variables look like ours too, so keys must be nearer."""
_CERTIFICATE_FILES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_CERTIFICATE_FOLDER = "SSL_CERT_DIR"
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_ASK_S = 2.0
_OF_TESTS = frozenset({"STEPWELL_PROVE", "STEPWELL_URL"})
"""Variables of `make prove` and of the page's development server."""


def _check_dotenv(here: Installation) -> Iterator[Finding]:
    file = here.folder / ".env"
    if here.dotenv_fault:
        yield Finding("problem", "The file .env cannot be read.", here.dotenv_fault, "chmod 600 .env, or save it as UTF-8 text")
        return
    if file.is_dir():
        yield Finding("warning", ".env is a folder, so it is ignored.", "Settings are read from a file.", "Rename the folder.")
        return
    if not file.is_file():
        return
    written = read_dotenv(file)
    if silent := sorted(name for name, value in written.items() if value is None):
        yield Finding(
            "warning", f"Lines of .env set nothing: {', '.join(silent)}.", "They have no equals sign.", "Write NAME=value."
        )
    hidden = sorted(name for name, value in written.items() if value and here.variables.get(name, value) != value)
    if hidden:
        yield Finding(
            "warning" if any(not here.variables[name] for name in hidden) else "note",
            f"The environment overrides what .env says of {', '.join(hidden)}.",
            "A variable of the environment wins, even an empty one.",
            f"unset {' '.join(hidden)}",
        )
    if not silent and not hidden:
        yield Finding("ok", f".env is read: {count(len(written), 'variable', 'variables')}.")


def _check_dotenv_private(here: Installation) -> Iterator[Finding]:
    file = here.folder / ".env"
    if not file.is_file():
        return
    if others_may_read(file):
        yield Finding(
            "warning",
            "Other users of this machine can read .env.",
            "Whoever has the keys can spend your money.",
            "chmod 600 .env",
        )
    if _is_unignored(file):
        yield Finding("warning", "git does not ignore .env.", "A commit would publish its keys.", "echo .env >> .gitignore")


def _is_unignored(file: Path) -> bool:
    git = shutil.which("git")
    if git is None:
        return False
    try:
        asked = subprocess.run(  # noqa: S603 - fixed arguments
            [git, "-C", str(file.parent.absolute()), "check-ignore", "-q", file.name],
            capture_output=True,
            timeout=_ASK_S * 5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 1  # 128: not a repository


def _check_names(here: Installation) -> Iterator[Finding]:
    known, keys = known_variables(), {name for names, _ in PROVIDER_VARIABLES.values() for name in names}
    dotenv = {} if here.dotenv_fault else read_dotenv(here.folder / ".env")
    for name in sorted({*here.variables, *dotenv} - known - _OF_TESTS):
        ours = name.upper().startswith(_OURS)
        if not ours and not name.endswith("KEY"):
            continue
        near = difflib.get_close_matches(
            name.upper(), sorted(known if ours else keys), n=1, cutoff=_NEAR if ours else _NEAR_KEY
        )
        if near:
            mend = f"Rename {name} to {near[0]}."
            yield Finding("warning", f"{name} is unknown and ignored. Did you mean {near[0]}?", "", mend)
        elif ours:
            yield Finding("note", f"{name} is unknown and ignored.", "", "docs/reference/environment.md lists all variables.")


def _check_values(here: Installation) -> Iterator[Finding]:
    if missing_packages("server"):
        return
    from stepwell.payments.configuration import load_charging
    from stepwell.server.settings import ServerSettings

    for read, variables in ((ServerSettings.load, here.settings.server), (load_charging, here.settings.payments)):
        try:
            read(variables)
        except ConfigurationError as error:
            yield Finding(
                "problem", "A server would not start with these settings.", str(error), "Correct or unset the variable."
            )
    if here.settings.telemetry and here.settings.telemetry.fault:
        yield Finding("problem", "Traces cannot be sent.", here.settings.telemetry.fault, "Correct or unset the variable.")
    try:
        here.settings.count_local_threads()
    except ConfigurationError as error:
        yield Finding("problem", "Embedded models cannot be loaded.", str(error), "unset STEPWELL_LOCAL_THREADS")


def _check_certificates(here: Installation) -> Iterator[Finding]:
    why = "Requests over https fail, or do not trust your private certificate authority."
    for variable in _CERTIFICATE_FILES:
        value = here.variables.get(variable)
        if value and (fault := _fault_of_certificates(Path(value))):
            yield Finding("problem", f"{variable} names {fault}.", why, f"Correct the path, or: unset {variable}")
    folder = here.variables.get(_CERTIFICATE_FOLDER)
    if folder and not any(Path(part).is_dir() for part in folder.split(os.pathsep)):
        yield Finding(
            "problem", f"{_CERTIFICATE_FOLDER} names a folder that does not exist.", why, f"unset {_CERTIFICATE_FOLDER}"
        )


def _fault_of_certificates(file: Path) -> str | None:
    if file.is_dir():
        return None  # requests takes a folder here too
    if not file.is_file():
        return "a file that does not exist"
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(file)
    except (ssl.SSLError, OSError):
        return "a file without a readable certificate"
    return None


def _check_proxies(here: Installation) -> Iterator[Finding]:
    given = {name.lower(): value for name, value in here.variables.items() if name.upper() in (*_PROXIES, "NO_PROXY") and value}
    proxies = {name: value for name, value in given.items() if name != "no_proxy"}
    if not proxies:
        return
    for name, value in sorted(proxies.items()):
        if _is_dead(value):
            yield Finding(
                "problem",
                f"{name.upper()} names a proxy on this machine, and nothing listens there.",
                "Requests to providers and to the web fail.",
                f"Start the proxy, or: unset {name.upper()}",
            )
    if not _bypasses(DEFAULT_HOST, given) or not _bypasses("localhost", given):
        yield Finding(
            "warning",
            f"{', '.join(sorted(name.upper() for name in proxies))} also applies to this machine's own addresses.",
            "A proxy cannot reach 127.0.0.1 here: local servers and models seem unreachable.",
            "export NO_PROXY=localhost,127.0.0.1,::1",
        )


def _bypasses(host: str, given: dict[str, str]) -> bool:
    return not {host, "*"}.isdisjoint(part.strip() for part in given.get("no_proxy", "").split(","))


def _is_dead(address: str) -> bool:
    """Whether a proxy is on this machine and nothing listens there. Other machines are not asked."""
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        host, port = parts.hostname or "", parts.port or 80
    except ValueError:
        return False
    if not is_loopback(host):
        return False
    try:
        socket.create_connection((host, port), timeout=_ASK_S).close()
    except OSError:
        return True
    return False


CHECKS = (
    Check(
        "dotenv",
        "`.env` cannot be read, is a folder, has lines that set nothing, or is overridden by the environment",
        "`chmod 600 .env`, `NAME=value` on each line, `unset NAME`",
        _check_dotenv,
    ),
    Check(
        "dotenv-private",
        "other users can read `.env`, or git does not ignore it",
        "`chmod 600 .env`; `echo .env >> .gitignore`",
        _check_dotenv_private,
    ),
    Check(
        "variable-names",
        "a variable `STEPWELL_...` or a provider's key is misspelt; names the nearest spelling",
        "rename the variable",
        _check_names,
    ),
    Check(
        "variable-values",
        "a value with which a server, payments, traces or embedded models would not start",
        "correct or unset the variable",
        _check_values,
    ),
    Check(
        "certificates",
        "`SSL_CERT_FILE`, `SSL_CERT_DIR`, `REQUESTS_CA_BUNDLE` or `CURL_CA_BUNDLE` names nothing usable",
        "correct the path, or unset it",
        _check_certificates,
    ),
    Check(
        "proxies",
        "a proxy also applies to this machine's own addresses, or nothing listens where it should be",
        "`export NO_PROXY=localhost,127.0.0.1,::1`; start or unset the proxy",
        _check_proxies,
    ),
)
