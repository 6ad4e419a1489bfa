"""Starts llama.cpp in this process, through `xllamacpp`. The only module that imports it.

What must be kept:
- `OMP_WAIT_POLICY=passive` is set before the import, because OpenMP reads it only once, when it is loaded. By default, waiting threads
  spin: on a busy machine with two threads that made decoding ten times slower.
- The library always opens an HTTP endpoint. We do not need it, so it gets a socket file that is deleted at once, and a random key that
  we do not keep; on systems without socket files it gets a port on loopback, which only the key protects.
- The batch is small, because cancellation is only noticed between two batches while the prompt is read.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepwell.errors import ModelLoadError, needs_extra
from stepwell.models.local.llama.memory import check_gguf, check_memory
from stepwell.settings import prefer_in_environment

_BATCH = 16
_PROMPT_CACHE_MIB = 256
"""Cache for prompts already read, because an agent and its subagents take turns, and reading a prompt is the slow part."""
_LONGEST_SOCKET_PATH = 100


@dataclass(frozen=True)
class LlamaOptions:
    """How a file is run."""

    context: int
    threads: int


def available_threads() -> int:
    """One per CPU that this process may use; beyond eight, memory is the bottleneck and not arithmetic."""
    affinity = getattr(os, "sched_getaffinity", None)
    return min(8, len(affinity(0)) if affinity else os.cpu_count() or 1)


def start_llama(path: Path, options: LlamaOptions) -> Any:
    """A running `xllamacpp.Server` with the file loaded. Blocks while it loads."""
    check_gguf(path)
    check_memory(path)
    llama = _import_library()
    with tempfile.TemporaryDirectory(prefix="stepwell-", ignore_cleanup_errors=True) as folder:
        try:
            return llama.Server(_parameters(llama, path, options, Path(folder)))
        except (RuntimeError, MemoryError, ValueError) as error:
            raise ModelLoadError(
                f"llama.cpp cannot load '{path.name}'. The file is damaged, of a type this version does not support, or too big "
                "for the memory that is free. Fetch it again, update xllamacpp, or choose a smaller model."
            ) from error


def _import_library() -> Any:
    if "xllamacpp" not in sys.modules:
        prefer_in_environment("OMP_WAIT_POLICY", "passive")
    with needs_extra("The embedded model", "local"):
        import xllamacpp  # type: ignore[import-untyped]  # a native module without types
    return xllamacpp


def _parameters(llama: Any, path: Path, options: LlamaOptions, folder: Path) -> Any:
    parameters = llama.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx = options.context
    parameters.n_parallel = 1  # callers queue for the model in Python, where waiting can be cancelled
    parameters.n_batch = parameters.n_ubatch = _BATCH
    parameters.cache_ram_mib = _PROMPT_CACHE_MIB
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = options.threads
    parameters.warmup = False  # the first answer is slower by the time that the warm-up would take
    parameters.verbosity = -1
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.api_keys = [secrets.token_urlsafe()]
    parameters.cors_origins = ""
    parameters.n_threads_http = 1
    place = folder / "llama.sock"
    if hasattr(socket, "AF_UNIX") and sys.platform != "win32" and len(str(place)) < _LONGEST_SOCKET_PATH:
        parameters.hostnames = [str(place)]
    return parameters
