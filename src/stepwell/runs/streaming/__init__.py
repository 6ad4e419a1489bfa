"""From what LangGraph streams to the events of a run.

`graph` drives and streams a graph, `chunks` reads each chunk, one module per kind of payload shapes it, and `journal` hands the events to
the log in batches.
"""
