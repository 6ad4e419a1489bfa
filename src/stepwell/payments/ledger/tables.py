"""The tables of the ledger, for the database. Needs no extra: the tables are there even where payments are off."""

from __future__ import annotations

from stepwell.database.tables import ProductTables
from stepwell.payments.ledger.sql import threads

# Money belongs to no thread. When a thread is deleted, its money stays, and is settled once no other thread uses it.
# A thread whose money is not settled does not expire: its session would end without anybody asking.
TABLES = ProductTables(
    "payments",
    "stepwell.payments.schema",
    copy=threads.copy,
    detach=threads.detach,
    spared="EXISTS (SELECT 1 FROM payment_threads AS p JOIN payment_sessions AS s ON s.session_id = p.session_id"
    " WHERE p.thread_id = threads.thread_id AND s.state NOT IN ('refunded', 'rejected'))",
)
