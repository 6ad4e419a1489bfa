from stepwell.backends import CompositeBackend, FilesystemBackend, StateBackend, StoreBackend

__all__ = ["CompositeBackend", "FilesystemBackend", "StateBackend", "StoreBackend"]
