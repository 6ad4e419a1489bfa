"""The subagent that reads and writes a workspace's files."""
