"""What commands are built from: dialogue, tables, arguments, and the place of the database."""
