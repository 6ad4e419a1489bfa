"""Commands in the folder of the agent's files, held to the permissions of the file tools. Real sandboxes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import ShellToolMiddleware

from stepwell import CompositeBackend, FilesystemBackend, FilesystemPermission, StateBackend, create_deep_agent
from stepwell.errors import ConfigurationError
from stepwell.middleware.shell import ShellMiddleware
from stepwell.testing import ScriptedModel, call, say
from stepwell.tools.shell.sandbox import BubblewrapPolicy

BOTH = ["read", "write"]


@pytest.fixture(autouse=True)
def _bubblewrap() -> None:
    if sys.platform != "linux":
        pytest.skip("the sandbox is for Linux")
    try:
        BubblewrapPolicy().resolve_program()
    except ConfigurationError as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "a.md": "open",
        "secrets/key": "hidden",
        "deep/vault/key": "hidden",
        ".env": "hidden",
        "lib/x": "lib",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def deny(*paths: str, operations: Any = BOTH) -> FilesystemPermission:
    return FilesystemPermission(operations, list(paths), "deny")


def outputs(folder: Path, permissions: list[FilesystemPermission], *commands: str, backend: Any = None) -> list[str]:
    steps = [call("execute", command=command) for command in commands]
    agent = create_deep_agent(
        ScriptedModel([*steps, say("done")]),
        backend=backend or FilesystemBackend(folder),
        middleware=[ShellMiddleware(folder)],
        permissions=permissions,
    )
    final = agent.invoke({"messages": [("user", "go")]})
    return [message.text for message in final["messages"] if message.type == "tool"]


def test_commands_find_nothing_in_denied_folders_and_files(folder: Path):
    rules = [deny("/secrets/**", "/deep/vault", "/.env")]
    everything, content, written = outputs(
        folder,
        rules,
        "grep -r . . ; cat secrets/* deep/vault/* .env",
        "cat a.md; echo more > lib/y",
        "echo x > secrets/new; echo x > .env",
    )
    assert "hidden" not in everything
    assert "open" in content
    assert (folder / "lib/y").read_text() == "more\n"
    assert "Read-only" in written
    assert (folder / ".env").read_text() == "hidden"
    assert not (folder / "secrets/new").exists()


def test_a_denied_folder_cannot_be_moved_to_where_no_rule_is(folder: Path):
    outputs(
        folder,
        [deny("/deep/vault/**", "/secrets/**")],
        "mv deep shallow; mv deep/vault here; mv secrets open; ln secrets/key k",
    )
    assert (folder / "deep/vault/key").read_text() == "hidden"
    assert (folder / "secrets/key").read_text() == "hidden"
    assert not (folder / "shallow").exists()


def test_a_folder_that_may_only_be_read_is_read_only(folder: Path):
    read, written = outputs(folder, [deny("/lib/**", operations=["write"])], "cat lib/x", "echo x > lib/x")
    assert "lib" in read
    assert "Read-only" in written
    assert (folder / "lib/x").read_text() == "lib"


def test_a_denied_folder_that_is_missing_cannot_be_made(folder: Path):
    outputs(folder, [deny("/later/**")], "mkdir -p later; echo x > later/x")
    assert not list((folder / "later").iterdir())


def test_rules_of_a_mount_are_meant_for_its_folder(folder: Path):
    tree = CompositeBackend(StateBackend(), {"/disk/": FilesystemBackend(folder)})
    (seen,) = outputs(folder, [deny("/disk/secrets/**")], "cat secrets/key a.md", backend=tree)
    assert "hidden" not in seen
    assert "open" in seen


def test_commands_apart_from_the_agents_files_run_as_they_are(tmp_path: Path):
    (tmp_path / "x").write_text("own")
    assert outputs(tmp_path, [deny("/**/*.pem")], "cat x", backend=StateBackend()) == ["own"]


@pytest.mark.parametrize(
    ("permissions", "says"),
    [
        ([deny("/**/*.pem")], "wildcards"),
        ([FilesystemPermission(BOTH, ["/secrets/**"], "interrupt")], "asks a person"),
        ([FilesystemPermission(BOTH, ["/secrets/open/**"]), deny("/secrets/**")], "exceptions"),
        ([deny("/**")], "wildcards"),
    ],
)
def test_rules_that_no_mount_can_keep_are_refused(folder: Path, permissions: list[FilesystemPermission], says: str):
    with pytest.raises(ConfigurationError, match=says):
        outputs(folder, permissions)


def test_folders_inside_one_another_and_unknown_backends_are_refused(folder: Path):
    for backend in (FilesystemBackend(folder / "lib"), lambda runtime: FilesystemBackend(folder)):
        with pytest.raises(ConfigurationError):
            outputs(folder, [deny("/secrets/**")], backend=backend)


def test_another_projects_shell_is_refused(folder: Path):
    with pytest.raises(ConfigurationError, match="ShellMiddleware"):
        create_deep_agent(
            ScriptedModel([say("x")]), middleware=[ShellToolMiddleware(folder)], permissions=[deny("/secrets/**")]
        )


def test_a_subagents_commands_are_refused_when_the_agent_is_built(folder: Path):
    shell = ShellMiddleware(folder, policy="unsandboxed_host")
    helper: Any = {"name": "helper", "description": "helps", "system_prompt": "Help.", "middleware": [shell]}
    with pytest.raises(ConfigurationError, match="sandbox"):
        create_deep_agent(
            ScriptedModel([say("x")]), backend=FilesystemBackend(folder), subagents=[helper], permissions=[deny("/secrets/**")]
        )
