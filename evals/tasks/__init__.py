"""The tasks, one module for each thing the harness promises."""

from __future__ import annotations

from evals.task import Task
from evals.tasks import clarifying, delegation, file_work, large_results, limits, planning, tutoring

TASKS: tuple[Task, ...] = (
    planning.PLAN,
    delegation.DELEGATE,
    file_work.EDIT,
    file_work.FIND,
    large_results.POINTER,
    clarifying.ASK,
    clarifying.DO_NOT_ASK,
    limits.NOT_FOUND,
    tutoring.VAGUE_ARGUMENT,
    tutoring.VAGUE_SUBJECT,
    tutoring.VAGUE_WISH,
    tutoring.CLEAR_DOCUMENT,
    tutoring.CLEAR_SEARCH,
)
