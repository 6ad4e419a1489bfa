"""Writes a new project: the files of a template, with the project's name in them. All of it, or nothing.

```
templates/every/      in every project: Makefile, pytest.ini, .gitignore, .env.example, requirements.txt
templates/NAME/       what this template adds, or has in another form
```
In these files `project-name` stands for the project's name, `project_name` for the same as a Python name, and `graph-name` for the first
graph of its langgraph.json. The template's own Python files are thus Python, and are formatted and checked as such.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from importlib import resources
from importlib.metadata import distribution, packages_distributions
from importlib.resources.abc import Traversable
from keyword import iskeyword
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from stepwell.errors import ConfigurationError
from stepwell.terminal.own_command import spell_command

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_RENAMED = {
    "gitignore": ".gitignore",
    "env.example": ".env.example",
    "project_name.metadata": "project_name.egg-info",
}
"""What would have an effect on our own repository under its real name, or be ignored there, and so be missing in the wheel."""


def run(folder: Path, template: str) -> int:
    """Create the project and say how to go on."""
    name = folder.resolve().name
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"'{name}' cannot be the name of a project. Begin with a letter, and use only letters, digits, '-' and '_'."
        )
    _refuse_taken(name)
    _refuse_what_is_there(folder)
    _write(folder, _files(template, name))
    print(
        f"Created '{name}' from the template '{template}'. It runs without a key:\n"
        f"  cd {folder}\n"
        "  make test    run its tests\n"
        "  make run     start the server with its page\n"
        "  make dev     the same, started again whenever a file changes\n"
        f"README.md says what is in it. To connect a model, use the page, or `{spell_command('models use')}` in that folder."
    )
    return 0


def _refuse_what_is_there(folder: Path) -> None:
    if folder.is_dir() and any(folder.iterdir()):
        raise ConfigurationError(
            f"The folder '{folder}' is not empty. Nothing was written: choose another name, or empty it first."
        )
    if not folder.is_dir() and (folder.exists() or folder.is_symlink()):
        raise ConfigurationError(f"'{folder}' exists and is not a folder. Nothing was written: choose another name.")


def _refuse_taken(name: str) -> None:
    package = _package_of(name)
    if iskeyword(package) or package in sys.stdlib_module_names or package in {"stepwell", *packages_distributions()}:
        raise ConfigurationError(
            f"'{name}' cannot be the name of a project: Python, or a package that is installed here, has '{package}' already. Choose "
            f"another name, such as '{name}-agent'."
        )


def _package_of(name: str) -> str:
    return name.replace("-", "_").lower()


def _files(template: str, name: str) -> dict[str, str]:
    """The project's files: path -> text."""
    templates = resources.files("stepwell.cli.project") / "templates"
    texts = {**_read(templates / "every"), **_read(templates / template)}
    package = _package_of(name)
    (graph, *_) = json.loads(texts["langgraph.json"])["graphs"]

    def fill(text: str) -> str:
        return text.replace("project-name", name).replace("project_name", package).replace("graph-name", graph)

    files = {fill(path): fill(text) for path, text in texts.items()}
    if template == "research":
        policy = resources.files("stepwell.research.evidence.policy") / "POLICY.md"
        files["POLICY.md"] = policy.read_text(encoding="utf-8")
    # Which Python has Stepwell is a fact about this machine, so it is kept out of the Makefile, which others will clone.
    files["local.mk"] = f"PYTHON := {_for_make(sys.executable)}\nSTEPWELL := {_own_source()}\n"
    files[".env"] = files[".env.example"]
    return files


def _own_source() -> str:
    """What `make setup` passes to pip to install this Stepwell: its clone. Empty for one that came from a package index."""
    installed_from = json.loads(distribution("stepwell").read_text("direct_url.json") or "{}")
    if "dir_info" not in installed_from:
        return ""
    return f"-e {_for_make(url2pathname(urlsplit(installed_from['url']).path))}"


def _for_make(path: str) -> str:
    return path.replace("$", "$$").replace(" ", "\\ ")


def _read(folder: Traversable, above: str = "") -> dict[str, str]:
    texts: dict[str, str] = {}
    for entry in folder.iterdir():
        path = f"{above}{_RENAMED.get(entry.name, entry.name)}"
        if entry.is_dir():
            texts |= {} if entry.name == "__pycache__" else _read(entry, f"{path}/")
        elif not entry.name.endswith(".pyc"):
            texts[path] = entry.read_text(encoding="utf-8")
    return texts


def _write(folder: Path, files: dict[str, str]) -> None:
    """Write the files beside the folder first, and rename them into place, so that a full disk leaves no half project behind."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            beside.chmod(0o755)
            for path, text in files.items():
                file = beside / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            (beside / ".env").chmod(0o600)  # keys will be written into it
            if folder.is_dir():
                folder.rmdir()  # only an empty one; refuses if somebody was quicker
            beside.rename(folder)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    except OSError as error:
        raise ConfigurationError(
            f"The project cannot be written to '{folder}': {error.strerror}. Nothing was left behind; choose another place."
        ) from error
