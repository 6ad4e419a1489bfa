"""The environments beside the project's own, in `.bench/`, made when missing: the peers', and the token counter's.

No package index is named: uv finds it as it does for the project. The peer gets the same LangChain and LangGraph as the
floor, so that a ratio compares two harnesses and not two versions of what they stand on.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from benchmarks.bench import ROOT, log

PEER = "deepagents==0.7.32"
PEER_SERVER = "langgraph-cli[inmem]==0.4.40"
GOOGLE_STORAGE = "google-cloud-storage==3.17.1"
PROCRASTINATE = "procrastinate==3.10.0"
AEGRA = "aegra-api==0.6.0"
TOKENS = "bpe-openai==0.1.4"
SHARED = ("langchain", "langchain-core", "langgraph", "langgraph-checkpoint", "langgraph-checkpoint-sqlite", "pydantic")
FOLDER = ROOT / ".bench"


class EnvironmentFailure(Exception):
    """An environment cannot be made; the message says why."""


def peer_python() -> Path:
    """The interpreter of the peer's environment."""
    shared = [f"{name}=={found}" for name in SHARED if (found := _installed(name))]
    if not any(name.startswith("langgraph-checkpoint-sqlite") for name in shared):
        shared.append("langgraph-checkpoint-sqlite")
    return _environment("peer", [PEER, *shared])


def peer_server_python() -> Path:
    """The interpreter of an environment with `langgraph dev` and this project, which it is to serve."""
    shared = [f"{name}=={found}" for name in SHARED if name != "langgraph-checkpoint-sqlite" and (found := _installed(name))]
    # What the project needs is named too, so that a new dependency makes the environment anew.
    needed = [requirement for requirement in requires("stepwell") or () if "extra ==" not in requirement]
    return _environment("langgraph-dev", [PEER_SERVER, *shared, *needed, "--editable", f"{ROOT}[openai]"])


def tokens_python() -> Path:
    """The interpreter of an environment that can count o200k tokens without fetching anything at run time."""
    return _environment("tokens", [TOKENS])


def google_storage_python() -> Path:
    """The interpreter of an environment with Google's own client of its object store."""
    return _environment("google-storage", [GOOGLE_STORAGE])


def procrastinate_python() -> Path:
    """The interpreter of an environment with the job queue on Postgres that ours is compared with."""
    return _environment("procrastinate", [PROCRASTINATE])


def aegra_python() -> Path:
    """The interpreter of an environment with Aegra, a server of LangGraph's API on Postgres."""
    # SQLAlchemy asks for greenlet on some platforms only, and cannot do without it.
    return _environment("aegra", [AEGRA, AEGRA.replace("-api", "-cli"), "greenlet"])


def _environment(name: str, requirements: list[str]) -> Path:
    folder = FOLDER / name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    marker = folder / "requirements.txt"
    wanted = "\n".join(requirements)
    if python.exists() and marker.exists() and marker.read_text() == wanted:
        return python
    log(f"making the environment .bench/{name} ({requirements[0]})")
    uv = _uv()
    _run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)])
    _run([uv, "pip", "install", "--quiet", "--python", str(python), *requirements])
    marker.write_text(wanted)
    return python


def _uv() -> str:
    found = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if not found:
        raise EnvironmentFailure("uv is neither beside this Python nor on the PATH")
    return found


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise EnvironmentFailure(f"`uv {command[1]}` failed: {last[0][:200]}")


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
