"""The Cashu protocol (NUTs) as pure functions and values. Nothing here asks a mint or keeps anything."""
