"""What an agent remembers beyond a thread: LangGraph's store, one per owner.

`items` is the store, `search` decides what a search finds, `statements` contains the SQL.
"""
