"""The Cashu protocol (NUTs) as pure functions and values. Nothing here talks to a mint or stores anything."""
