from stepwell.backends.state import StateBackend as StateBackend
