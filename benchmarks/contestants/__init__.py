"""Who takes part: `floor` (plain LangChain), `peer` (deepagents), `ours` (Stepwell).

Each module offers the same names, and imports only what its own environment holds:

| name | gives |
|---|---|
| `agent(model, tools, ...)` | a compiled graph; options: `checkpointer`, `subagents` (a count), `subagent_model` |
| `file_data(text)` | a file as this contestant keeps it in state |
| `state_files(files)`, `store_files(files)`, `disk_files(root)` | a context manager around a `Verbs` over those files |

`Verbs` has `grep(text)`, `glob(pattern)` and `ls(folder)`, each returning how many rows it found, so that every contestant is
seen to do the same work.
"""
