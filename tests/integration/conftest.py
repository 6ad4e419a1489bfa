"""What integration tests share: the embedded model's file, fetched once and kept beside the environment; a server process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.served.process import Server, serve

from stepwell.errors import ModelDownloadError
from stepwell.models import DEFAULT_LOCAL_MODEL, LocalModels


@pytest.fixture(scope="session")
def model_folder() -> Path:
    """A folder with the default model's file (98 MB), shared by all test runs of this environment."""
    folder = Path(sys.prefix) / "stepwell-models"
    try:
        LocalModels(folder).pull(DEFAULT_LOCAL_MODEL)
    except ModelDownloadError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"the embedded model cannot be had here: {error}")
    return folder


@pytest.fixture
def server_process(tmp_path: Path) -> Iterator[Server]:
    """`stepwell serve` on the graphs of `served/`, as a process with a folder of its own. On a busy machine, too, runs end in time."""
    with serve(tmp_path, STEPWELL_DRAIN_SECONDS="30") as server:
        yield server
