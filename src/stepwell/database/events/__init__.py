"""Run events, in order: appended under a lease (`appending`), stored in a table (`rows`), read from it (`reading`) and passed to
followers (`followers`).

The rest of the program uses `log`.
"""
