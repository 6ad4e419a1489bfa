"""Tools for agents: files (`files`), commands (`shell`), the web (`web`) and tools of MCP servers (`mcp`); `documents` reads pages, PDFs
and office files from unknown sources.

With `effects` a tool declares whether it may run twice; `effect_journal` is what a run knows about the effects it has begun.
"""
