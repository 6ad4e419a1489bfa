"""The tests import these names of their SQL; the few that use them fail."""

_escape_like_literal = _namespace_match_pattern = None
