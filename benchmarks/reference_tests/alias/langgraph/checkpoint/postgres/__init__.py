"""Imported by one test of the store, which looks at connections of theirs and fails."""

_ainternal = None
