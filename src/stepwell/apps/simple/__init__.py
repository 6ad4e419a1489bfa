"""The smallest application: a deep agent with its default tools, on whatever model is available."""
