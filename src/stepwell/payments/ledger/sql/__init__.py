"""The ledger in SQL: its tables (`schema.sql`) and every rule about them as functions of a SQLite connection.

The same rules serve two places: a database in memory (`memory_ledger`) and the server's database, which gets the same tables from a
migration. The functions only run SQL and do not commit; the caller runs each in a transaction.
"""
