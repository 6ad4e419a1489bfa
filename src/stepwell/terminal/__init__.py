"""What commands are written with: dialogue, tables, arguments, and where the database is."""
