"""What the doctor looks at (`Installation`), and what its checks return (`Finding`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from stepwell.errors import StepwellError
from stepwell.settings import Settings
from stepwell.terminal.database_place import PostgresPlace, database_place

if TYPE_CHECKING:
    from stepwell.database.condition import Condition
    from stepwell.models.choice import ModelChoice

Level = Literal["problem", "warning", "note", "ok"]
"""A problem keeps something that is configured from working; a warning may do so, or weakens protection; a note is worth knowing."""
LEVELS: tuple[Level, ...] = get_args(Level)


@dataclass(frozen=True)
class Finding:
    """One result of a check: the fact, why it matters, and the command or setting that mends it."""

    level: Level
    what: str
    why: str = ""
    mend: str = ""


def count(number: int, one: str, many: str) -> str:
    """A number with the word that fits it."""
    return f"{number:,} {one if number == 1 else many}"


@dataclass(frozen=True)
class Check:
    """A check, with its line in `docs/reference/doctor.md`."""

    name: str
    finds: str
    way_out: str
    look: Callable[[Installation], Iterator[Finding]]


@dataclass(frozen=True)
class Installation:
    """What the checks look at."""

    settings: Settings
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The process environment."""
    folder: Path = Path()
    """The working folder, with `.env` and `langgraph.json`."""
    dotenv_fault: str | None = None
    """Why `.env` cannot be read; the settings are then those of the environment alone."""
    online: bool = False
    graphs: Path | None = None
    """The langgraph.json whose graphs are imported."""

    @cached_property
    def place(self) -> Path | PostgresPlace | StepwellError:
        """Where the database is, or why that is not known."""
        try:
            return database_place(None, self.settings)
        except StepwellError as error:
            return error

    @cached_property
    def condition(self) -> Condition | StepwellError | None:
        """The database's condition, or why it cannot be read; None if there is no database yet."""
        place = self.place
        try:
            if isinstance(place, PostgresPlace):
                from stepwell.database.postgres.condition import inspect_postgres

                return inspect_postgres(place.url.reveal())
            if isinstance(place, Path) and place.is_file():
                from stepwell.database.sqlite.condition import inspect_database

                return inspect_database(place)
        except StepwellError as error:
            return error
        return None

    @cached_property
    def choice(self) -> ModelChoice | StepwellError:
        """The model that commands and the server would use, or why there is none."""
        from stepwell.models.choice import choose_model
        from stepwell.models.connected import using

        try:
            with using(self._stored_models()):
                return choose_model(None, self.settings, embedded_fallback=True)
        except StepwellError as error:
            return error

    def _stored_models(self) -> Any:
        """The default that `stepwell models use` has stored. Only a database with this version's tables is opened, because opening an older
        one would upgrade it."""
        if isinstance(self.place, Path) and self.condition and not isinstance(self.condition, StepwellError):
            from stepwell.cli.connected_models import default_on_this_machine

            return None if self.condition.missing else default_on_this_machine(self.settings)
        return None
