"""What `FilesystemBackend` stands on: a folder that nothing leaves, opened, walked, searched and written safely."""
