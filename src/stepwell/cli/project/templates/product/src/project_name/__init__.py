"""A product for Stepwell: an agent, a table, a rule for runs, a route and a command."""
