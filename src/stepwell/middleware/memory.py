"""`MemoryMiddleware`: files such as /AGENTS.md that an agent always knows, at the end of its system prompt.

```
start of a run ─▶ read the files (one call) ─▶ state: memory_contents, only if something has changed
model call ─────▶ system prompt, cache mark, <agent_memory> ... </agent_memory>
```
The text changes whenever the user or the agent edits a file, so it stands after the mark that ends the cached part. It is the user's: it
is framed as such, and nothing in it can end the frame (`tools.framing`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from copy import copy
from types import EllipsisType
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware.types import AgentState, ModelRequest, PrivateStateAttr
from langchain_core.messages import SystemMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict  # pydantic cannot build a JSON schema from typing's own before Python 3.12

from stepwell.backends.composite import CompositeBackend
from stepwell.backends.protocol import BackendFactory, BackendProtocol
from stepwell.backends.state import StateBackend
from stepwell.backends.steps import Steps, arun_steps, run_steps
from stepwell.backends.text import version_of
from stepwell.errors import ConfigurationError
from stepwell.middleware.prompts import load_prompt
from stepwell.middleware.request import ModelCall, RequestMiddleware
from stepwell.middleware.source_files import Source, SourceFile, Step
from stepwell.state.channels import incremental, latest
from stepwell.tools.framing import escape_tags, framed, framed_line, without_comments

_log = logging.getLogger(__name__)

MAX_FILE_CHARS = 40_000
"""How much of one file the model sees, and the state keeps."""
MAX_CHARS = 100_000
"""How much of all files together."""
SLOT = "{agent_memory}"
NOTHING = "(No memory loaded)"
_MARK = {"type": "ephemeral"}


class MemoryFile(TypedDict):
    """A file that was read, or why it was not."""

    version: NotRequired[str]
    problem: NotRequired[str]


class MemoryState(AgentState[Any]):
    memory_contents: NotRequired[Annotated[dict[str, str], PrivateStateAttr, incremental(latest)]]
    """The text of each file. Contents that you set yourself stay."""
    memory_files: NotRequired[Annotated[dict[str, MemoryFile], PrivateStateAttr, incremental(latest)]]
    """Which version of each file that is. Empty if the contents are not ours."""


class MemoryMiddleware(RequestMiddleware):
    """Puts files into the system prompt of every model call.

    Args:
        backend: Where the files are; by default in the agent's state.
        sources: The paths of the files, in the order in which they appear. A file that does not exist is left out.
        add_cache_control: Also end a cached part of an Anthropic model's prompt after these files. Pays if they are long and rarely change.
        system_prompt: Replaces the text around `{agent_memory}`. None leaves the section out.
    """

    state_schema = MemoryState

    def __init__(
        self,
        *,
        backend: BackendProtocol | BackendFactory | None = None,
        sources: Sequence[str],
        add_cache_control: bool = False,
        system_prompt: str | EllipsisType | None = ...,
    ) -> None:
        super().__init__()
        if isinstance(sources, str) or not all(isinstance(path, str) for path in sources):
            raise ConfigurationError(f"memory is {sources!r}. Pass a list of paths, such as ['/AGENTS.md'].")
        self.backend: BackendProtocol | BackendFactory = StateBackend() if backend is None else backend
        self.sources = list(sources)
        self.template = load_prompt("memory") if isinstance(system_prompt, EllipsisType) else _check_template(system_prompt)
        self._marks = add_cache_control

    def with_mounts(self, mounts: Mapping[str, BackendProtocol]) -> MemoryMiddleware:
        """The same files in a tree in which these backends are mounted too."""
        other = copy(self)
        other.backend = CompositeBackend(self.backend, mounts)
        return other

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        source = Source(self.backend, state, runtime)
        return run_steps(self._load(source, state), source.perform)

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        source = Source(self.backend, state, runtime)
        return await arun_steps(self._load(source, state), source.aperform)

    def _load(self, source: Source, state: Mapping[str, Any]) -> Steps[Step, dict[str, Any] | None]:
        """What has changed since the thread's last run."""
        if state.get("memory_contents") and not state.get("memory_files"):
            return None  # the caller's own contents
        found = yield from source.read(self.sources)
        files = {file.path: _file(file) for file in found if file.text is not None or file.problem}
        if "memory_files" in state and "memory_contents" in state and files == state["memory_files"]:
            return None
        return {"memory_contents": _contents(found), "memory_files": files}

    def prepare(self, call: ModelCall) -> None:
        if self.template is not None:
            contents, files = call.stored("memory_contents") or {}, call.stored("memory_files") or {}
            before, _, after = self.template.partition(SLOT)
            call.sections.append(before + write_memory(self.sources, contents, files) + after)

    def _request(self, call: ModelCall) -> ModelRequest[Any]:
        request = super()._request(call)
        system = request.system_message
        # By the model of this call, which other middleware may have replaced; the key would be refused by other providers.
        if not self._marks or system is None or not request.model._llm_type.startswith("anthropic"):
            return request
        return request.override(system_message=_marked(system))


def write_memory(sources: Sequence[str], contents: Mapping[str, str], files: Mapping[str, MemoryFile]) -> str:
    """The files for the frame, each below its path."""
    parts: list[str] = []
    left = MAX_CHARS
    for path in sources:
        body = framed(without_comments(contents.get(path, "")), path, min(MAX_FILE_CHARS, left))
        if body:
            parts.append(f"{escape_tags(path)}\n\n{body}")
            left = max(0, left - len(body))
        elif problem := files.get(path, {}).get("problem"):
            parts.append(f"{escape_tags(path)}\n\n(It could not be read: {framed_line(problem, 300)})")
    return "\n\n".join(parts) or NOTHING


def _file(file: SourceFile) -> MemoryFile:
    if file.text is not None:
        return {"version": version_of(file.text)}
    problem = file.problem or "it has no text"
    _log.warning("The memory file %s is left out: %s", file.path, problem)
    return {"problem": problem}


def _contents(files: Sequence[SourceFile]) -> dict[str, str]:
    """The texts for the state; of a long one a little more than is shown, so that it is seen to be cut."""
    return {file.path: _shorten(file.text) for file in files if file.text is not None}


def _shorten(text: str) -> str:
    return text if len(text) <= 2 * MAX_FILE_CHARS else text[: 2 * MAX_FILE_CHARS]


def _marked(system: SystemMessage) -> SystemMessage:
    content = system.content
    blocks: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    last = blocks[-1] if isinstance(blocks[-1], dict) else {"type": "text", "text": blocks[-1]}
    return SystemMessage(content=[*blocks[:-1], {**last, "cache_control": _MARK}])


def _check_template(template: object) -> str | None:
    if template is None:
        return None
    if not isinstance(template, str):
        raise ConfigurationError(f"system_prompt must be str or None, not {type(template).__name__}.")
    if SLOT not in template:
        raise ConfigurationError(f"system_prompt must contain {SLOT}, where the files are put.")
    return template
