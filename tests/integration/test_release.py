"""`make release` builds and checks a release in a clean repository, names what is missing, and pushes nothing."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
FILES = (
    "pyproject.toml", "README.md", "LICENSE", "THIRD_PARTY_LICENSES", "CHANGELOG.md", ".gitignore", "scripts/release", "scripts/licenses",
    "web/package.json", "web/package-lock.json", "tests/conftest.py",
)  # fmt: skip
PAGE = "src/stepwell/server/page/static/index.html"


def git(repository: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.com"]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=repository, check=True, capture_output=True, text=True, timeout=120
    ).stdout


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a release is made from, in a repository of its own, ready but for its page and its changelog."""
    made = tmp_path_factory.mktemp("release") / "stepwell"
    shutil.copytree(ROOT / "src", made / "src", ignore=shutil.ignore_patterns("static", "__pycache__"))
    for name in FILES:
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, made / name)
    golden = made / "tests" / "fixtures" / "golden" / f"{VERSION}.db"
    golden.parent.mkdir(parents=True)
    golden.touch()
    changelog = made / "CHANGELOG.md"
    changelog.write_text(changelog.read_text(encoding="utf-8").replace(f"## [{VERSION}]", "## [0.0.0]"), encoding="utf-8")
    git(made, "init", "--quiet")
    commit(made)
    git(made, "branch", "prepared")
    return made


@pytest.fixture
def repository(prepared: Path) -> Path:
    git(prepared, "reset", "--quiet", "--hard", "prepared")
    shutil.rmtree(prepared / "dist", ignore_errors=True)
    (prepared / PAGE).parent.mkdir(exist_ok=True)
    (prepared / PAGE).write_text("<!doctype html>")
    return prepared


def commit(repository: Path) -> None:
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "A change")


def name_section(repository: Path, heading: str) -> None:
    changelog = repository / "CHANGELOG.md"
    changelog.write_text(changelog.read_text(encoding="utf-8").replace("## [Unreleased]", heading, 1), encoding="utf-8")
    commit(repository)


def release(repository: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "scripts/release"], cwd=repository, capture_output=True, text=True, timeout=600, check=False
    )


def test_a_release_is_built_checked_and_not_pushed(repository: Path):
    name_section(repository, f"## [{VERSION}] - 2026-01-02")
    done = release(repository)
    assert done.returncode == 0, done.stderr
    assert f"git tag --annotate v{VERSION}" in done.stdout
    assert git(repository, "tag", "--list") == ""
    with zipfile.ZipFile(repository / "dist" / f"stepwell-{VERSION}-py3-none-any.whl") as wheel:
        assert PAGE.removeprefix("src/") in wheel.namelist()
        assert b"onnxruntime-web" in wheel.read(f"stepwell-{VERSION}.dist-info/licenses/THIRD_PARTY_LICENSES")
    with tarfile.open(repository / "dist" / f"stepwell-{VERSION}.tar.gz") as archive:
        assert f"stepwell-{VERSION}/{PAGE}" in archive.getnames()


def test_a_release_without_its_page_is_refused(repository: Path):
    name_section(repository, f"## [{VERSION}] - 2026-01-02")
    (repository / PAGE).unlink()
    done = release(repository)
    assert done.returncode == 1
    assert "the page is not built. Run `make page`" in done.stderr


@pytest.mark.parametrize(
    ("heading", "said"),
    [("## [Unreleased]", "CHANGELOG.md has no section"), (f"## [{VERSION}]", "of CHANGELOG.md has no date")],
    ids=["no section", "no date"],
)
def test_a_release_needs_a_dated_section_of_the_changelog(repository: Path, heading: str, said: str):
    if heading != "## [Unreleased]":
        name_section(repository, heading)
    done = release(repository)
    assert done.returncode == 1
    assert said in done.stderr
    assert not (repository / "dist").exists()


def test_a_release_needs_a_clean_tree_and_a_new_tag(repository: Path):
    name_section(repository, f"## [{VERSION}] - 2026-01-02")
    (repository / "new.py").touch()
    assert "the tree has changes" in release(repository).stderr
    commit(repository)
    git(repository, "tag", f"v{VERSION}")
    try:
        assert f"the tag v{VERSION} exists" in release(repository).stderr
    finally:
        git(repository, "tag", "--delete", f"v{VERSION}")


def test_a_release_needs_the_licences_of_the_packages_in_its_page(repository: Path):
    name_section(repository, f"## [{VERSION}] - 2026-01-02")
    licences = repository / "THIRD_PARTY_LICENSES"
    licences.write_text(licences.read_text(encoding="utf-8").replace("\nsvelte ", "\nsvelte 0."), encoding="utf-8")
    commit(repository)
    assert "Run scripts/licenses" in release(repository).stderr


def test_the_licences_in_the_repository_are_those_of_the_page():
    done = subprocess.run(
        [sys.executable, "scripts/licenses", "--check"], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout
