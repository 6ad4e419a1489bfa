"""The measure of growth tells a line from a square."""

from __future__ import annotations

import pytest
from tests.support.growth import assert_linear


def count(times: int) -> int:
    return sum(1 for _ in range(times))


def test_a_line_passes():
    assert_linear(count, lambda size: size, 50_000)


def test_a_square_is_refused():
    with pytest.raises(AssertionError, match="8 times the size takes"):
        assert_linear(count, lambda size: size * size, 200)
