"""How a reader is told which model judged a report, and how well it judges."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stepwell.research.audit.judged import Figures, JudgedBy

GOOD = Figures("2026-11-17", 4, "0" * 64, ("mills", "wells"), 400, 952, 913, 974, 410, 890, 450, 12)


def test_figures_stand_beside_those_of_the_rules():
    assert JudgedBy("house:owl-2", GOOD).describe() == (
        "Judged by house:owl-2. Of the sentences that it and the rules call supported, 95 % are true (91 to 97 %; rules alone 89 %), "
        "measured 17 November 2026 on 400 claims (mills and wells)."
    )


def test_without_figures_the_command_is_named():
    assert JudgedBy("house:owl-2").describe() == (
        "Judged by house:owl-2. How well it judges was not measured; measure it with: stepwell models judge FOLDER"
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"precision": 890}, "its agreement adds nothing to the rules"),
        ({"unusable": 340}, "34 % of its answers were unusable"),
        ({"precision": 0, "recall": 0}, "it agreed with none of the true claims"),
    ],
)
def test_a_poor_judge_is_called_one_with_a_way_out(change: dict[str, int], why: str):
    told = JudgedBy("house:owl-2", replace(GOOD, **change)).describe()
    assert told.endswith(f" It is a poor judge, because {why}: choose another one under Settings > Models.")
    assert "0 % are true" not in told or change.get("precision")


def test_rules_without_a_mistake_leave_a_judge_nothing_to_add():
    assert not replace(GOOD, precision=1000, rules_precision=1000).fault


def test_names_from_a_bundle_cannot_control_a_terminal():
    told = JudgedBy("owl\x1b[2J\u202e", replace(GOOD, sets=tuple(f"set{n}\n" for n in range(9)))).describe()
    assert told.isprintable()
    assert "and 3 more" in told


def test_a_trail_gives_back_what_was_put_in():
    for judge in (JudgedBy("house:owl-2", GOOD), JudgedBy("house:owl-2")):
        assert JudgedBy.from_data(judge.to_data()) == judge
