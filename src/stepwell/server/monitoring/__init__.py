"""What an operator sees of a running server: its log, with secrets removed, and its metrics.

`logs` writes lines in its own thread, `log_lines` formats them, `log_context` knows which request and run they belong to; `metrics` has
everything that `/metrics` shows. Nothing here makes decisions or fails a request. The package imports only the settings from the rest of
the server.
"""
