"""Subagents: how one is described (`specs`), the `task` tool that hands work to it (`task`), and one call of it from beginning to
end (`call`).
"""
