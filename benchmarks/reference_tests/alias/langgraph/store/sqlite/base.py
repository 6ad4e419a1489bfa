"""The tests import these names of their SQL; the few that use them fail."""

from typing import Any

NS_MATCH_FUNCTION = _escape_glob_literal = _namespace_match_pattern = None
SqliteIndexConfig = dict[str, Any]


class BaseSqliteStore: ...
