"""`stepwell keys` as a command."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.integration.served.process import environment
from tests.integration.served.warm import run_warm

from stepwell.server.login.api_keys import KEY_FORM


def keys(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_warm(["keys", *arguments], folder, environment(STEPWELL_DATA_DIR=str(folder)))


def test_a_key_is_shown_once_listed_without_its_secret_and_revoked(tmp_path: Path):
    made = keys(tmp_path, "create", "--user", "anna", "--operator", "--expires", "30")
    key = KEY_FORM.fullmatch(made.stdout.strip())
    assert made.returncode == 0
    assert key, "the key stands alone on standard output"
    listed = keys(tmp_path, "list")
    assert all(word in listed.stdout for word in (key[1], "anna", "operator", "until"))
    assert key[0][20:] not in listed.stdout + made.stderr
    assert keys(tmp_path, "revoke", key[1]).returncode == 0
    assert "revoked" in keys(tmp_path, "list").stdout
    assert keys(tmp_path, "revoke", key[1]).returncode == 1


def test_a_key_opens_the_workspaces_it_was_made_for(tmp_path: Path):
    made = keys(tmp_path, "create", "--user", "ben", "--root", "/acme/main/", "--root", "acme/plans", "--read-root", "/shared/")
    assert made.returncode == 0, made.stderr
    assert "ben  /acme/main/  /acme/plans/  /shared/ (read)" in keys(tmp_path, "list").stdout


@pytest.mark.parametrize(
    "arguments", [["--user", "system"], ["--user", ""], ["--user", "a", "--expires", "0"], ["--user", "a", "--root", "/"], []]
)
def test_a_key_for_nobody_is_refused_with_a_sentence(tmp_path: Path, arguments: list[str]):
    refused = keys(tmp_path, "create", *arguments)
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "stepwell.db").exists()
