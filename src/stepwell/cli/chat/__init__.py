"""`stepwell chat`: `command` with an agent in this process, `on_server` with an assistant of a server.

Importing this package imports nothing, so that `--help` stays fast.
"""
