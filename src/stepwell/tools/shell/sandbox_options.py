"""bubblewrap's options: how it isolates the shell and which parts of the host it shows.

```
/workspace            the caller's folder, read and write; the only thing that outlives the session
/tmp /dev/shm         private, in memory, limited in size; HOME is /tmp
/usr /bin /lib ...    the host's, read only; of /etc only what programs need to start
/proc /dev            private; no host process is visible
everything else       does not exist
```
Order matters to bubblewrap: later mounts cover earlier ones.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

WORKSPACE = "/workspace"

_BASE_VARIABLES = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/tmp",  # noqa: S108  private in the sandbox
    "LANG": "C.UTF-8",
    "TERM": "dumb",
}
_SYSTEM_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = (
    "alternatives", "ca-certificates", "ca-certificates.conf", "fonts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d",
    "localtime", "mime.types", "pki/tls/certs", "ssl/certs", "ssl/openssl.cnf",
)  # fmt: skip
_ETC_NETWORK = ("hosts", "nsswitch.conf", "protocols", "resolv.conf", "services")
_UID = "1000"

ETC_FILES = {
    "/etc/passwd": f"user:x:{_UID}:{_UID}::/tmp:/bin/sh\n".encode(),
    "/etc/group": f"user:x:{_UID}:\n".encode(),
}
"""Files that the sandbox gets in place of the host's, which would show the host's users."""


def walls(program: str, *, network: bool) -> Iterator[str]:
    """The options for namespaces and privileges."""
    yield from ("--unshare-all", "--unshare-user", "--uid", _UID, "--gid", _UID, "--hostname", "sandbox")
    if network:
        yield "--share-net"
    if can(program, "--disable-userns"):  # since 0.8; with older versions only the call filter blocks new user namespaces
        yield "--disable-userns"
    yield from ("--cap-drop", "ALL", "--die-with-parent", "--new-session")


def host_folders(*, network: bool) -> Iterator[str]:
    """The parts of the host that every sandbox sees, read only."""
    yield from ("--ro-bind", "/usr", "/usr", "--ro-bind-try", "/nix/store", "/nix/store")
    for name in _SYSTEM_FOLDERS:
        folder = Path("/", name)
        if folder.is_symlink():
            yield from ("--symlink", os.readlink(folder), str(folder))
        elif folder.is_dir():
            yield from ("--ro-bind", str(folder), str(folder))
    for name in (*_ETC, *(_ETC_NETWORK if network else ())):
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")


def more_folders(paths: Sequence[str | Path]) -> Iterator[str]:
    """Additional folders from the caller, at the same paths; they must come after the folders in memory, which would cover them."""
    for path in paths:
        yield from ("--ro-bind", str(Path(path).resolve()), os.path.abspath(path))


def variables(env: Mapping[str, str]) -> Iterator[str]:
    """The environment: a few fixed variables and those that the caller sets."""
    for name, value in {**_BASE_VARIABLES, **env}.items():
        yield from ("--setenv", name, value)


@cache
def _help_of(program: str) -> str:
    asked = subprocess.run([program, "--help"], env={}, capture_output=True, text=True, timeout=10, check=False)  # noqa: S603
    return asked.stdout + asked.stderr


def can(program: str, option: str) -> bool:
    """Whether this bubblewrap knows an option."""
    return f"{option} " in _help_of(program)
