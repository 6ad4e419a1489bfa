"""Runs on a schedule: when (`schedule`), what a caller can do with them (`operations`), and what starts them (`scheduler`)."""
