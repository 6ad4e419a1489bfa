"""The figures of judges in the database, one row per model, version of the rules, and prompt. A newer measurement replaces the older."""

from __future__ import annotations

import orjson

from stepwell.database.database import SqlDatabase
from stepwell.research.audit.canonical import sha256
from stepwell.research.audit.checks import CHECKS_VERSION
from stepwell.research.audit.judged import Figures
from stepwell.research.evidence.judged_by import FindFigures
from stepwell.research.evidence.prompting import judge_prompt
from stepwell.sql import Connection


def hash_prompt() -> str:
    """Stands for what judges are told today."""
    return sha256(judge_prompt().encode())


def figures_in(database: SqlDatabase) -> FindFigures:
    """Looks up figures in a database."""

    async def find(model: str) -> Figures | None:
        return await database.read(lambda connection: read_figures(connection, model))

    return find


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
