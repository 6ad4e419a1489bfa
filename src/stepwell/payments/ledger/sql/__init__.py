"""The ledger in SQL: every rule about its tables (`payments/schema`) as functions of a connection.

The same rules serve two places: a database in memory (`memory_ledger`) and the server's database, which gets the same tables
(`payments.tables`). The functions only run SQL and do not commit; the caller runs each in a transaction.
"""
