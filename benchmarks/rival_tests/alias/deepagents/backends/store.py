from stepwell.backends.store import StoreBackend as StoreBackend
