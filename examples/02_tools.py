"""Tools of your own: plain functions. The name, the docstring and the type hints are what the model sees. Here an agent answers questions
about a database that it can read and not change."""

import sqlite3
import threading

from stepwell import ToolUseError, create_deep_agent

# Tools run in worker threads, several at once: the connection must not insist on its own thread, and is used by one at a time.
turn = threading.Lock()
database = sqlite3.connect(":memory:", check_same_thread=False)
database.executescript("""
    CREATE TABLE orders (day TEXT, item TEXT, pieces INTEGER, price REAL);
    INSERT INTO orders VALUES ('Mon', 'kettle', 3, 24.5), ('Mon', 'teapot', 1, 39), ('Tue', 'kettle', 2, 24.5), ('Wed', 'cup', 12, 6);
""")
READING = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION)
database.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY)


def query(sql: str) -> list[tuple]:
    """Run one SELECT on the table orders (day, item, pieces, price)."""
    with turn:
        try:
            return database.execute(sql).fetchall()
        except sqlite3.Error as error:  # the model reads what follows and tries again
            raise ToolUseError(f"SQLite refuses this: {error}. Send one SELECT.") from error


def main(model=None):
    agent = create_deep_agent(model, tools=[query])
    result = agent.invoke({"messages": [("user", "Which item brought in the most money, and how much?")]})
    database.close()
    for message in result["messages"][1:]:
        message.pretty_print()


if __name__ == "__main__":
    from start import start

    start(main)
