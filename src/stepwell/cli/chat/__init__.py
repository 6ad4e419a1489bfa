"""`stepwell chat`: `arguments` chooses between `command`, for an agent in this process, and `on_server`, for an assistant on a server.

Both use `loop`, the prompt with its slash commands; `view` shows turns and the contents of a thread. Importing this package imports
nothing, so that `--help` stays fast.
"""
