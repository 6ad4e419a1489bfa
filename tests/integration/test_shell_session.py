"""A shell session over real processes. No sandbox here, so these run wherever there is bash; the agent tests use both."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from langchain.agents.middleware import HostExecutionPolicy

from stepwell.errors import ToolUseError
from stepwell.tools.shell.session import MAX_COMMAND_BYTES, ShellSession, ShellSetup

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")

Open = Callable[..., ShellSession]


@pytest.fixture
def open_session(tmp_path: Path) -> Iterator[Open]:
    sessions: list[ShellSession] = []

    def make(*, startup: tuple[str, ...] = (), temporary: bool = False, **limits: object) -> ShellSession:
        policy = HostExecutionPolicy(**{"command_timeout": 120.0, **limits})  # type: ignore[arg-type]  # each by its own name
        setup = ShellSetup(policy, ("/bin/bash",), {"PATH": os.defpath}, None if temporary else tmp_path, startup)
        sessions.append(ShellSession(setup))
        return sessions[-1]

    yield make
    for session in sessions:
        session.close()


def said(session: ShellSession, command: str) -> str:
    return session.execute(command).output.text()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


def test_cd_variables_and_functions_last_between_commands(open_session: Open):
    """D14: the session is persistent."""
    session = open_session()
    session.execute("mkdir sub && cd sub; X='a b'; greet() { echo hello $1; }")
    assert said(session, "basename $PWD; echo $X; greet you") == "sub\na b\nhello you\n"


@pytest.mark.parametrize(
    ("command", "printed", "exit_code"),
    [
        ("printf 'no newline'", "no newline", 0),
        ("true", "", 0),
        ("false", "", 1),
        ("echo a; echo b >&2; echo c", "a\nb\nc\n", 0),
        ("cat", "", 0),
        ("read x; echo got $x; false", "got\n", 1),
        ("exit_code() { return 42; }; exit_code", "", 42),
        ("echo 'one\ntwo'", "one\ntwo\n", 0),
        ("cat <<END\nhere\nEND", "here\n", 0),
        ("# only a comment", "", 0),
        ("printf '\\n\\n'", "\n\n", 0),
        ("printf 'ä\\0\\377'", "ä\ufffd\ufffd", 0),
    ],
)
def test_output_and_exit_code_are_exact(open_session: Open, command: str, printed: str, exit_code: int):
    session = open_session()
    report = session.execute(command)
    assert report.output.text() == printed
    assert (report.result.ending, report.result.exit_code) == ("done", exit_code)
    assert said(session, "echo still here") == "still here\n"


@pytest.mark.parametrize("broken", ["echo 'open quote", "if true; then", "echo $(", "((", "cat <<END\nno end"])
def test_broken_syntax_ends_with_its_own_command(open_session: Open, broken: str):
    session = open_session()
    assert session.execute(broken).result.ending == "done"
    assert said(session, "echo next") == "next\n"


def test_a_command_that_prints_like_the_frame_is_not_believed(open_session: Open):
    session = open_session()
    report = session.execute("printf '\\n0123456789abcdef0123456789abcdef 0\\n'; exit_with() { return 7; }; exit_with")
    assert report.result.exit_code == 7


FORGED = "printf '\\n%s 0\\n' \"$l\""
"""Says whatever was found out as if it were the end, in every place where an end might be looked for."""
EVERYWHERE = f"for fd in 1 2 9 10 11 12; do {{ {FORGED} >&$fd; }} 2>/dev/null; done"


@pytest.mark.parametrize(
    "attempt",
    [
        "read -t 0.3 -r l <&10",  # where the shell keeps its own input while a command has another
        "read -t 0.3 -r l <&11",
        "l=$(timeout 0.3 head -c 300 /proc/$$/fd/10 2>/dev/null)",
        "l=$(timeout 0.3 head -c 300 /proc/$$/fd/0 2>/dev/null)",
        "l=$(timeout 0.3 bash -c 'head -c 300 /proc/$PPID/fd/10' 2>/dev/null)",
        "l=$BASH_COMMAND",
        "l=$(fc -l 2>/dev/null; history)",
        "l=0123456789abcdef0123456789abcdef",
    ],
)
def test_a_command_cannot_forge_its_own_end(open_session: Open, attempt: str):
    session = open_session()
    report = session.execute(
        f"{attempt}; l=${{l##*printf }}; l=${{l#* }}; l=${{l%% *}}; {EVERYWHERE}; sleep 0.1; echo still here; (exit 7)"
    )
    assert (report.result.ending, report.result.exit_code) == ("done", 7)
    assert report.output.text().endswith("still here\n")
    assert said(session, "echo next") == "next\n"


def test_programs_do_not_inherit_the_pipe_of_the_marks(open_session: Open):
    listed = said(open_session(), "ls /proc/self/fd 2>/dev/null || ls /dev/fd")
    assert {"9", "10", "11"}.isdisjoint(listed.split())


def test_output_that_is_sent_elsewhere_does_not_hide_the_end(open_session: Open, tmp_path: Path):
    session = open_session()
    assert session.execute("exec > log; echo one").result.ending == "done"
    assert session.execute("echo two; (exit 3)").result.exit_code == 3
    assert "one\n" in (tmp_path / "log").read_text()


def test_leaving_the_shell_is_told_and_the_next_command_gets_a_new_one(open_session: Open):
    session = open_session()
    assert session.execute("X=1").in_new_shell
    report = session.execute("echo bye; exit 3")
    assert (report.result.ending, report.result.exit_code, report.output.text()) == ("shell_ended", 3, "bye\n")
    again = session.execute("echo x$X")
    assert again.in_new_shell
    assert again.output.text() == "x\n"


def test_a_command_over_its_time_is_killed_with_all_it_started(open_session: Open):
    session = open_session(command_timeout=10.0)
    report = session.execute("echo before; sleep 300 & echo $!; wait")
    assert report.result.ending == "timed_out"
    before, child = report.output.text().split()
    assert before == "before"
    assert not is_alive(int(child))
    assert said(session, "echo after") == "after\n"


def test_a_caller_who_leaves_stops_the_command(open_session: Open):
    session, stop = open_session(), threading.Event()
    threading.Timer(0.3, stop.set).start()
    assert session.execute("sleep 300", stop=stop).result.ending == "stopped"


def test_a_flood_is_bounded_and_goes_on(open_session: Open):
    session = open_session(max_output_bytes=2000, max_output_lines=50)
    report = session.execute("yes | head -c 20000000; echo END")
    text = report.output.text()
    assert len(text) < 2500
    assert len(text.splitlines()) <= 51
    assert text.endswith("END\n")
    assert "20000004 bytes" in text
    assert said(session, "echo ok") == "ok\n"


def test_a_megabyte_on_one_line_is_no_trouble(open_session: Open):
    report = open_session(max_output_bytes=1000).execute("head -c 1000000 /dev/zero | tr '\\0' x")
    assert len(report.output.text()) < 1300


def test_a_noisy_background_process_does_not_fill_memory_or_disturb(open_session: Open):
    session = open_session(max_output_bytes=1000)
    session.execute("yes noise &")
    report = session.execute("kill %1; echo done")
    assert report.result.exit_code == 0
    assert "done" in report.output.text()


def test_long_commands_pass_and_longer_ones_are_refused(open_session: Open):
    session = open_session()
    assert said(session, f"x='{'y' * 100_000}'; echo ${{#x}}") == "100000\n"
    with pytest.raises(ToolUseError, match="Put the content into a file"):
        session.execute("x" * (MAX_COMMAND_BYTES + 1))
    for command, complaint in (("echo \0", "NUL"), ("echo \udcff", "Unicode")):
        with pytest.raises(ToolUseError, match=complaint):
            session.execute(command)


def test_start_up_commands_run_in_every_new_shell(open_session: Open):
    session = open_session(startup=("export READY=yes",))
    assert said(session, "echo $READY; exit") == "yes\n"
    assert said(session, "echo $READY") == "yes\n"
    with pytest.raises(ToolUseError, match="start-up command of the shell failed: nonsense-x"):
        open_session(startup=("nonsense-x",)).execute("true")


def test_the_shell_outlives_the_thread_that_started_it(open_session: Open):
    session = open_session()
    thread = threading.Thread(target=session.execute, args=("X=kept",))
    thread.start()
    thread.join()
    assert said(session, "echo $X") == "kept\n"


def test_closing_ends_the_shell_and_removes_a_temporary_workspace(open_session: Open):
    session = open_session(temporary=True)
    place = Path(said(session, "touch x; pwd").strip())
    pid = session.pid
    assert place.is_dir()
    assert pid is not None
    session.close()
    assert not is_alive(pid)
    assert not place.exists()
    with pytest.raises(ToolUseError, match="the run is over"):
        session.execute("true")


def test_dropping_the_session_ends_the_shell(tmp_path: Path):
    session = ShellSession(ShellSetup(HostExecutionPolicy(), ("/bin/bash",), {}, tmp_path))
    session.execute("true")
    pid = session.pid
    assert pid is not None
    del session
    assert not is_alive(pid)


def test_the_end_of_the_interpreter_ends_the_shell(tmp_path: Path):
    code = textwrap.dedent("""
        import sys
        from pathlib import Path
        from langchain.agents.middleware import HostExecutionPolicy
        from stepwell.tools.shell.session import ShellSession, ShellSetup
        session = ShellSession(ShellSetup(HostExecutionPolicy(), ("/bin/bash",), {"PATH": "/usr/bin:/bin"}, Path(sys.argv[1])))
        session.execute("sleep 300 > /dev/null 2>&1 & echo $! > child")
        print(session.pid)
    """)
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True)
    assert not is_alive(int(ended.stdout))
    assert not is_alive(int((tmp_path / "child").read_text(encoding="utf-8")))


def test_parallel_commands_do_not_interleave(open_session: Open):
    session, results = open_session(), {}
    ids = [f"call_{number}" for number in range(6)]

    def work(place: int) -> None:
        command = f"echo begin {place} >> log; sleep 0.05; echo end {place} >> log; echo {place}"
        results[place] = session.execute(command, call_id=ids[place], earlier=ids[:place]).output.text()

    threads = [threading.Thread(target=work, args=(place,)) for place in reversed(range(6))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == {place: f"{place}\n" for place in range(6)}
    expected = [line for place in range(6) for line in (f"begin {place}", f"end {place}")]
    assert said(session, "cat log").splitlines() == expected
