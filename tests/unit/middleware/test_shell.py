"""The shell capability without a process: output, order of calls, verdicts of the escape test, the call filter, refusals."""

from __future__ import annotations

import errno
import struct
import threading
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from stepwell.errors import ConfigurationError
from stepwell.middleware.shell import ShellMiddleware
from stepwell.tools.shell.call_order import CallOrder, calls_before
from stepwell.tools.shell.output import BoundedOutput
from stepwell.tools.shell.sandbox import BubblewrapPolicy
from stepwell.tools.shell.sandbox_check import judge, read_facts
from stepwell.tools.shell.sandbox_limits import SandboxLimits
from stepwell.tools.shell.seccomp import filter_for


def bounded(data: bytes, *, max_bytes: int = 1000, max_lines: int = 1000, chunk: int = 7) -> BoundedOutput:
    output = BoundedOutput(max_bytes=max_bytes, max_lines=max_lines)
    for start in range(0, len(data), chunk):
        output.feed(data[start : start + chunk])
    return output


@given(st.binary(max_size=1000), st.integers(1, 50))
def test_short_output_comes_out_whole_however_it_is_cut(data: bytes, chunk: int):
    output = bounded(data, max_lines=1001, chunk=chunk)
    assert output.text() == data.decode("utf-8", "replace").replace("\0", "\ufffd")
    assert not output.is_cut


@given(st.integers(1, 4000), st.integers(1, 100))
def test_long_output_keeps_both_ends_within_its_bounds(lines: int, chunk: int):
    data = b"".join(b"line %d\n" % number for number in range(lines))
    output = bounded(data, max_bytes=600, max_lines=20, chunk=chunk)
    assert output.total_lines == lines
    if not output.is_cut:
        return
    shown = output.text().splitlines()
    assert len(shown) <= 21
    assert shown[0] == "line 0"
    assert shown[-1] == f"line {lines - 1}"
    assert any(f"{lines} lines, {len(data)} bytes in all" in line for line in shown)


def test_one_endless_line_is_bounded_too():
    output, chunk = BoundedOutput(max_bytes=100, max_lines=10), b"x" * 65536
    tracemalloc.start()
    for _ in range(500):
        output.feed(chunk)
    _, most_held = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert output.total_bytes == 500 * 65536
    assert len(output.text()) < 300
    assert most_held < 10 * 65536


def turn_with(*ids: str, answered: tuple[str, ...] = ()) -> dict:
    calls = [{"name": "execute", "args": {}, "id": each} for each in ids]
    other = {"name": "ls", "args": {}, "id": "other"}
    results = [ToolMessage("no", tool_call_id=each) for each in answered]
    return {"messages": [HumanMessage("go"), AIMessage("", tool_calls=[other, *calls]), *results]}


def test_calls_before_are_those_of_the_same_tool_and_turn_without_a_result():
    assert calls_before(turn_with("a", "b", "c", answered=("b",)), "execute", "c") == ["a"]
    assert calls_before(turn_with("a"), "execute", "a") == []
    assert calls_before({"messages": []}, "execute", "a") == []


def test_calls_run_in_the_order_of_the_turn_not_of_their_arrival():
    order, done = CallOrder(), []

    def work(call_id: str, earlier: list[str], arrived: threading.Event) -> None:
        arrived.set()
        with order.turn(call_id, earlier):
            done.append(call_id)

    threads = []
    for call_id, earlier in (("c", ["a", "b"]), ("b", ["a"]), ("a", [])):
        arrived = threading.Event()
        threads.append(threading.Thread(target=work, args=(call_id, earlier, arrived)))
        threads[-1].start()
        arrived.wait(60)
    for thread in threads:
        thread.join(60)
    assert done == ["a", "b", "c"]


def test_a_call_does_not_wait_for_ever_for_one_that_never_comes():
    with CallOrder().turn("b", ["a"]):
        pass


HOST = {name: f"{name}:[1]" for name in ("user", "pid", "mnt", "ipc", "uts", "net")}
GOOD = """
ns_user=user:[2]
ns_pid=pid:[2]
ns_mnt=mnt:[2]
ns_ipc=ipc:[2]
ns_uts=uts:[2]
ns_net=net:[2]
workspace=writable
processes=4
variable=PATH
files=4
caps=0000000000000000
no_new_privs=1
seccomp=2
end=reached
"""


def verdict(said: str, *, network: bool = False) -> list[str]:
    return list(judge(read_facts(said), HOST, network=network, filtered=True))


def test_a_sandbox_that_holds_is_accepted():
    assert verdict(GOOD) == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        *[((f"ns_{name}={name}:[2]", f"ns_{name}={name}:[1]"), f"host's {name} namespace") for name in HOST],
        (("end=", "seen=/root\nend="), "sees files"),
        (("end=", "written=/usr\nend="), "write outside"),
        (("workspace=writable", ""), "cannot write to the workspace"),
        (("end=", "leaked=path\nend="), "path on the host"),
        (("end=", "variable=ANTHROPIC_API_KEY\nend="), "environment variables"),
        (("processes=4", "processes=180"), "processes of the host"),
        (("files=4", "files=5"), "open files"),
        (("end=", "nested=user\nend="), "user namespaces"),
        (("caps=0000000000000000", "caps=000001ffffffffff"), "privileges"),
        (("no_new_privs=1", "no_new_privs=0"), "privileges"),
        (("seccomp=2", "seccomp=0"), "not filtered"),
    ],
)
def test_each_missing_wall_is_named(change: tuple[str, str], complaint: str):
    found = verdict(GOOD.replace(*change))
    assert len(found) == 1
    assert complaint in found[0]


