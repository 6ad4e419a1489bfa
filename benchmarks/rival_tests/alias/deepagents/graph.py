from stepwell import DeepAgentState, create_deep_agent

__all__ = ["DeepAgentState", "create_deep_agent"]
