"""The SDK's integration tests against `stepwell serve`."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

DEEPAGENTS = Path(__file__).parents[1] / "rival_tests" / "alias"


@contextmanager
def serve_their_graphs(checkout: Path, root: Path) -> Iterator[str]:
    """The address of a server with the graphs of the SDK's integration tests."""
    project = root / "project"
    shutil.copytree(checkout / "libs" / "sdk-py" / "integration", project)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = (root / "server.log").open("wb")
    command = [sys.executable, "-m", "stepwell", "serve", "--port", str(port), "--graphs", str(project / "langgraph.json")]
    environment = {**os.environ, "STEPWELL_DATA_DIR": str(root / "data"), "PYTHONPATH": str(DEEPAGENTS)}
    server = subprocess.Popen(command, cwd=project, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield _wait_for(f"http://127.0.0.1:{port}", server)
    finally:
        server.terminate()
        server.wait()
        log.close()


def _wait_for(address: str, server: subprocess.Popen[bytes]) -> str:
    while server.poll() is None:
        try:
            if httpx.get(f"{address}/ok").is_success:
                return address
        except httpx.TransportError:
            time.sleep(0.1)
    raise SystemExit(
        "The server did not start. Run it by itself: stepwell serve --graphs …/libs/sdk-py/integration/langgraph.json"
    )
