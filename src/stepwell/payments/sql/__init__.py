"""The ledger in SQL: its tables (`schema.sql`) and every rule about them as functions of a SQLite connection.

One set of rules for two places: a database in memory (`memory_ledger`) and the database of the server, which has the same tables
by a migration. The functions do nothing but SQL and do not commit; whoever calls them runs each in a transaction.
"""
