"""The sandbox from inside: what a hostile command can see, reach and use. Real bubblewrap, real shells."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stepwell.errors import ConfigurationError
from stepwell.middleware.shell import ShellMiddleware
from stepwell.tools.shell.sandbox import BubblewrapPolicy
from stepwell.tools.shell.sandbox_limits import MIB, SandboxLimits
from stepwell.tools.shell.session import ShellSession, ShellSetup

Shell = Callable[..., str]


@pytest.fixture(autouse=True)
def _bubblewrap() -> None:
    """Skips where the sandbox cannot be; on a build server a missing bubblewrap fails the tests by name instead."""
    if sys.platform != "linux":
        pytest.skip("the sandbox is for Linux")
    try:
        BubblewrapPolicy().resolve_program()
    except ConfigurationError as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "on-the-host" / "work"
    folder.mkdir(parents=True)
    (folder.parent / "secret.txt").write_text("SECRET-OF-THE-HOST", encoding="utf-8")
    return folder


@pytest.fixture
def shell(workspace: Path) -> Iterator[Shell]:
    """Runs a command in a sandbox and gives what it printed; policy and environment by keyword."""
    sessions: list[ShellSession] = []

    def run(command: str, *, env: dict[str, str] | None = None, **options: object) -> str:
        policy = BubblewrapPolicy(**{"command_timeout": 120.0, **options})  # type: ignore[arg-type]  # each by its own name
        sessions.append(ShellSession(ShellSetup(policy, ("/bin/bash",), env or {}, workspace)))
        return sessions[-1].execute(command).output.text().strip()

    yield run
    for session in sessions:
        session.close()


def test_the_escape_test_passes_here_and_runs_once(monkeypatch: pytest.MonkeyPatch):
    """D14: the sandbox is tested when the middleware is built."""
    ShellMiddleware()
    monkeypatch.setattr(BubblewrapPolicy, "spawn", lambda *_, **__: pytest.fail("tested twice"))
    ShellMiddleware()


@pytest.mark.parametrize(
    "sham",
    [
        'while [ "$1" != -- ]; do shift; done; shift; exec "$@"',
        'while [ "$1" != -- ]; do shift; done; shift; cd /; exec env -i OUTSIDE=/root "$@"',
        "exit 0",
        'echo "end=reached"',
    ],
    ids=["runs-on-the-host", "runs-on-the-host-without-environment", "does-nothing", "lies"],
)
def test_a_sham_bubblewrap_is_refused(tmp_path: Path, sham: str):
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/sh\n{sham}\n", encoding="utf-8")
    program.chmod(0o755)
    with pytest.raises(ConfigurationError, match="does not hold") as refusal:
        ShellMiddleware(policy=BubblewrapPolicy(program=str(program)))
    assert str(tmp_path) not in str(refusal.value)


def test_the_workspace_has_a_neutral_path_and_is_writable(shell: Shell, workspace: Path):
    assert shell("pwd; echo made > here.txt; cat here.txt") == "/workspace\nmade"
    assert (workspace / "here.txt").read_text(encoding="utf-8") == "made\n"
    assert (workspace / "here.txt").stat().st_uid == os.getuid()


def test_files_of_the_host_are_not_there(shell: Shell, workspace: Path):
    outside = workspace.parent
    said = shell(
        f"cat {outside}/secret.txt /etc/shadow ../secret.txt; ls /root /home {outside}; cat /proc/1/root{outside}/secret.txt"
    )
    assert "SECRET-OF-THE-HOST" not in said
    assert "root:" not in said
    assert said.count("No such file or directory") == 7


def test_a_link_out_of_the_workspace_leads_nowhere(shell: Shell, workspace: Path):
    (workspace / "link").symlink_to(workspace.parent / "secret.txt")
    assert "No such file" in shell("cat link")


def test_the_parents_environment_is_nowhere_to_be_read(shell: Shell, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STEPWELL_TEST_SECRET", "hunter2")
    said = shell("env; cat /proc/*/environ | tr '\\0' '\\n'; tr '\\0' ' ' < /proc/1/cmdline", env={"NAMED": "value"})
    assert "hunter2" not in said
    assert "NAMED=value" in said


def test_command_lines_show_neither_variables_nor_the_hosts_path(shell: Shell, workspace: Path):
    said = shell("cat /proc/*/cmdline | tr '\\0' ' '", env={"TOKEN": "hunter2"})
    assert "bwrap" in said
    assert "hunter2" not in said
    assert str(workspace) not in said


def test_processes_of_the_host_cannot_be_seen_or_killed(shell: Shell):
    said = shell(f"kill -9 {os.getpid()} && echo KILLED; ls -d /proc/[0-9]* | wc -l")
    assert "KILLED" not in said
    assert int(said.splitlines()[-1]) < 10


def test_there_is_no_network_unless_asked_for(shell: Shell):
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]} && echo CONNECTED"
        assert "CONNECTED" not in shell(connect)
        assert "CONNECTED" in shell(connect, network=True)


@pytest.mark.parametrize("folder", ["/", "/usr", "/etc", "/dev", "/proc", "/usr/bin"])
def test_nothing_outside_the_workspace_can_be_written(shell: Shell, folder: str):
    assert "Read-only file system" in shell(f"echo x > {folder.rstrip('/')}/x") or folder == "/proc"
    assert "MADE" not in shell(f"echo x > {folder.rstrip('/')}/x && echo MADE")


def test_kernel_settings_cannot_be_written(shell: Shell):
    """A host process of root owns them; writing `core_pattern` would run a program on the host.

    Root is told that they are read-only; an ordinary user already lacks the right to them.
    """
    said = shell("for f in /proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches; do (: >> $f) && echo OPENED; done")
    assert "OPENED" not in said
    refusal = "Read-only file system" if os.geteuid() == 0 else "Permission denied"
    assert said.count(refusal) == 2


FAMILIES = """
import socket
for name, number in dict(UNIX=1, INET=2, INET6=10, NETLINK=16, PACKET=17, BLUETOOTH=31, ALG=38, VSOCK=40, XDP=44).items():
    try:
        socket.socket(number, socket.SOCK_RAW if name in ("NETLINK", "PACKET", "XDP") else socket.SOCK_STREAM).close()
    except OSError as error:
        print(name, error.errno)
    else:
        print(name, "made")
