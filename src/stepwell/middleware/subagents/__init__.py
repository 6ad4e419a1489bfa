"""Subagents: how to describe one (`specs`), the `task` tool that delegates work to it (`task`), and one call from beginning to end
(`call`).
"""
