"""The figures of judges in the database, one row per model, version of the rules, and prompt. A newer measurement replaces the older."""

from __future__ import annotations

from contextlib import suppress

import orjson

from stepwell.errors import StepwellError
from stepwell.research.audit.canonical import sha256
from stepwell.research.audit.checks import CHECKS_VERSION
from stepwell.research.audit.judged import Figures
from stepwell.research.evidence.judged_by import FindFigures
from stepwell.research.evidence.prompting import judge_prompt
from stepwell.settings import Settings
from stepwell.sql import Connection
from stepwell.terminal.database_file import with_database
from stepwell.terminal.database_place import PostgresPlace, database_place


def hash_prompt() -> str:
    """Stands for what judges are told today."""
    return sha256(judge_prompt().encode())


def figures_of_this_machine(settings: Settings) -> FindFigures:
    """Looks up figures as the database of this machine's server has them now, for commands, whose runs have a database of their own.
    Without that database, or if it cannot be read, no judge counts as measured."""
    stored: dict[str, Figures] = {}
    with suppress(StepwellError):
        place = database_place(None, settings)
        is_own = settings.database_url is None or settings.database_is_meant
        if is_own and (isinstance(place, PostgresPlace) or place.is_file()):
            stored = with_database(place, lambda database: database.read(read_all))

    async def find(model: str) -> Figures | None:
        return stored.get(model)

    return find


def read_all(connection: Connection) -> dict[str, Figures]:
    """The figures of all models for today's rules and prompt."""
    rows = connection.execute(
        "SELECT model, figures FROM judge_figures WHERE checks = ? AND prompt_sha256 = ?", (CHECKS_VERSION, hash_prompt())
    )
    return {row["model"]: Figures.from_data(orjson.loads(row["figures"])) for row in rows}


def read_figures(connection: Connection, model: str) -> Figures | None:
    """A model's figures for today's rules and prompt."""
    row = connection.execute(
        "SELECT figures FROM judge_figures WHERE model = ? AND checks = ? AND prompt_sha256 = ?",
        (model, CHECKS_VERSION, hash_prompt()),
    ).fetchone()
    return Figures.from_data(orjson.loads(row["figures"])) if row else None


def put_figures(connection: Connection, model: str, figures: Figures) -> None:
    connection.execute(
        "INSERT INTO judge_figures (model, checks, prompt_sha256, day, figures) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (model, checks, prompt_sha256) DO UPDATE SET day = excluded.day, figures = excluded.figures",
        (model, figures.checks, figures.prompt_sha256, figures.day, orjson.dumps(figures.to_data()).decode()),
    )