print(len(socket.socketpair()))
"""


@pytest.mark.skipif(os.uname().machine not in ("x86_64", "aarch64"), reason="the call filter knows two machines")
@pytest.mark.parametrize(("network", "allowed"), [(False, {"UNIX"}), (True, {"UNIX", "INET", "INET6"})])
def test_only_sockets_of_the_families_that_were_given_can_be_made(shell: Shell, network: bool, allowed: set[str]):
    said = shell(f"python3 - <<'END'\n{FAMILIES}\nEND", network=network)
    *families, pair = said.splitlines()
    assert pair == "2", said
    made = {line.split()[0] for line in families if line.endswith(" made")}
    assert made == allowed, said
    assert {line.split()[1] for line in families} <= {"made", str(errno.EAFNOSUPPORT)}


def test_with_a_network_names_are_still_resolved(shell: Shell):
    """Without netlink, which the C library asks for addresses if it can."""
    said = shell("python3 -c \"import socket; print(socket.getaddrinfo('localhost', 80)[0][4][0])\"", network=True)
    assert said in ("127.0.0.1", "::1")


def test_privileges_and_namespaces_are_out_of_reach(shell: Shell):
    said = shell(
        "unshare -U true && echo MADE; mount -t tmpfs t /tmp && echo MADE; chroot / true && echo MADE; id -u; hostname"
    )
    assert "MADE" not in said
    assert said.endswith("1000\nsandbox")


def test_tmp_is_private_and_bounded(shell: Shell):
    marker = f"/tmp/stepwell-{os.getpid()}"
    limits = SandboxLimits(tmp_bytes=8 * MIB)
    assert "No space left" in shell(f"touch {marker}; head -c 20M /dev/zero > {marker}", limits=limits)
    assert "No space left" in shell("head -c 20M /dev/zero > /dev/shm/x", limits=limits)
    assert not Path(marker).exists()


def test_limits_hold(shell: Shell):
    limits = SandboxLimits(cpu_s=1, memory_bytes=64 * MIB, file_bytes=MIB)
    assert shell("head -c 5M /dev/zero > big; stat -c %s big", limits=limits).endswith(str(MIB))
    assert "OK" not in shell("x=$(head -c 200M /dev/zero | tr '\\0' x) && echo OK", limits=limits)
    assert shell("(while :; do :; done) || echo killed", limits=limits).endswith("killed")


def test_the_number_of_processes_is_set(shell: Shell):
    assert shell("ulimit -Hu", limits=SandboxLimits(processes=50)) == "50"


def test_more_of_the_host_can_be_shown_read_only(shell: Shell, tmp_path: Path):
    extra = tmp_path / "tools"
    extra.mkdir()
    (extra / "note").write_text("shown", encoding="utf-8")
    said = shell(f"cat {extra}/note; touch {extra}/x", read_only_paths=[extra])
    assert said.startswith("shown")
    assert "Read-only" in said


def test_the_sandbox_dies_when_its_parent_is_killed(workspace: Path):
    code = textwrap.dedent("""
        import sys, time
        from pathlib import Path
        from stepwell.tools.shell.sandbox import BubblewrapPolicy
        from stepwell.tools.shell.session import ShellSession, ShellSetup
        session = ShellSession(ShellSetup(BubblewrapPolicy(), ("/bin/bash",), {}, Path(sys.argv[1])))
        session.execute("(while sleep 0.1; do date +%N > beat; done) > /dev/null 2>&1 &")
        print("up", flush=True)
        time.sleep(600)
    """)
    with subprocess.Popen([sys.executable, "-c", code, str(workspace)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "up\n"
        beat = workspace / "beat"
        assert until(lambda: beat.exists() and bool(beat.read_text(encoding="utf-8")))
        parent.kill()
    assert until(lambda: not changes(beat))


def changes(file: Path) -> bool:
    before = file.read_text(encoding="utf-8")
    time.sleep(0.5)
    return file.read_text(encoding="utf-8") != before


def until(condition: Callable[[], bool], seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()
