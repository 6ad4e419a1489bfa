"""Public projects with a `langgraph.json`, served as they were cloned: no key, no `.env`, and without `--install` none of their packages.

    python -m benchmarks.public_projects [--install] [--from FOLDER] [--only NAME]

Each is started with `stepwell serve` and asked for its assistants. A graph counts as served if it was built; otherwise our sentence about
it is printed, which has to name what is missing. `--install` gives each project an environment with Stepwell and what the project asks for.
The projects are fetched to a temporary folder and never kept; `--from` names a folder of bare repositories, `owner+name/repo`. Prints a
table; docs/reference/public-projects.md sums it up.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

PROJECTS = {
    "langchain-ai/new-langgraph-project": ("c89ad1943853aea37ad56d1f2ab62ae8194af0ac", "langgraph.json"),
    "langchain-ai/react-agent": ("d89d249c2a768e8b166c7c4e3bfeff2c73acb00f", "langgraph.json"),
    "langchain-ai/memory-agent": ("09bf577731b4d5a35157cf4e18aa5af3c7a5095d", "langgraph.json"),
    "langchain-ai/retrieval-agent-template": ("8f4025541ba9a3a795066c00b1689fa40695f0ee", "langgraph.json"),
    "langchain-ai/data-enrichment": ("028fd9a96a1179397df5748e06870c2269308f20", "langgraph.json"),
    "langchain-ai/open_deep_research": ("408da442a661ea5e40a6163329f82e3f22628949", "langgraph.json"),
    "langchain-ai/local-deep-researcher": ("0be4c86ea71e1671ff273dfc07dc1aab45ed22f8", "langgraph.json"),
    "langchain-ai/agents-from-scratch": ("edf2c479191d89bf96e6dceb6ee952a618979fc6", "langgraph.json"),
    "langchain-ai/executive-ai-assistant": ("758db7174223da7864feea7c9f8d1aba12923037", "langgraph.json"),
    "langchain-ai/company-researcher": ("d62bcbfd7e2bd477432d01c0a80dfb3791eb67d9", "langgraph.json"),
    "google-gemini/gemini-fullstack-langgraph-quickstart": (
        "e34e569de465340e42f36cd3cab4fac0c3ce7036",
        "backend/langgraph.json",
    ),
}
START_S = 600.0
ROOT = Path(__file__).parents[1]


def fetch(name: str, commit: str, mirrors: Path | None, folder: Path) -> Path:
    source = str(mirrors / name.replace("/", "+") / "repo") if mirrors else f"https://github.com/{name}"
    place = folder / name.replace("/", "+")
    subprocess.run(["git", "clone", "--quiet", source, str(place)], check=True)
    subprocess.run(["git", "-C", str(place), "checkout", "--quiet", commit], check=True)
    return place


class NotInstallable(Exception):
    """What the project asks for cannot stand beside Stepwell; the message says why."""


def install(project: Path, place: Path) -> str:
    """The interpreter of an environment with Stepwell and what the project asks for."""
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", str(place)], check=True)
    wanted = ["-r", str(project / "requirements.txt")] if not (project / "pyproject.toml").is_file() else ["-e", str(project)]
    python = str(place / "bin" / "python")
    command = [*uv, "pip", "install", "--quiet", "--python", python, "-e", f"{ROOT}[server,openai,anthropic,google]", *wanted]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise NotInstallable(" ".join(done.stderr.split())[-600:])
    return python


def serve(project: Path, data: Path, python: str) -> tuple[str, list[str]]:
    """What the server said, and the graphs it serves; none if it refused to start."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    command = [python, "-m", "stepwell", "serve", "--port", "0", "--graphs", str(project)]
    variables = {**kept, "PYTHONUNBUFFERED": "1", "LANGSMITH_TRACING": "false", "STEPWELL_DATA_DIR": str(data)}
    with subprocess.Popen(
        command, cwd=project.parent, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        said: list[str] = []
        reader = threading.Thread(target=lambda: said.extend(process.stdout or ()), daemon=True)
        reader.start()
        until = time.monotonic() + START_S
        while process.poll() is None and time.monotonic() < until and not any("  stop " in line for line in said):
            time.sleep(0.1)
        address = next((line.split()[-1] for line in said if line.startswith("Serving at ")), None)
        graphs = assistants(address) if address and process.poll() is None else []
        if process.poll() is None and not address:
            said.append(f"It did not start within {START_S:g} s.\n")
        process.terminate()
        process.wait()
        reader.join()
    return "".join(line for line in said if not line.startswith("{")), graphs


def assistants(address: str) -> list[str]:
    asked = urllib.request.Request(
        f"{address}/assistants/search", data=b'{"limit": 100}', headers={"content-type": "application/json"}
    )
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return sorted(each["graph_id"] for each in json.load(answer))


def row(name: str, said: str, graphs: list[str]) -> str:
    if "It did not start within" in said:
        return f"| {name} | did not start in time: measure again | - | - |"
    problems = re.findall(r"^(?:\s*not built\s+)?(The graph '[^']+' .*)$", said, re.MULTILINE)
    broken = {re.match(r"The graph '([^']+)'", problem)[1] for problem in problems}  # type: ignore[index]
    served = [graph for graph in graphs if graph not in broken]
    told = "; ".join(dict.fromkeys(problem.strip() for problem in problems)) or "-"
    notes = "; ".join(re.findall(r"^\s*note\s+(.*)$", said, re.MULTILINE)) or "-"
    return f"| {name} | {', '.join(served) or 'none'} | {told} | {notes} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="mirrors", type=Path)
    parser.add_argument("--only")
    parser.add_argument("--install", action="store_true")
    options = parser.parse_args()
    print("| project | served | not built, and our sentence | notes |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, (commit, file) in PROJECTS.items():
            if options.only and options.only not in name:
                continue
            project = fetch(name, commit, options.mirrors, folder) / file
            key = name.replace("/", "+")
            try:
                python = install(project.parent, folder / f"env-{key}") if options.install else sys.executable
            except NotInstallable as reason:
                print(f"| {name} | cannot be installed beside Stepwell | {reason} | - |", flush=True)
                continue
            said, graphs = serve(project, folder / f"data-{key}", python)
            print(row(name, said, graphs), flush=True)
            if not graphs:
                print(said, file=sys.stderr)


if __name__ == "__main__":
    main()
