"""Whether a model's file can be loaded at all: is it GGUF, and is there memory for it?

The native runtime ends the whole process if it cannot get memory at start, so we check both before we start it. The need is an estimate
(weights, context, working space); the limits are those that the platform reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from stepwell.errors import ModelLoadError

MAGIC = b"GGUF"

_WORKING_SPACE = 500 << 20


def check_gguf(path: Path) -> None:
    """Raise if a file is missing, cannot be read, or is not GGUF."""
    name = path.name
    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except (FileNotFoundError, NotADirectoryError):
        raise ModelLoadError(
            f"There is no file '{name}' in the folder '{path.parent.name or '/'}'. Check STEPWELL_LOCAL_MODEL or the path behind 'local:'; "
            "one that does not start with '/' begins at the folder in which the program was started."
        ) from None
    except IsADirectoryError:
        raise ModelLoadError(f"'{name}' is a folder. Give the path of the .gguf file in it.") from None
    except OSError as error:
        raise ModelLoadError(f"The file '{name}' cannot be read ({error.strerror}). Check its permissions.") from error
    if start != MAGIC:
        raise ModelLoadError(
            f"'{name}' is not a GGUF file: it begins with {start!r}. Models for llama.cpp come as .gguf; download it again, or "
            "convert it."
        )


def check_memory(path: Path) -> None:
    """Raise if the model would not fit into the memory that is free now."""
    needed = path.stat().st_size * 3 // 2 + _WORKING_SPACE
    free = min(_free_memory(), default=None)
    if free is not None and free < needed:
        raise ModelLoadError(
            f"The model '{path.name}' needs about {needed / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB are free. Close other "
            "programs, or choose a smaller model."
        )


def _free_memory() -> Iterator[int]:
    """Each limit that is known here: the machine's, the container's, the process's. Other platforms report none."""
    machine = _number_after("MemAvailable:", Path("/proc/meminfo"))
    if machine is not None:
        yield machine * 1024
    limit = _number_after("", Path("/sys/fs/cgroup/memory.max"))
    used = _number_after("", Path("/sys/fs/cgroup/memory.current"))
    if limit is not None and used is not None:
        # The page cache counts as used, but is freed on demand.
        files = _number_after("inactive_file", Path("/sys/fs/cgroup/memory.stat")) or 0
        yield limit - used + files
    yield from _address_space()


def _address_space() -> Iterator[int]:
    try:
        import resource
    except ImportError:  # Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    taken = _number_after("VmSize:", Path("/proc/self/status"))
    if limit != resource.RLIM_INFINITY and taken is not None:
        yield limit - taken * 1024


def _number_after(label: str, path: Path) -> int | None:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    words = next((line.removeprefix(label).split() for line in lines if line.startswith(label)), [])
    return int(words[0]) if words and words[0].isdigit() else None
