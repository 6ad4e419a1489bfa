"""`stepwell chat`: `arguments` decides between `command`, with an agent in this process, and `on_server`, with an assistant of a server.

Both hand over to `loop`, the prompt with its slash commands; `view` shows turns and what a thread keeps. Importing this package imports
nothing, so that `--help` stays fast.
"""
