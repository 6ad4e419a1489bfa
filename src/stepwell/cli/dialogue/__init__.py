"""A person at a terminal and a thread of an agent: what happens in a turn as values, how it is shown, how what was typed becomes the
answer to an interrupt, and trouble with a server as sentences.

Shared by `chat` and `research`; it knows neither. Importing this package imports nothing.
"""
