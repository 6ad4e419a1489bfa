"""All seams of `stepwell.runs` in one SQLite file, for one server process. See `database` for how it is written."""
