"""Programs that some tests need and a machine may lack, such as Postgres, Chromium or a mint.

Where `CI` is set, such a test fails. Elsewhere it is skipped, and the end of the run says what was left out and how to get it
(`tests/conftest.py`), so that `make test` is of use to everybody and continuous integration never leaves anything out unnoticed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

import pytest

from stepwell.errors import ConfigurationError

_LEFT_OUT = "Left out: "


class MissingProgramError(ConfigurationError):
    """A test needs a program that this machine lacks. The message names the program and says how to get it."""


def skip_if_missing(call: pytest.CallInfo[None]) -> None:
    """Turn a failure by a missing program into a skip, unless this is continuous integration."""
    if call.excinfo and isinstance(call.excinfo.value, MissingProgramError) and not os.environ.get("CI"):
        reason = f"{_LEFT_OUT}{call.excinfo.value}"
        call.excinfo = pytest.CallInfo.from_call(lambda: pytest.skip(reason), call.when).excinfo


def left_out(skipped: Iterable[pytest.TestReport]) -> list[str]:
    """One line for each missing program, with the number of its tests."""
    reasons = (report.longrepr[2] for report in skipped if isinstance(report.longrepr, tuple))
    counts = Counter(reason.partition(_LEFT_OUT)[2] for reason in reasons if _LEFT_OUT in reason)
    return [f"{count} tests: {reason}" for reason, count in sorted(counts.items())]
