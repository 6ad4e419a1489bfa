"""What an operator sees of a running server: its log, with secrets taken out, and its metrics.

`logs` writes lines in a thread of its own, `log_lines` makes them, `log_context` says which request and run they belong to; `metrics` has
everything that `/metrics` counts. Nothing here decides anything, and nothing here fails a request. Of the server it imports only the
settings.
"""
