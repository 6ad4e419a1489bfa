"""Research: a plan that is audited and approved before anything runs, and a report whose every sentence can be checked."""
