"""`gcs-filesystem`: reads and writes the files of a workspace. It uses the small model of the table."""

from __future__ import annotations

from importlib import resources

from stepwell.middleware.subagents.specs import SubAgent
from stepwell.workspace.subagents import Workspace


def gcs_filesystem(workspace: Workspace) -> SubAgent:
    prompt = resources.files("stepwell.workspace.subagents.gcs_filesystem") / "prompt.md"
    return {
        "name": "gcs-filesystem",
        "description": "lists, reads, writes, edits, moves and deletes files of the workspace; tell it the paths and what should come "
        "of it.",
        "system_prompt": prompt.read_text(encoding="utf-8").strip(),
        "tools": workspace.file_tools("ls", "read_file", "write_file", "edit_file", "delete", "move"),
    }
