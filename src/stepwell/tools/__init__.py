"""Tools for agents: files (`files`), commands (`shell`), the web (`web`) and those of MCP servers (`mcp`).

`effects` is how a tool declares whether it may run twice, and `effect_journal` what a run knows of the effects it has begun.
"""
