"""Commands for operators: the database, API keys, usage, effects with an unknown outcome, payments, and whether this machine is set up
(`doctor`).

They work on the database directly; some can ask a server instead. Importing this package imports nothing; `--help` imports `arguments`,
which must stay light.
"""
