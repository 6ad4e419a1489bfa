"""HTTP over `stepwell.runs`: routes, who may use them, and limits. It imports no application and no agent.

```
listening ─> app ─> monitoring, limits ─> routes/: policy (who: login), schemas ─> assembly (Services) ─> responses, sse
                                               └─ protocol/   LangGraph's thread streams      facades   an application's own routes
settings, addresses   how it is set up                        page/   what a browser is shown
problems              an error as a response                  health, openapi   what it says of itself
```
Importing this package loads no web framework; `stepwell.server.app` does.
"""
