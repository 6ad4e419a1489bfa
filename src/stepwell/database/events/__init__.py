"""What runs said, in order: appended under a lease (`appending`), kept in a table (`rows`), read from it (`reading`) and handed to
whoever follows (`followers`).

`log` is what the rest of the program uses.
"""
