"""The shell behind `execute`: a session, and the sandbox around it."""
