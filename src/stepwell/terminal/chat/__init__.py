"""A chat in the terminal, wherever its agent runs: `loop` is the prompt with its slash commands, `view` shows turns and the contents of a
thread, `project` lets the agent work in a folder, `options` is for agents in this process.

Importing this package imports nothing.
"""
