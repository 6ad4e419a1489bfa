"""`stepwell init`: each template makes a project whose tests pass and whose server answers, without a key and as printed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_sync_client
from tests.integration.cli.test_cli import stepwell, warm
from tests.integration.clients.processes import started
from tests.integration.test_langgraph_dev import langgraph_dev

from stepwell.cli.project import init
from stepwell.cli.project.arguments import TEMPLATES

ROOT = Path(__file__).parents[3]
ASKED = {
    "agent": ("agent", "How many days are there from 2026-03-01 to 2026-06-30?", "121 days."),
    "research": ("research", "Why were stepwells built, and how deep is Rani ki Vav?", "plan_approval"),
    "tutor": ("tutor", "Should cities close their centres to cars?", "clarification_request"),
    "workspace": ("workspace", "add a rain coat", "edit_file"),
    "product": ("my_product", "Hello", "You said: Hello"),
}


def create(folder: Path, template: str) -> Path:
    done = stepwell("init", f"my-{template}", "--template", template, cwd=folder)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "make test" in done.stdout
    return folder / f"my-{template}"


def ask(url: str, assistant: str, text: str) -> str:
    """The answer, or the question that the agent asks."""
    with get_sync_client(url=url, api_key=None) as client:
        thread_id = client.threads.create()["thread_id"]
        answered: Any = client.runs.wait(thread_id, assistant, input={"messages": [{"role": "user", "content": text}]})
        interrupts = client.threads.get(thread_id)["interrupts"]
        return str(interrupts or answered["messages"][-1]["content"])


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_new_project_passes_its_tests_and_answers(tmp_path: Path, template: str):
    project = create(tmp_path, template)
    kept = {name: os.environ[name] for name in ("PATH", "HOME")} | {"STEPWELL_DATA_DIR": str(tmp_path / "data")}
    tested = subprocess.run(["make", "test"], cwd=project, env=kept, capture_output=True, text=True, timeout=300)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert tested.stderr.rstrip().endswith("OK")
    assistant, question, answer = ASKED[template]
    with started(["make", "run", "ARGS=--port 0"], project, {"STEPWELL_DATA_DIR": str(tmp_path / "data")}) as lines:
        url = lines.wait_for("Serving at ").removeprefix("Serving at ").strip()
        talk = lines.wait_for("  talk ")
        assert ("--assistant my_product" in talk) is (template == "product"), talk
        assert answer in ask(url, assistant, question)
    assert (project / f"my-{template}.db").is_file(), "conversations are stored in the project"


def test_a_project_of_a_clone_installs_the_clone(tmp_path: Path):
    project = create(tmp_path, "agent")
    written = (project / "local.mk").read_text()
    assert written.splitlines()[1] == f"STEPWELL := -e {ROOT}"
    told = subprocess.run(["make", "-n", "setup"], cwd=project, capture_output=True, text=True, timeout=300, check=True)
    assert f"install -e {ROOT}" in told.stdout, told.stdout


@pytest.mark.parametrize("options", [[], ["-p", "no:asyncio"]], ids=["with-asyncio", "without"])
@pytest.mark.parametrize("template", ["agent", "product"])
def test_pytest_runs_the_tests_of_a_project_without_a_warning(tmp_path: Path, template: str, options: list[str]):
    project = create(tmp_path, template)
    kept = {name: os.environ[name] for name in ("PATH", "HOME")} | {"STEPWELL_DATA_DIR": str(tmp_path / "data")}
    command = [sys.executable, "-m", "pytest", "-q", *options]
    tested = subprocess.run(command, cwd=project, env=kept, capture_output=True, text=True, timeout=300)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "warning" not in (tested.stdout + tested.stderr).lower()


def test_what_a_project_keeps_to_itself_is_not_committed(tmp_path: Path):
    project = create(tmp_path, "agent")
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    (project / "my-agent.db").touch()
    (project / "my-agent.db.lock").touch()
    listed = subprocess.run(["git", "status", "--porcelain", "-uall"], cwd=project, capture_output=True, text=True, check=True)
    new = {line.removeprefix("?? ") for line in listed.stdout.splitlines()}
    assert new == {
        ".env.example", ".gitignore", "Makefile", "README.md", "agent.py", "langgraph.json", "pytest.ini", "requirements.txt",
        "stand_in.py", "tests/__init__.py", "tests/test_agent.py",
    }  # fmt: skip
    for name in new:
        text = (project / name).read_text()
        assert sys.prefix not in text, f"{name} names a path of this machine"
        assert not any(left in text for left in ("project-name", "project_name", "graph-name")), name


def test_nothing_is_overwritten(tmp_path: Path):
    project = create(tmp_path, "agent")
    (project / "agent.py").write_text("mine")
    again = warm("init", "my-agent", cwd=tmp_path)
    assert again.returncode == 2
    assert again.stderr == "The folder 'my-agent' is not empty. Nothing was written: choose another name, or empty it first.\n"
    assert (project / "agent.py").read_text() == "mine"
    (tmp_path / "file").touch()
    assert "is not a folder" in warm("init", "file", cwd=tmp_path).stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "my-agent"], "and nothing is left behind"


@pytest.mark.parametrize("name", ["1st", "my agent", "ä", "..", "a.b", "class", "json", "stepwell"])
def test_a_name_that_python_could_not_use_is_refused(tmp_path: Path, name: str):
    refused = warm("init", name, cwd=tmp_path)
    assert refused.returncode == 2
    assert any(part in refused.stderr for part in ("Begin with a letter", "is not empty", "Choose another name"))
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_is_filled(tmp_path: Path):
    (tmp_path / "here").mkdir()
    assert warm("init", "here", cwd=tmp_path).returncode == 0
    assert (tmp_path / "here" / "agent.py").is_file()


def test_an_unknown_template_is_refused_with_those_there_are(tmp_path: Path):
    refused = warm("init", "x", "--template", "robot", cwd=tmp_path)
    assert refused.returncode == 2
    assert all(name in refused.stderr for name in TEMPLATES)


def test_langgraph_dev_serves_a_new_project_too(tmp_path: Path):
    project = create(tmp_path, "agent")
    with langgraph_dev(project, {}) as url:
        assert "121 days." in ask(url, "agent", ASKED["agent"][1])


def test_every_file_of_the_templates_is_in_the_repository_and_so_in_the_wheel():
    """git and the build leave out what .gitignore names."""
    folder = Path(init.__file__).parent / "templates"
    listed = subprocess.run(
        ["git", "status", "--porcelain", "--ignored", "-uall", "--", "."],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    ignored = [line for line in listed.stdout.splitlines() if line.startswith("!!") and "__pycache__" not in line]
    assert ignored == []
