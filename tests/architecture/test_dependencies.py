"""What is installed is above the security floors, and the lock is in step with `pyproject.toml`."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

# Versions below these have known holes.
FLOORS = {
    "langgraph": "1.0.10",
    "langgraph-checkpoint": "4.0.0",
    "langgraph-checkpoint-sqlite": "3.0.1",
    "langchain-core": "1.3.3",
    "langchain-openai": "1.1.14",
}


@pytest.fixture(scope="module")
def pyproject(root: Path) -> dict:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def lock(root: Path) -> dict[str, list[str]]:
    """The lock's entries: name to the versions it gives (more than one where platforms differ)."""
    entries: dict[str, list[str]] = {}
    for name, pinned in re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)", _lock_text(root), re.MULTILINE):
        entries.setdefault(canonicalize_name(name), []).append(pinned)
    return entries


def _lock_text(root: Path) -> str:
    return (root / "requirements.lock").read_text(encoding="utf-8")


def _direct(pyproject: dict) -> list[Requirement]:
    project = pyproject["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values(), *pyproject["dependency-groups"].values()]
    found = [Requirement(line) for group in lists for line in group]
    return [requirement for requirement in found if requirement.name != project["name"]]


@pytest.mark.parametrize(("name", "floor"), FLOORS.items())
def test_installed_version_is_above_its_security_floor(name: str, floor: str):
    assert Version(version(name)) >= Version(floor)


@pytest.mark.parametrize(("name", "floor"), FLOORS.items())
def test_locked_version_is_above_its_security_floor(lock: dict[str, list[str]], name: str, floor: str):
    assert all(Version(pinned) >= Version(floor) for pinned in lock[name])


def test_lock_satisfies_every_direct_dependency(pyproject: dict, lock: dict[str, list[str]]):
    stale = [
        str(requirement)
        for requirement in _direct(pyproject)
        if not all(
            requirement.specifier.contains(v, prereleases=True) for v in lock.get(canonicalize_name(requirement.name), [""])
        )
    ]
    assert stale == [], "run `make lock`"


def test_lock_has_a_hash_for_every_entry(root: Path):
    entries = re.split(r"\n(?=[a-z0-9])", _lock_text(root))
    assert [entry.splitlines()[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_installer_itself_is_locked_with_hashes(root: Path):
    """What installs everything else is not whatever an index gives today."""
    locked = (root / "scripts" / "bootstrap.lock").read_text(encoding="utf-8")
    assert re.match(r"uv==[0-9.]+ \\\n    --hash=sha256:", locked)
    script = (root / "scripts" / "bootstrap").read_text(encoding="utf-8")
    installs = re.findall(r"pip install ((?:[^\n]|\\\n)*)", script)
    assert installs
    for arguments in installs:
        assert "--require-hashes" in arguments or "--no-deps --no-build-isolation -e ." in arguments


def test_uv_trusts_the_certificates_of_the_machine(root: Path):
    """Behind a private authority it could not install anything otherwise."""
    for file in (root / "scripts" / "bootstrap", root / "scripts" / "mint", root / "Makefile"):
        text = file.read_text(encoding="utf-8")
        uses = re.findall(r"-m uv pip (?:install|compile)(?:[^\n]|\\\n)*", text)
        assert uses, file.name
        assert all("--system-certs" in use for use in uses), file.name
