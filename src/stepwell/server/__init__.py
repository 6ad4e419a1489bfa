"""HTTP over `stepwell.runs`: routes, who may use them, and limits. The package imports no application and no agent.

```
listening ─> app ─> monitoring, limits ─> routes/: policy (who: login), schemas ─> assembly (Services) ─> responses, sse
                                               ├─ protocol/   LangGraph's thread streams
                                               └─ bridges/    MCP, A2A and OpenAI's API
settings, addresses   its configuration                       page/   what a browser gets
problems              an error as a response                  health, openapi   its state and its description
```
Importing this package loads no web framework; `stepwell.server.app` does.
"""
