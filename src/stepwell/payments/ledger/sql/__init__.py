"""The ledger in SQL: every rule about its tables (`payments/schema`), as functions that take a connection.

The same rules serve two places: a database in memory (`ledger.memory`) and the server's database, which gets the same tables
(`ledger.tables`). The functions only run SQL and do not commit; the caller runs each in a transaction.
"""
