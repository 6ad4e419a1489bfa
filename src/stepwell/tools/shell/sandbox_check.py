"""The escape test: does the sandbox hold on this machine?

A short script runs inside a real sandbox, beside a file and an environment variable that it must not be able to see. It tries what an
attacker would try first, and prints one `name=value` line per fact. `judge` turns facts into sentences; a missing fact counts against
the sandbox. This proves nothing about the kernel, but it catches a wall that is missing, misconfigured or ineffective.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from stepwell.errors import ConfigurationError
from stepwell.tools.shell.sandbox import WAY_OUT, BubblewrapPolicy
from stepwell.tools.shell.seccomp import filter_for

NAMESPACES = ("user", "pid", "mnt", "ipc", "uts", "net")
_TIMEOUT_S = 20.0

# `: >> file` opens for writing and writes nothing.
_PROBE = r"""
for kind in user pid mnt ipc uts net; do echo "ns_$kind=$(readlink /proc/self/ns/$kind)"; done
for file in /etc/shadow /root "$OUTSIDE" "$OUTSIDE/secret"; do [ -e "$file" ] && echo "seen=$file"; done
for folder in / /usr /etc /dev /proc /proc/sys; do
  if (: > "$folder/stepwell-probe") 2>/dev/null; then echo "written=$folder"; fi
done
for file in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /proc/sys/kernel/hostname; do
  if (: >> "$file") 2>/dev/null; then echo "written=$file"; fi
done
(: > /workspace/probe) 2>/dev/null && echo "workspace=writable"
echo "processes=$(ls -d /proc/[0-9]* | wc -l)"
cat /proc/1/cmdline /proc/$$/cmdline | grep -a -q -F -e "$OUTSIDE" && echo "leaked=path"
for pid in /proc/[0-9]*; do tr '\0' '\n' < "$pid/environ" 2>/dev/null; done | sed -n 's/^\([A-Za-z_0-9]*\)=.*/variable=\1/p' | sort -u
ls /proc/self/fd > /tmp/files
echo "files=$(wc -l < /tmp/files)"
(unshare -U true) 2>/dev/null && echo "nested=user"
echo "caps=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)"
echo "no_new_privs=$(sed -n 's/^NoNewPrivs:[[:space:]]*//p' /proc/self/status)"
echo "seccomp=$(sed -n 's/^Seccomp:[[:space:]]*//p' /proc/self/status)"
echo "end=reached"
"""
_OWN_VARIABLES = {"PATH", "HOME", "LANG", "TERM", "OUTSIDE", "PWD", "OLDPWD", "SHLVL", "_"}
_MAX_PROCESSES = 16
_OWN_FILES = 4
"""How many open files of `ls` itself are in its list of open files: the three streams and the folder it reads."""

Facts = Mapping[str, list[str]]


def check_sandbox(policy: BubblewrapPolicy) -> None:
    """Raise an error unless the sandbox starts and holds."""
    if found := ways_out(policy.resolve_program(), policy.network):
        raise ConfigurationError(f"The sandbox for commands does not hold here: {'; '.join(found)}. {WAY_OUT}")


@cache
def ways_out(program: str, network: bool) -> tuple[str, ...]:
    """The escape routes found in a sandbox of this kind; empty if it holds. Runs once per process."""
    with tempfile.TemporaryDirectory(prefix="stepwell-probe-") as outside:
        Path(outside, "secret").write_text("secret", encoding="utf-8")
        workspace = Path(outside, "workspace")
        workspace.mkdir()
        policy = BubblewrapPolicy(program=program, network=network)
        try:
            process = policy.spawn(workspace=workspace, env={"OUTSIDE": outside}, command=["/bin/sh", "-s"])
        except OSError as error:
            return (f"bubblewrap could not be started ({type(error).__name__})",)
        return tuple(_outcome(process, network))


def _outcome(process: subprocess.Popen[str], network: bool) -> Iterator[str]:
    try:
        said, complaint = process.communicate(_PROBE, timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        yield f"the escape test did not end within {_TIMEOUT_S:g} s"
        return
    facts = read_facts(said)
    if "end" not in facts:
        reason = re.sub(r"/\S+", "…", complaint.strip().splitlines()[-1]) if complaint.strip() else f"code {process.returncode}"
        yield f"bubblewrap could not set up a sandbox ({reason[:200]}); user namespaces may be switched off here"
        return
    host = {name: os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES}
    yield from judge(facts, host, network=network, filtered=filter_for(platform.machine(), network=network) is not None)


def read_facts(said: str) -> dict[str, list[str]]:
    """The lines `name=value`, by name."""
    facts: dict[str, list[str]] = {}
    for line in said.splitlines():
        name, sign, value = line.partition("=")
        if sign:
            facts.setdefault(name, []).append(value)
    return facts


def judge(facts: Facts, host_namespaces: Mapping[str, str], *, network: bool, filtered: bool) -> Iterator[str]:
    """A sentence for each wall that is missing."""
    for name, inode in host_namespaces.items():
        if name == "net" and network:
            continue
        found = facts.get(f"ns_{name}", [""])
        if found in ([""], [inode]):
            yield f"it shares the host's {name} namespace"
    if facts.get("seen"):
        yield "it sees files of the host"
    if facts.get("written"):
        yield "it can write outside the workspace"
    if facts.get("workspace") != ["writable"]:
        yield "it cannot write to the workspace"
    if "leaked" in facts:
        yield "it sees the workspace's path on the host"
    if set(facts.get("variable", ["(none)"])) - _OWN_VARIABLES:
        yield "it sees environment variables that were not named"
    if not 0 < _number(facts, "processes") <= _MAX_PROCESSES:
        yield "it sees processes of the host"
    if _number(facts, "files") != _OWN_FILES:
        yield "it inherits open files"
    if "nested" in facts:
        yield "it can make user namespaces"
    if set(facts.get("caps", ["none told"])) != {"0" * 16} or facts.get("no_new_privs") != ["1"]:
        yield "it has privileges"
    if filtered and facts.get("seccomp") != ["2"]:
        yield "its system calls are not filtered"


def _number(facts: Facts, name: str) -> int:
    value = facts.get(name, [""])[0].strip()
    return int(value) if value.isdecimal() else 0
