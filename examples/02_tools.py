"""Tools of your own: plain functions. The name, the docstring and the type hints are what the model sees.

Here an agent answers questions about a database that it can read and not change."""

import sqlite3
import threading
from contextlib import closing

from stepwell import ToolUseError, create_deep_agent

# Tools run in worker threads, so the connection must not insist on the thread that made it.
database = sqlite3.connect(":memory:", check_same_thread=False)
database.executescript("""
    CREATE TABLE orders (day TEXT, item TEXT, pieces INTEGER, price REAL);
    INSERT INTO orders VALUES ('2026-03-02', 'kettle', 3, 24.5), ('2026-03-02', 'teapot', 1, 39.0),
                              ('2026-03-03', 'kettle', 2, 24.5), ('2026-03-04', 'cup', 12, 6.0);
""")
READING = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION)
database.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY)
# Calls of one turn run side by side, and Python's SQLite locks up for good when two threads use a connection that has an authorizer.
one_at_a_time = threading.Lock()


def query(sql: str) -> list[tuple]:
    """Run one SELECT on the table orders (day, item, pieces, price)."""
    try:
        with one_at_a_time:
            return database.execute(sql).fetchall()
    except sqlite3.Error as error:  # the model reads what follows and tries again
        raise ToolUseError(f"SQLite refuses this: {error}. Send one SELECT.") from error


def main(model=None):
    agent = create_deep_agent(model, tools=[query])
    with closing(database):
        result = agent.invoke({"messages": [("user", "Which item brought in the most money, and how much?")]})
    for message in result["messages"][1:]:
        message.pretty_print()


if __name__ == "__main__":
    from start import start

    start(main)
