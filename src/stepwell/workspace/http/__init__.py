"""The routes of workspaces: files, and the agent."""
