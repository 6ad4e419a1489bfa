"""How much a sandboxed command may use. The session sets the time limit of a command, not this module.

`processes` limits only the processes inside the sandbox, and the kernel does not enforce it if the host process runs as root.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepwell.errors import ConfigurationError

MIB = 1024 * 1024

# Shells use different letters for processes: -u in most, -p in dash. Set inside, where the count starts at zero.
_LIMIT_PROCESSES = '(ulimit -u "$1") 2>/dev/null && ulimit -u "$1" || ulimit -p "$1"; shift; exec "$@"'


@dataclass(frozen=True)
class SandboxLimits:
    """Limits of every process in the sandbox, and of its memory folders."""

    cpu_s: int = 600
    """CPU seconds of one process."""
    memory_bytes: int = 4096 * MIB
    """Private writable memory of one process (not reserved addresses, of which some runtimes take terabytes)."""
    file_bytes: int = 1024 * MIB
    """Size of one file."""
    processes: int = 512
    tmp_bytes: int = 512 * MIB
    """Size of /tmp; /dev/shm gets an eighth of it."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value <= 0:
                raise ConfigurationError(f"The sandbox limit {name} is {value}. It must be a positive number.")

    def apply_to(self, pid: int) -> None:
        """Set the limits of a process that has not forked yet; its children inherit them."""
        import resource

        wanted = (
            (resource.RLIMIT_CPU, self.cpu_s),
            (resource.RLIMIT_DATA, self.memory_bytes),
            (resource.RLIMIT_FSIZE, self.file_bytes),
            (resource.RLIMIT_CORE, 0),
        )
        for kind, value in wanted:
            _, hard = resource.prlimit(pid, kind)
            lower = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.prlimit(pid, kind, (lower, lower))

    def memory_folders(self, *, sized: bool) -> list[str]:
        """bubblewrap's options for the folders in memory; older versions cannot limit their size."""
        options: list[str] = []
        for folder, size in (("/tmp", self.tmp_bytes), ("/dev/shm", self.tmp_bytes // 8)):  # noqa: S108  private in the sandbox
            options += ["--size", str(size)] if sized else []
            options += ["--tmpfs", folder]
        return options


def with_process_limit(processes: int, command: Sequence[str]) -> list[str]:
    """The command, started by a shell that first limits the number of processes."""
    return ["/bin/sh", "-c", _LIMIT_PROCESSES, "sh", str(processes), *command]
