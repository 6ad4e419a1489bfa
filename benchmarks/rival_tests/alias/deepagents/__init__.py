"""deepagents' names for what this project has. A name that the tests ask for and that we lack is left out: its tests fail."""

from deepagents.graph import create_deep_agent

__all__ = ["create_deep_agent"]
