"""What GitHub reads of the project is valid, and leads to files that exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

SCHEMAS = {
    "workflows/ci.yml": "vendor.github-workflows",
    "ISSUE_TEMPLATE/bug.yml": "vendor.github-issue-forms",
    "ISSUE_TEMPLATE/idea.yml": "vendor.github-issue-forms",
    "ISSUE_TEMPLATE/config.yml": "vendor.github-issue-config",
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_file_of_github_is_valid(root: Path, name: str):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", SCHEMAS[name], str(root / ".github" / name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout


def test_every_file_of_github_is_checked(root: Path):
    assert {path.relative_to(root / ".github").as_posix() for path in (root / ".github").rglob("*.yml")} == set(SCHEMAS)


def test_ci_runs_what_a_contributor_can_run(root: Path):
    workflow = yaml.safe_load((root / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    (job,) = workflow["jobs"].values()
    assert ".ci/run" in [step.get("run") for step in job["steps"]]


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md"])
def test_links_of_a_page_at_the_root_lead_to_files(root: Path, name: str):
    targets = re.findall(r"\]\(([^)#:]+)[^):]*\)", (root / name).read_text(encoding="utf-8"))
    assert [target for target in targets if not (root / target).exists()] == []


def test_files_that_contributing_names_exist(root: Path):
    page = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"\b(?:tests|src|scripts|web)/[\w/.-]+\w", page)
    made_up = {"tests/unit/test_x.py"}
    ignored = {"src/api/schema.ts", "src/stepwell/server/page/static"}  # below web/, and what git ignores
    assert [name for name in named if name not in made_up | ignored and not (root / name).exists()] == []
