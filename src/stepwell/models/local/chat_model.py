"""A LangChain chat model that runs in this process: no server, no key.

`EmbeddedChatModel(model="smollm2-135m")` or `model="/path/to/file.gguf"`. Constructing it opens nothing; the first call fetches the file
if necessary and loads it (see `models`). Tools and structured output use a JSON schema, because small models do not follow tool
templates: the model gives one tool call or one answer at a time, which is checked, and requested again if it is wrong (see `forms`,
`reply`).

An answer that reaches `max_tokens` raises `AnswerCutError`; it is never returned as a short answer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, closing
from functools import partial
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput, ModelProfile
from langchain_core.language_models.base import LangSmithParams
from langchain_core.language_models.chat_models import agenerate_from_stream, generate_from_stream
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field, PrivateAttr

from stepwell.models.capabilities import Capabilities
from stepwell.models.local.catalogue import DEFAULT_LOCAL_MODEL, OWN_FILE, find_local_model
from stepwell.models.local.forms import Form, FreeText, structured_output, tool_form
from stepwell.models.local.llama.runtime import LlamaRuntime, achunks, chunks
from stepwell.models.local.messages import chat_lines
from stepwell.models.local.models import LocalModels, process_local_models, public_id
from stepwell.models.local.reply import Asking
from stepwell.settings import Settings

FORM = "embedded_form"
"""The bound argument that carries the form of an answer."""
_AGAINST_LOOPS = {"dry_multiplier": 0.8, "dry_allowed_length": 3}
"""The tiny model repeats itself endlessly at low temperatures. Better models do not, and these would spoil their tables and code."""


class EmbeddedChatModel(BaseChatModel):
    """llama.cpp as a chat model."""

    model: str = DEFAULT_LOCAL_MODEL
    """A catalogue id, or a path to a GGUF file."""
    temperature: float = Field(default=0.2, ge=0)
    max_tokens: int = Field(default=1024, gt=0)
    top_p: float = Field(default=0.9, gt=0, le=1)
    seed: int | None = None
    stop: list[str] | None = None
    local_models: LocalModels | None = Field(default=None, exclude=True, repr=False)
    """Fetches and loads the model; default: the process's own."""
    _runtimes: dict[str, LlamaRuntime] = PrivateAttr(default_factory=dict)

    @property
    def capabilities(self) -> Capabilities:
        """What this model is able to do."""
        return _capabilities_of(self.model)

    @property
    def _llm_type(self) -> str:
        return "stepwell-embedded"

    def _resolve_model_profile(self) -> ModelProfile | None:
        context = self.capabilities.context
        return ModelProfile(
            max_input_tokens=context - min(self.max_tokens, context // 2), tool_calling=True, image_inputs=False
        )

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return LangSmithParams(ls_provider="local", ls_model_name=kwargs.get("model") or self.model, ls_model_type="chat")

    def get_num_tokens(self, text: str) -> int:
        """An estimate; the base class would download a tokenizer for this."""
        return (len(text) + 3) // 4

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        asking, runtime = self._asking(messages, stop, kwargs), self._runtime_of(kwargs.get("model") or self.model)
        last = None
        while last is None:
            with closing(chunks(runtime, asking.begin())) as arriving:
                for chunk in arriving:
                    yield from asking.feed(chunk)
            last = asking.end()
        yield last

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncGenerator[ChatGenerationChunk]:
        asking, runtime = self._asking(messages, stop, kwargs), self._runtime_of(kwargs.get("model") or self.model)
        last = None
        while last is None:
            async with aclosing(achunks(runtime, asking.begin())) as arriving:
                async for chunk in arriving:
                    for ready in asking.feed(chunk):
                        yield ready
            last = asking.end()
        yield last

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        async with aclosing(self._astream(messages, stop, run_manager, **kwargs)) as arriving:
            return await agenerate_from_stream(arriving)

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | dict[str, Any] | bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """A model that answers with at most one tool call. `tool_choice` is "auto", "any", "none" or a tool's name."""
        functions = [convert_to_openai_tool(tool)["function"] for tool in tools]
        return self.bind(**{FORM: tool_form(functions, tool_choice)}, **kwargs)

    def with_structured_output(
        self, schema: dict[str, Any] | type, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, Any]:
        """A runnable that returns a value of the schema: an instance of a pydantic class, otherwise a dict."""
        return structured_output(partial(self.bind, **kwargs), FORM, schema, include_raw)

    def _asking(self, messages: list[BaseMessage], stop: list[str] | None, given: dict[str, Any]) -> Asking:
        form: Form = given.get(FORM) or FreeText()
        model = given.get("model") or self.model
        options = {name: given.get(name, getattr(self, name)) for name in ("temperature", "max_tokens", "top_p", "seed")}
        options["stop"] = stop or self.stop
        if isinstance(form, FreeText) and not _capabilities_of(model).writes:
            options |= _AGAINST_LOOPS
        lines = chat_lines(messages, form.instructions)
        return Asking(lines, form, {k: v for k, v in options.items() if v is not None}, public_id(model))

    def _runtime_of(self, model: str) -> LlamaRuntime:
        if model not in self._runtimes:
            models = self.local_models or process_local_models(Settings.load())
            self._runtimes[model] = models.runtime(model)
        return self._runtimes[model]


def _capabilities_of(model: str) -> Capabilities:
    known = find_local_model(model)
    return known.capabilities if known else OWN_FILE
