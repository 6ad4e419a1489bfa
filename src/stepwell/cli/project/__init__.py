"""`stepwell init`: a new project from a template, which runs at once and without a key (ADR 0056)."""
