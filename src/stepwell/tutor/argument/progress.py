"""How far an argument is, as data for clients: phases with what is missing, hints, changes of the thesis, and lint findings."""

from __future__ import annotations

from typing import Any

from stepwell.tutor.argument.document import PHASES, Argument
from stepwell.tutor.argument.exports import diff_words
from stepwell.tutor.argument.lint import lint
from stepwell.tutor.argument.method import ABOUT, is_complete, missing
from stepwell.tutor.argument.naming import TITLES
from stepwell.tutor.argument.questions import next_question
from stepwell.tutor.argument.telling import hint_level


def describe_progress(argument: Argument) -> dict[str, Any]:
    """Everything derived from an argument and shown beside it."""
    return {
        "phase": argument.phase,
        "complete": is_complete(argument),
        "subject": subject_of(argument),
        "phases": [
            {
                "name": phase,
                "title": TITLES[phase],
                "about": ABOUT[phase],
                "missing": [gap.sentence for gap in missing(argument, phase)],
            }
            for phase in PHASES
        ],
        "hints": {about: hint_level(argument, about) for about in _about(argument, "hint")},
        "told": _about(argument, "tell"),
        "thesis_changes": describe_changes(argument),
        "findings": [
            {"severity": finding.severity, "about": finding.about, "sentence": finding.sentence} for finding in lint(argument)
        ],
    }


def describe_standing(argument: Argument) -> str:
    """The state of the seminar, as a sentence for the model's next step."""
    gaps = missing(argument)
    if gaps:
        return f"Phase '{argument.phase}'. " + " ".join(gap.sentence for gap in gaps[:4])
    return f"Phase '{argument.phase}', and nothing is missing in it."


def subject_of(argument: Argument) -> str:
    """What the seminar is about now: the clause that the next question is about, or the phase."""
    question = next_question(argument) if argument.thesis is not None else None
    return question.about if question else argument.thesis.id if argument.thesis else argument.phase


def describe_changes(argument: Argument) -> list[dict[str, Any]]:
    """Each change of the thesis, with the confidence before and after."""
    return [
        {
            "phase": after.phase,
            "before": before.text,
            "after": after.text,
            "diff": diff_words(before.text, after.text),
            "confidence_before": before.confidence,
            "confidence_after": after.confidence,
        }
        for before, after in zip(argument.versions, argument.versions[1:], strict=False)
    ]


def _about(argument: Argument, kind: str) -> list[str]:
    """The subjects of all moves of a kind, once each."""
    return list(dict.fromkeys(move.about for move in argument.moves if move.move == kind))
