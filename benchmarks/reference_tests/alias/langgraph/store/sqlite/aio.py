from langgraph.store.ours import AsyncStore as AsyncSqliteStore

__all__ = ["AsyncSqliteStore"]
