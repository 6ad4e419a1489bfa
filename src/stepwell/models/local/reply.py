"""Builds one answer of the embedded model: the runtime's chunks go in, LangChain's chunks come out.

```
Asking -> begin() -> feed(chunk) ... -> end() -> done | again (the model learns what was wrong) | an error
```
Pure: it starts nothing and waits for nothing, so that the sync and the async model share all of it. If a part of an answer was already
shown, we do not ask again, because the reader has seen it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGenerationChunk

from stepwell.errors import AnswerCutError, ModelAnswerError
from stepwell.models.local.forms import Form, UnfitAnswerError
from stepwell.models.local.messages import Line

ATTEMPTS = 3


class Asking:
    """The attempts to get one answer of a form."""

    def __init__(
        self,
        lines: list[Line],
        form: Form,
        options: Mapping[str, Any],
        model: str,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        """`model` is its name, as the answer's metadata tells it."""
        self._lines = lines
        self._form = form
        self._options = options
        self._model = model
        self._call_id = f"call_{new_id()}"
        self._attempt = -1
        self._input = self._output = 0
        self._text = self._shown = ""
        self._reason: str | None = None

    def begin(self) -> dict[str, Any]:
        """The request for the next attempt."""
        self._attempt += 1
        self._text = self._shown = ""
        self._reason = None
        options = dict(self._options)
        if self._attempt and options.get("seed") is not None:
            options["seed"] += self._attempt  # the same seed would repeat the mistake
        schema = self._form.schema(self._attempt, options["max_tokens"])
        guided = {"json_schema": schema} if schema else {}
        return {**options, **guided, "messages": self._lines}

    def feed(self, chunk: Mapping[str, Any]) -> Iterator[ChatGenerationChunk]:
        """What a chunk of the runtime adds to the answer."""
        if usage := chunk.get("usage"):
            # Only the last attempt counts, because the sum is used as the length of the conversation, to decide when to summarise.
            self._input, self._output = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        for choice in chunk.get("choices", ()):
            self._text += (choice.get("delta") or {}).get("content") or ""
            self._reason = choice.get("finish_reason") or self._reason
        if self._reason == "length" and self._form.checked:
            return  # the rest of a cut answer is not worth showing
        fresh = self._form.visible(self._text)[len(self._shown) :]
        if fresh:
            self._shown += fresh
            yield ChatGenerationChunk(message=AIMessageChunk(content=fresh))

    def end(self) -> ChatGenerationChunk | None:
        """The last chunk; None if another attempt should begin."""
        try:
            if self._reason == "length":
                raise AnswerCutError(self._cut(), self._text)
            if self._reason is None:
                raise ModelAnswerError("The embedded model stopped in the middle of its answer. Ask again.")
            last = self._form.finish(self._text, self._call_id)
        except UnfitAnswerError as fault:
            self._again(str(fault), ModelAnswerError(self._unfit(str(fault))), fault)
            return None
        except AnswerCutError as fault:
            if not self._form.checked:
                raise
            self._again("it was too long; write much less", fault, None)
            return None
        last.usage_metadata = UsageMetadata(
            input_tokens=self._input, output_tokens=self._output, total_tokens=self._input + self._output
        )
        last.response_metadata = {"finish_reason": self._reason, "model_provider": "local", "model_name": self._model}
        last.chunk_position = "last"
        return ChatGenerationChunk(message=last)

    def _again(self, reason: str, failure: Exception, cause: Exception | None) -> None:
        """Prepare another attempt, or raise the failure if there is none left."""
        if self._attempt + 1 >= ATTEMPTS or self._shown:
            raise failure from cause
        told = f"That does not do: {reason}. Answer again, in the form that was asked for."
        wrong = self._text.strip()[:400] or "(nothing)"
        # Only the last mistake is kept: several would fill a small context.
        base = self._lines[:-2] if self._attempt else self._lines
        self._lines = [*base, {"role": "assistant", "content": wrong}, {"role": "user", "content": told}]

    def _cut(self) -> str:
        limit = self._options["max_tokens"]
        where, way_out = f"{limit} tokens", "Raise max_tokens, ask for less"
        if 0 < self._output < limit:
            where, way_out = "the end of its context", "Shorten the conversation"
        return f"The embedded model's answer was cut at {where} and is not used. {way_out}, or choose a more capable model."

    def _unfit(self, reason: str) -> str:
        return (
            f"The embedded model did not give an answer in the required form in {self._attempt + 1} attempts: {reason}. "
            "Simplify what is asked, or choose a more capable model."
        )
