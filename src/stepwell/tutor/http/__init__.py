"""The routes of the tutor."""
