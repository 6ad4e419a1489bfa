"""The tables of the ledger, for the database. Needs no extra: the tables are there even where payments are off."""

from __future__ import annotations

from stepwell.database.tables import ProductTables
from stepwell.payments.ledger.sql import threads

# Money belongs to no thread. When a thread is deleted, its money stays, and is settled once no other thread uses it.
TABLES = ProductTables("payments", "stepwell.payments.schema", copy=threads.copy, detach=threads.detach)
