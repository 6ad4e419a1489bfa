"""The tables that a product brings: how they are created, and what happens to their rows when the thread they belong to is copied, deleted
or exported.

```
a database is opened ─> schema      its SQL files that the database does not have yet, in order (`forms`)
a thread is copied   ─> copied      the rows of these tables, under the new thread's id        copy      anything else
a thread is deleted  ─> of_thread   the rows of these tables, a slice at a time                detach    in the transaction that deletes it
a user's data        ─> export      the lines about a thread
a database is moved  ─> all of its tables, as the schema describes them (`moving`); backups have them anyway
```
The platform's own code names no table of a product.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from stepwell.database.database import SqlDatabase
from stepwell.errors import ConfigurationError
from stepwell.products import Product, installed_products, load_part
from stepwell.sql import Connection


class Kept(NamedTuple):
    """A table with a thread's rows, in the column `thread_id`: their key, and how large a row is."""

    table: str
    key: str | None = None
    """`None`: the row's physical address, which is unique within a transaction."""
    size: str = "0"


@dataclass(frozen=True)
class ProductTables:
    """The object that a `Product` names under `tables`."""

    product: str
    """The product's name."""
    schema: str
    """A folder of SQL files, written like a package: `notes.schema` has `sqlite/0001_initial.sql`, `postgres/0001_initial.sql` and so on.
    Both databases have the same numbers, tables and columns. A file that has been released is never changed."""
    of_thread: tuple[Kept, ...] = ()
    copied: tuple[str, ...] = ()
    copy: Callable[[Connection, str, str], None] | None = None
    """Gets the thread's id and that of its copy, in the transaction that makes the copy."""
    detach: Callable[[Connection, str], None] | None = None
    """Gets the id of the thread that is deleted in this transaction."""
    spared: str | None = None
    """An SQL condition on a row of `threads`. Threads that fulfil it are not deleted when they have expired; a person may delete them."""
    export: Callable[[SqlDatabase, str], AsyncIterator[Mapping[str, Any]]] | None = None
    """Gets a thread's id. Each line has a `kind`."""


@cache
def installed_tables() -> tuple[ProductTables, ...]:
    """The tables of all installed products.

    Raises:
        ConfigurationError: The tables of a product cannot be loaded.
    """
    return tuple(_load(product) for product in installed_products() if product.tables is not None)


def _load(product: Product) -> ProductTables:
    tables = load_part(product, "tables")
    if not isinstance(tables, ProductTables) or tables.product != product.name:
        raise ConfigurationError(
            f"'{product.tables}' must be a stepwell.database.tables.ProductTables of the product '{product.name}'. "
            "Repair or uninstall its package."
        )
    return tables
