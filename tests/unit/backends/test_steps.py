"""Verbs as steps: the same generator in sync and async code."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

import pytest

from stepwell.backends.steps import arun_steps, run_steps


def double(number: int) -> int:
    if number < 0:
        raise ValueError("negative")
    return number * 2


async def adouble(number: int) -> int:
    await asyncio.sleep(0)
    return double(number)


def both(steps: Any, *args: Any) -> list[Any]:
    return [run_steps(steps(*args), double), asyncio.run(arun_steps(steps(*args), adouble))]


def test_answers_are_sent_to_the_steps() -> None:
    def steps() -> Generator[int, int, list[int]]:
        return [(yield 1), (yield 2)]

    assert both(steps) == [[2, 4], [2, 4]]


def test_steps_may_ask_for_nothing() -> None:
    def steps(answer: str) -> Generator[int, int, str]:
        if not answer:
            yield 1
        return answer

    assert both(steps, "x") == ["x", "x"]


def test_a_failure_can_be_handled_where_it_was_asked_for() -> None:
    def steps() -> Generator[int, int, str]:
        try:
            yield -1
        except ValueError as error:
            return f"{error}, then {(yield 3)}"
        return "no failure"

    assert both(steps) == ["negative, then 6"] * 2


def test_a_failure_nobody_handles_comes_out_after_cleaning_up() -> None:
    cleaned: list[str] = []

    def steps() -> Generator[int, int, None]:
        try:
            yield -1
        finally:
            cleaned.append("yes")

    with pytest.raises(ValueError, match="negative"):
        run_steps(steps(), double)
    with pytest.raises(ValueError, match="negative"):
        asyncio.run(arun_steps(steps(), adouble))
    assert cleaned == ["yes", "yes"]


async def test_cancelling_cleans_up() -> None:
    cleaned: list[str] = []

    def steps() -> Generator[int, int, None]:
        try:
            yield 1
        finally:
            cleaned.append("yes")

    async def never(_: int) -> None:
        await asyncio.Event().wait()

    task = asyncio.create_task(arun_steps(steps(), never))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned == ["yes"]
