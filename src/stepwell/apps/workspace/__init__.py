"""The workspace: an agent on a tenant's files. `agent` is the recipe; `models` says which model does what; `subagents` who does the work;
`places` where the files are;
`grants` who may use them."""
