"""The everyday job on the command line (`tests/support/everyday`): a folder of mixed files and a screenshot, an edited plan, a process that
is killed in the middle, a follow-up, and a bundle that is checked on another machine."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Effort
from tests.integration.served.process import environment
from tests.integration.served.warm import run_warm, start_warm
from tests.support.everyday import case, limits
from tests.support.everyday.elsewhere import author_of, tampered, verify_elsewhere
from tests.support.everyday.model import CaseModel
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(600)


class Shell:
    """An analyst at a terminal, in a folder with `files/`. Counts the commands and lines they type, and the words they are shown."""

    def __init__(self, folder: Path, model: CaseModel) -> None:
        self.folder, self.model = folder, model
        self.typed = 0
        self.words = 0
        self._environment = environment(STEPWELL_DATA_DIR=str(folder / "data"), **model.variables)
        case.write_files(folder / "files")

    def run(self, *arguments: str, typed: str = "") -> str:
        """What a command said, on both streams; it has to succeed."""
        ended = run_warm(arguments, self.folder, self._environment, typed=typed)
        said = ended.stdout + ended.stderr
        self._count(said, typed)
        assert ended.returncode == 0, said
        return said

    def run_until_killed(self, *arguments: str, typed: str) -> str:
        """What a command said until it was killed while its model wrote."""
        given, said = self.folder / "typed.txt", self.folder / "said.txt"
        given.write_text(typed)
        said.touch()
        with self.model.held():
            started = start_warm(arguments, self.folder, self._environment, out=said, err=said, given=given)
            try:
                wait_until(lambda: self.model.writing.is_set() or started.poll() is not None, "the writer was never asked")
                assert started.poll() is None, said.read_text()
                started.send_signal(signal.SIGKILL)
                started.wait(60)
            finally:
                started.kill()
        self._count(said.read_text(), typed)
        return said.read_text()

    def _count(self, said: str, typed: str) -> None:
        self.typed += 1 + typed.count("\n")
        self.words += len(said.split())


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with CaseModel() as model:
        yield Shell(tmp_path, model)


def test_an_analyst_does_an_everyday_job_on_the_command_line(
    shell: Shell, tmp_path: Path, effort: Effort, record_property: Callable[[str, Any], None]
) -> None:
    began = time.monotonic()
    own = ("--context", "files", "--only-documents")
    said = shell.run_until_killed("research", case.QUESTION, *own, typed="e 1 why pump 3 stopped\na\n")
    [thread] = re.findall(r"^Thread (\S+)$", said, re.MULTILINE)
    assert f"{case.SCREENSHOT}: Transcribed by gpt-4.1 from the image; not checked." in said
    assert f"The model gpt-4.1 was shown {case.SCREENSHOT}, to write down its text." in said
    assert "1. search_documents  why pump 3 stopped" in said

    said = shell.run("research", "--continue", thread)
    for fact in (case.CAUSE, case.HOURS, case.RULE):
        assert fact.rstrip(".") in said
    assert f"{case.SCREENSHOT} (from your device), image, transcribed by gpt-4.1, not checked" in said
    report = said.partition("## Answer")[2].partition("## Sources")[0]
    if limits.WRONG_SENTENCE == "corrected":
        assert case.RIGHT in report
        assert "revise" in shell.model.roles
    else:
        assert case.RIGHT not in report
        out = said.partition("Left out of the report:")[2]
        assert case.WRONG in out
        assert "47,100" in out
        assert "41,700" in out
    assert case.WRONG not in report

    said = shell.run("research", "--continue", thread, case.FOLLOW_UP, *own, "--yes", "--out", "report.docx")
    for fact in case.NEXT_ANSWER:
        assert fact.rstrip(".") in said
    assert shell.model.roles.count("see") == 1, "the screenshot is read once"
    assert (tmp_path / "report.docx").read_bytes().startswith(b"PK")
    shell.run("export", thread, "--format", "pdf", "--out", "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF-")

    bundle = (tmp_path / "data" / "research" / thread / "bundle.zip").read_bytes()
    key = author_of(tmp_path / "data")
    code, said = verify_elsewhere(bundle, key, tmp_path)
    assert code == 0, said
    assert f"Vouched for by {key}" in said
    changed = tampered(bundle, tmp_path, words=b"20 March 2025", by=b"21 March 2025")
    code, said = verify_elsewhere(changed, key, tmp_path)
    assert (code, "received.zip does not hold" in said) == (1, True), said

    assert shell.model.unknown == []
    seconds = time.monotonic() - began
    for name, value in (
        ("typed", shell.typed),
        ("words", shell.words),
        ("tokens", shell.model.tokens),
        ("seconds", round(seconds)),
    ):
        record_property(name, value)
    assert shell.typed <= limits.MOST_TYPED
    assert shell.words <= limits.MOST_WORDS_IN_TERMINAL
    assert shell.model.tokens <= limits.MOST_TOKENS
    assert seconds <= effort.seconds(limits.MOST_SECONDS_BUSY, limits.MOST_SECONDS)