def test_a_fact_that_was_not_told_counts_against_the_sandbox():
    assert len(verdict("end=reached")) == 12


def test_network_is_shared_only_where_it_was_asked_for():
    shared = GOOD.replace("net:[2]", "net:[1]")
    assert verdict(shared, network=True) == []
    assert verdict(shared) != []


def outcome_of_call(machine: str, architecture: int, number: int, first_argument: int = 0, *, network: bool = False) -> int:
    """What the kernel would do with a call: the filter is run as the kernel runs it."""
    program = list(struct.iter_unpack("=HBBI", filter_for(machine, network=network) or b""))
    words = {0: number, 4: architecture, 16: first_argument}
    place, loaded = 0, 0
    while True:
        code, yes, no, value = program[place]
        if code == 0x06:
            return value
        if code == 0x20:
            loaded = words[value]
            place += 1
            continue
        holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code]
        place += 1 + (yes if holds else no)


ALLOW, REFUSE, UNKNOWN = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
X86, ARM = ("x86_64", 0xC000003E), ("aarch64", 0xC00000B7)


@pytest.mark.parametrize(
    ("machine", "number", "outcome"),
    [
        (X86, 0, ALLOW), (X86, 59, ALLOW), (X86, 39, ALLOW), (X86, 165, REFUSE), (X86, 272, REFUSE), (X86, 442, REFUSE),
        (X86, 435, UNKNOWN), (X86, 0x40000000, REFUSE), (ARM, 63, ALLOW), (ARM, 221, ALLOW), (ARM, 165, ALLOW), (ARM, 40, REFUSE),
        (ARM, 97, REFUSE), (ARM, 18, REFUSE), (ARM, 435, UNKNOWN),
    ],
)  # fmt: skip
def test_call_filter_refuses_what_attacks_begin_with(machine: tuple[str, int], number: int, outcome: int):
    assert outcome_of_call(*machine, number) == outcome


@pytest.mark.parametrize(("machine", "clone"), [(X86, 56), (ARM, 220)])
def test_call_filter_lets_processes_be_made_but_no_user_namespace(machine: tuple[str, int], clone: int):
    assert outcome_of_call(*machine, clone, 0x11) == ALLOW
    assert outcome_of_call(*machine, clone, 0x10000011) == REFUSE


def test_call_filter_refuses_programs_of_another_architecture():
    assert outcome_of_call("x86_64", 0x40000003, 0) == REFUSE
    assert filter_for("riscv64", network=False) is None


NO_SUCH_FAMILY = 0x00050000 | errno.EAFNOSUPPORT


@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize(("machine", "number"), [(X86, 41), (X86, 53), (ARM, 198), (ARM, 199)])
def test_call_filter_lets_only_the_families_through_that_a_policy_gives(machine: tuple[str, int], number: int, network: bool):
    allowed = {1, 2, 10} if network else {1}
    outcomes = {family: outcome_of_call(*machine, number, family, network=network) for family in range(64)}
    assert outcomes == {family: ALLOW if family in allowed else NO_SUCH_FAMILY for family in range(64)}
    assert outcome_of_call(*machine, number + 2, 16, network=network) == ALLOW, "other calls have other arguments"


def test_missing_bubblewrap_is_refused_when_built_and_never_replaced_by_the_host():
    with pytest.raises(ConfigurationError, match="Install the package bubblewrap") as refusal:
        ShellMiddleware(policy=BubblewrapPolicy(program="no-such-bwrap"))
    assert "unsandboxed_host" in str(refusal.value)


def test_other_systems_are_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(ConfigurationError, match="needs Linux"):
        ShellMiddleware()
    ShellMiddleware(policy="unsandboxed_host")
    monkeypatch.setattr("sys.platform", "win32")
    with pytest.raises(ConfigurationError, match="WSL"):
        ShellMiddleware(policy="unsandboxed_host")


def test_unknown_policy_and_senseless_limits_are_refused():
    with pytest.raises(ConfigurationError, match="Unknown shell policy 'host'"):
        ShellMiddleware(policy="host")  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(ConfigurationError, match="cpu_s is 0"):
        SandboxLimits(cpu_s=0)


def test_nothing_runs_until_a_command_does():
    """D14: no node before the agent and no process for a run that uses no command."""
    from langchain.agents.middleware.types import AgentMiddleware

    assert ShellMiddleware.before_agent is AgentMiddleware.before_agent
    tool = ShellMiddleware(policy="unsandboxed_host").tools[0]
    assert tool.name == "execute"
    assert list(tool.tool_call_schema.model_json_schema()["properties"]) == ["command"]
