from stepwell.backends.composite import CompositeBackend as CompositeBackend
