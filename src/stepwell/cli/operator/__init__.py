"""Commands for whoever runs a server: its database, keys, usage, effects nobody knows the outcome of, and whether this machine is set up
(`doctor`).

They work on the database's file, some of them on a server. Importing this package imports nothing; `arguments` is read for `--help` and
must stay light.
"""
