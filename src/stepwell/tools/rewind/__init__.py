"""What is kept so that an agent's files can go back: a journal of changes with the files as they were before (ADR 0047)."""
