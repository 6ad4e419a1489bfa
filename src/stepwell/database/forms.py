"""The schema versions of a database, called its *forms*, and the numbered SQL files that lead to them. SQLite and Postgres have the same
forms.

| | files | first | noted in |
|---|---|---|---|
| platform | `sqlite/migrations`, `postgres/migrations` | 17 | `PRAGMA user_version` in SQLite, the table `stepwell_form` in Postgres |
| a product | the folder it names (`tables.ProductTables`) | 1 | the table `product_forms` |

Forms 1 to 16 were used before the first release; such a database is refused and left as it is. So is one with a newer form than this
version knows, of the platform or of an installed product: an older program would write into tables it does not understand. The tables of
a product that is no longer installed stay, and nobody looks at them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Literal, NamedTuple

from stepwell.database.tables import ProductTables, installed_tables
from stepwell.errors import ConfigurationError

logger = logging.getLogger(__name__)

Engine = Literal["sqlite", "postgres"]
FIRST = 17
SET_PRODUCT = (
    "INSERT INTO product_forms (product, number) VALUES (?, ?) ON CONFLICT (product) DO UPDATE SET number = excluded.number"
)
_CREATED = re.compile(r'^\s*CREATE\s+(?:TABLE|VIEW)\s+(?:IF\s+NOT\s+EXISTS\s+)?"?(\w+)', re.MULTILINE | re.IGNORECASE)


class Forms(NamedTuple):
    """The forms that a database has."""

    platform: int
    """0 means that the database is empty."""
    products: Mapping[str, int]


class Migration(NamedTuple):
    """A step from one form to the next."""

    number: int
    name: str
    sql: str
    product: str | None = None
    """The product whose tables are changed; `None` for the platform's own tables."""

    def creates(self) -> set[str]:
        """The names of the tables and views that this step creates."""
        return {name.lower() for name in _CREATED.findall(self.sql)}


@cache
def platform_migrations(engine: Engine) -> tuple[Migration, ...]:
    """All steps of the platform's own tables, in order."""
    return tuple(_read(resources.files(f"stepwell.database.{engine}") / "migrations"))


@cache
def product_migrations(tables: ProductTables, engine: Engine) -> tuple[Migration, ...]:
    """All steps of a product's tables, in order."""
    package, _, folder = tables.schema.rpartition(".")
    steps = _read(resources.files(package) / folder / engine)
    if not steps:
        raise ConfigurationError(
            f"The product '{tables.product}' brings no tables for {engine}: there is no file such as '0001_initial.sql' in the folder "
            f"'{engine}' of '{tables.schema}'. Repair or uninstall its package."
        )
    return tuple(step._replace(name=f"{step.name} of {tables.product}", product=tables.product) for step in steps)


def _read(folder: Traversable) -> list[Migration]:
    found = []
    for file in folder.iterdir() if folder.is_dir() else ():
        if match := re.fullmatch(r"(\d{4})_(\w+)\.sql", file.name):
            found.append(Migration(int(match[1]), match[2], file.read_text(encoding="utf-8")))
    return sorted(found)


def missing_of_products(engine: Engine, forms: Forms) -> list[Migration]:
    """The steps that a database with these forms does not have, product by product."""
    return [
        step
        for tables in installed_tables()
        for step in product_migrations(tables, engine)
        if step.number > forms.products.get(tables.product, 0)
    ]


def refuse_older(form: int) -> None:
    """Raise `ConfigurationError` for a form from before the first release. 0 is an empty database."""
    if 0 < form < FIRST:
        raise ConfigurationError(
            f"The database was made by a version of Stepwell before the first release (schema version {form}), and cannot be upgraded. "
            "Nothing in it was changed. Use it with the version that made it, or name another, new database with --database-url."
        )


def find_newer(engine: Engine, forms: Forms) -> str | None:
    """If the tables of an installed product are newer than the product itself, says so, in words for the middle of a sentence."""
    for tables in installed_tables():
        form, newest = forms.products.get(tables.product, 0), product_migrations(tables, engine)[-1].number
        if form > newest:
            return f"schema version {form} of the product '{tables.product}', and the one installed here knows versions up to {newest}"
    return None


def find_uninstalled(forms: Forms) -> list[str]:
    """Products whose tables the database has, and which are not installed."""
    return sorted(set(forms.products) - {tables.product for tables in installed_tables()})


def warn_of_uninstalled(forms: Forms) -> None:
    if names := find_uninstalled(forms):
        logger.warning(
            "The database has tables of products that are not installed here: %s. They stay as they are: nothing is deleted from them or "
            "copied in them with a thread.",
            ", ".join(names),
        )


def refuse_same_names(engine: Engine, forms: Forms, there: Collection[str]) -> None:
    """Raise `ConfigurationError` if a product would add a table whose name is taken. `there`: the tables and views of the database."""
    ours = {"stepwell_form"}.union(*(step.creates() for step in platform_migrations(engine)))
    owners = dict.fromkeys(ours, "Stepwell itself")
    for tables in installed_tables():
        this = f"the product '{tables.product}'"
        names = {name for step in product_migrations(tables, engine) for name in step.creates()}
        for name in sorted(names):
            if (owner := owners.setdefault(name, this)) != this:
                raise ConfigurationError(
                    f"A table '{name}' is brought both by {owner} and by {this}. Nothing was changed. Uninstall the product."
                )
        if tables.product not in forms.products and (taken := sorted(names & set(there))):
            raise ConfigurationError(
                f"The product '{tables.product}' brings a table '{taken[0]}', and the database has one with this name, of another program "
                "or of a product that is no longer installed. Nothing was changed. Uninstall the product, or rename the table."
            )
