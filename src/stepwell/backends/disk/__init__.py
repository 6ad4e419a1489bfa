"""The parts of `FilesystemBackend`: opening, walking, searching and writing a folder safely, without ever leaving it."""
