"""The workspace: an agent on a tenant's files. `agent` is the recipe; `models` assigns the models; `subagents` do the work;
`places` says where the files are; `grants` who may use them."""
