from langgraph.store.ours import AsyncStore as AsyncSqliteStore
from langgraph.store.ours import SyncStore as SqliteStore

__all__ = ["AsyncSqliteStore", "SqliteStore"]
