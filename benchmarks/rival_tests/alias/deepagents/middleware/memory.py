"""Their names for our memory files. Where theirs are methods, the call is translated."""

from deepagents.middleware.foreign import translate
from deepagents.middleware.requests import modify
from deepagents.middleware.skills import their_errors
from stepwell import MemoryMiddleware as _MemoryMiddleware
from stepwell.middleware.memory import SLOT, write_memory
from stepwell.middleware.prompts import load_prompt

MEMORY_SYSTEM_PROMPT = load_prompt("memory")


class MemoryMiddleware(_MemoryMiddleware):
    def __init__(self, *, backend, sources, **options):
        with their_errors():
            super().__init__(backend=translate(backend), sources=sources, **options)

    def before_agent(self, state, runtime, config=None):
        return super().before_agent(state, runtime)

    async def abefore_agent(self, state, runtime, config=None):
        return await super().abefore_agent(state, runtime)

    @property
    def _backend(self):
        return self.backend

    def modify_request(self, request):
        return modify(self, request)

    def _format_agent_memory(self, contents):
        return MEMORY_SYSTEM_PROMPT.replace(SLOT, write_memory(self.sources, contents, {}))
