"""A test whose program is missing: left out on somebody's machine, failed in continuous integration."""

from __future__ import annotations

import pytest
from tests.support.missing import MissingProgramError, left_out, skip_if_missing


def failed_call(error: Exception) -> pytest.CallInfo[None]:
    def fail() -> None:
        raise error

    return pytest.CallInfo.from_call(fail, "setup")


def report(reason: str) -> pytest.TestReport:
    skipped = ("tests/test_x.py", 3, f"Skipped: {reason}")
    return pytest.TestReport("tests/test_x.py::test_x", ("tests/test_x.py", 3, "test_x"), {}, "skipped", skipped, "setup")


def test_a_missing_program_skips_its_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    call = failed_call(MissingProgramError("There is no Chromium."))
    skip_if_missing(call)
    assert call.excinfo is not None
    assert call.excinfo.type is pytest.skip.Exception
    assert str(call.excinfo.value) == "Left out: There is no Chromium."


def test_continuous_integration_leaves_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    call = failed_call(MissingProgramError("There is no Chromium."))
    skip_if_missing(call)
    assert call.excinfo is not None
    assert call.excinfo.type is MissingProgramError


def test_other_failures_stay_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    call = failed_call(ValueError("wrong"))
    skip_if_missing(call)
    assert call.excinfo is not None
    assert call.excinfo.type is ValueError


def test_the_end_of_a_run_counts_what_was_left_out() -> None:
    chromium, postgres = "Left out: There is no Chromium.", "Left out: Postgres is missing."
    reports = [report(chromium), report(postgres), report(chromium), report("only on Linux")]
    assert left_out(reports) == ["1 tests: Postgres is missing.", "2 tests: There is no Chromium."]
