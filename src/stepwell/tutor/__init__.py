"""The tutor: a Socratic dialogue about one argument, which lives as files in the user's project."""
