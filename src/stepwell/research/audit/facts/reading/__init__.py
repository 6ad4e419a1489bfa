"""What a text says: its figures, dates, names and denials."""
