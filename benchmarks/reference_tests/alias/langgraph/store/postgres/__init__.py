from langgraph.store.ours import AsyncStore as AsyncPostgresStore
from langgraph.store.ours import SyncStore as PostgresStore

__all__ = ["AsyncPostgresStore", "PostgresStore"]
